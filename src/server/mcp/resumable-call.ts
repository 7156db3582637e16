// A call that can outlive the request that began it: an upstream server asks the client something, and a client of
// the modern era answers with a new request; or the client was answered with a task. The call is in memory meanwhile.
import { randomUUID } from "node:crypto";
import type {
  Caller,
  InputAnswers,
  InputQuestions,
  Json,
  JsonObject,
  Outcome,
  Progress,
} from "../../contract/call.ts";
import { cannotAsk } from "./questions.ts";
import { OpenQuestions } from "./tasks/open-questions.ts";

/** How a call is resumed. */
export type NextStep =
  | { readonly kind: "ended"; readonly outcome: Outcome }
  | { readonly kind: "asks"; readonly questions: InputQuestions }
  /** It goes on without the request: the client asks for it by its execution. */
  | { readonly kind: "task"; readonly executionId: string };

/** The request that waits for the call at the moment. */
export interface Waiter {
  readonly signal: AbortSignal;
  readonly report: ((progress: Progress) => void) | null;
  readonly message: (params: JsonObject) => void;
}

interface Question {
  readonly questions: InputQuestions;
  readonly answered: PromiseWithResolvers<InputAnswers>;
}

export interface ResumableCalls {
  /** Begins a call; `start` is called at once. */
  begin(
    facts: Pick<ResumableCall, "caller" | "fingerprint">,
    start: (call: ResumableCall) => Promise<Outcome>,
  ): ResumableCall;
  /** The call that waits for an answer under this id, in this round, to the same request. */
  find(id: string, round: number, fingerprint: string): ResumableCall | null;
  /** The call that runs here, whose client was answered with a task. */
  task(executionId: string): ResumableCall | null;
  close(): void;
}

export interface ResumableCallLimits {
  readonly perCaller: number;
  readonly total: number;
  readonly waitMs: number;
}

export function createResumableCalls(limits: ResumableCallLimits): ResumableCalls {
  const waiting = new Map<string, ResumableCall>();
  const tasks = new Map<string, ResumableCall>();
  const enter = (call: ResumableCall): (() => void) => {
    const mine = [...waiting.values()].filter((one) => isSame(one.caller, call.caller)).length;
    if (mine >= limits.perCaller || waiting.size >= limits.total)
      throw cannotAsk("too many calls wait for an answer of their client already");
    waiting.set(call.id, call);
    return () => void waiting.delete(call.id);
  };
  const detach = (executionId: string, call: ResumableCall): (() => void) => {
    tasks.set(executionId, call);
    return () => void tasks.delete(executionId);
  };
  return {
    begin(facts, start) {
      const call = new ResumableCall(facts, { enter, detach, waitMs: limits.waitMs });
      call.run(start(call));
      return call;
    },
    find(id, round, fingerprint) {
      const call = waiting.get(id);
      return call?.round === round && call.fingerprint === fingerprint ? call : null;
    },
    task: (executionId) => tasks.get(executionId) ?? null,
    close() {
      for (const call of waiting.values()) call.cancel("shutdown");
    },
  };
}

const isSame = (a: Caller, b: Caller): boolean =>
  a.tenantId === b.tenantId && a.userId === b.userId && a.keyId === b.keyId;

interface ResumableCallPowers {
  readonly enter: (call: ResumableCall) => () => void;
  readonly detach: (executionId: string, call: ResumableCall) => () => void;
  readonly waitMs: number;
}

export class ResumableCall {
  readonly id = randomUUID();
  readonly caller: Caller;
  /** Identifies the request: one with other arguments is another request. */
  readonly fingerprint: string;
  /** Rises with every question. */
  round = 0;
  readonly #powers: ResumableCallPowers;
  readonly #controller = new AbortController();
  #ended: Promise<NextStep> = new Promise(() => undefined);
  #asked = Promise.withResolvers<NextStep>();
  #question: Question | null = null;
  #turn: Promise<unknown> = Promise.resolve();
  #waiter: Waiter | null = null;
  /** Its execution, once that is durable. */
  readonly #begun = Promise.withResolvers<string>();
  /** Resolves when the client should get a task at once. */
  readonly #promoted = Promise.withResolvers<void>();
  #isTask = false;
  #open: OpenQuestions | null = null;

  constructor(
    { caller, fingerprint }: Pick<ResumableCall, "caller" | "fingerprint">,
    powers: ResumableCallPowers,
  ) {
    this.caller = caller;
    this.fingerprint = fingerprint;
    this.#powers = powers;
  }

  /** Fires when the waiting client disconnects, or when its answer does not come in time. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  run(work: Promise<Outcome>): void {
    this.#ended = work.then((outcome) => ({ kind: "ended", outcome }));
    this.#ended.catch(() => undefined); // `next` reports it
  }

  cancel(reason: "user" | "timeout" | "shutdown"): void {
    this.#controller.abort(reason);
  }

  begun(executionId: string): void {
    this.#begun.resolve(executionId);
  }

  /** The upstream server answers with a task: its questions belong to that, too. */
  promote(): void {
    this.#isTask = true;
    this.#promoted.resolve();
  }

  report(progress: Progress): void {
    this.#waiter?.report?.(progress);
  }

  message(params: JsonObject): void {
    this.#waiter?.message(params);
  }

  /**
   * Waits for the end or the next question; after `taskAfterMs` (null: never) the call becomes a task. A client that
   * disconnects meanwhile cancels the call.
   */
  async next(waiter: Waiter, taskAfterMs: number | null = null): Promise<NextStep> {
    const task = taskAfterMs === null ? null : this.#taskAfter(taskAfterMs);
    const onGone = (): void => this.cancel("user");
    if (waiter.signal.aborted) onGone();
    waiter.signal.addEventListener("abort", onGone, { once: true });
    this.#waiter = waiter;
    try {
      const steps = [this.#ended, this.#asked.promise];
      return await Promise.race(task ? [...steps, task.step] : steps);
    } finally {
      task?.end();
      waiter.signal.removeEventListener("abort", onGone);
      this.#waiter = null;
    }
  }

  #taskAfter(ms: number): { readonly step: Promise<NextStep>; end(): void } {
    const { promise: late, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, ms);
    const isWanted = Promise.race([late, this.#promoted.promise]);
    let isOver = false;
    const step = Promise.all([this.#begun.promise, isWanted]).then(([executionId]): NextStep => {
      if (!isOver) this.#detach(executionId);
      return { kind: "task", executionId };
    });
    const end = (): void => {
      isOver = true;
      clearTimeout(timer);
    };
    return { step, end };
  }

  #detach(executionId: string): void {
    this.#isTask = true;
    const leave = this.#powers.detach(executionId, this);
    this.#ended.then(leave, leave);
  }

  /** What the client of a task is asked at the moment; null: nothing. Every key is asked about once. */
  get openQuestions(): InputQuestions | null {
    return this.#open?.questions ?? null;
  }

  /** Answers of the client of a task, perhaps not to all questions yet. Others are ignored. */
  giveAnswers(given: Readonly<Record<string, Json>>): void {
    const answers = this.#open?.answer(given) ?? null;
    if (answers) this.answer(answers);
  }

  /** Questions are asked one after the other. */
  ask(questions: InputQuestions, signal: AbortSignal): Promise<InputAnswers> {
    const mine = this.#turn.then(() => this.#put(questions, signal));
    this.#turn = mine.catch(() => undefined);
    return mine;
  }

  get questions(): InputQuestions | null {
    return this.#question?.questions ?? null;
  }

  /** Resumes the call with the answers to its questions. */
  answer(answers: InputAnswers): void {
    const question = this.#question;
    this.#question = null;
    this.#open = null;
    this.#asked = Promise.withResolvers();
    question?.answered.resolve(answers);
  }

  async #put(questions: InputQuestions, signal: AbortSignal): Promise<InputAnswers> {
    if (signal.aborted) throw cannotAsk("the call has been cancelled");
    const leave = this.#powers.enter(this);
    const answered = Promise.withResolvers<InputAnswers>();
    const onAbort = (): void => {
      answered.reject(cannotAsk("the call has been cancelled"));
      this.answer({}); // clears the question: an answer would be too late
    };
    signal.addEventListener("abort", onAbort, { once: true });
    const timer = setTimeout(() => this.cancel("timeout"), this.#powers.waitMs).unref();
    this.round++;
    this.#question = { questions, answered };
    if (this.#isTask) this.#open = new OpenQuestions(questions, this.round);
    else this.#asked.resolve({ kind: "asks", questions });
    try {
      return await answered.promise;
    } finally {
      clearTimeout(timer);
      signal.removeEventListener("abort", onAbort);
      leave();
    }
  }
}
