// A call that can outlive the request that began it: a server upstream asks something, the client of the modern era comes
// back with the answer under a new request, and the call has waited in memory meanwhile.
import { randomUUID } from "node:crypto";
import type {
  Caller,
  InputAnswers,
  InputQuestions,
  JsonObject,
  Outcome,
  Progress,
} from "../../contract/call.ts";
import { cannotAsk } from "./questions.ts";

/** What becomes of it next. */
export type NextStep =
  | { readonly kind: "ended"; readonly outcome: Outcome }
  | { readonly kind: "asks"; readonly questions: InputQuestions };

/** The request that waits for it at the moment. */
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
  /** Begins one; `start` is called at once. */
  begin(
    facts: Pick<ResumableCall, "caller" | "fingerprint">,
    start: (ongoing: ResumableCall) => Promise<Outcome>,
  ): ResumableCall;
  /** The one that waits for an answer under this id and in this round, and for the very same request. */
  find(id: string, round: number, fingerprint: string): ResumableCall | null;
  close(): void;
}

export interface ResumableCallLimits {
  readonly perCaller: number;
  readonly total: number;
  readonly waitMs: number;
}

export function createResumableCalls(limits: ResumableCallLimits): ResumableCalls {
  const waiting = new Map<string, ResumableCall>();
  const enter = (ongoing: ResumableCall): (() => void) => {
    const mine = [...waiting.values()].filter((one) => isSame(one.caller, ongoing.caller)).length;
    if (mine >= limits.perCaller || waiting.size >= limits.total)
      throw cannotAsk("too many calls wait for an answer of their client already");
    waiting.set(ongoing.id, ongoing);
    return () => void waiting.delete(ongoing.id);
  };
  return {
    begin(facts, start) {
      const ongoing = new ResumableCall(facts, { enter, waitMs: limits.waitMs });
      ongoing.run(start(ongoing));
      return ongoing;
    },
    find(id, round, fingerprint) {
      const ongoing = waiting.get(id);
      return ongoing?.round === round && ongoing.fingerprint === fingerprint ? ongoing : null;
    },
    close() {
      for (const ongoing of waiting.values()) ongoing.cancel("shutdown");
    },
  };
}

const isSame = (a: Caller, b: Caller): boolean =>
  a.tenantId === b.tenantId && a.userId === b.userId && a.keyId === b.keyId;

interface ResumableCallPowers {
  readonly enter: (ongoing: ResumableCall) => () => void;
  readonly waitMs: number;
}

export class ResumableCall {
  readonly id = randomUUID();
  readonly caller: Caller;
  /** Of the request: what comes back with other words is another request. */
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

  constructor(
    { caller, fingerprint }: Pick<ResumableCall, "caller" | "fingerprint">,
    powers: ResumableCallPowers,
  ) {
    this.caller = caller;
    this.fingerprint = fingerprint;
    this.#powers = powers;
  }

  /** Fires when whoever waits for it goes, or when the answer does not come. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  run(work: Promise<Outcome>): void {
    this.#ended = work.then((outcome) => ({ kind: "ended", outcome }));
    this.#ended.catch(() => undefined); // told to whoever waits
  }

  cancel(reason: "user" | "timeout" | "shutdown"): void {
    this.#controller.abort(reason);
  }

  report(progress: Progress): void {
    this.#waiter?.report?.(progress);
  }

  message(params: JsonObject): void {
    this.#waiter?.message(params);
  }

  /** Waits for its end or its next question. A client that goes meanwhile cancels it. */
  async next(waiter: Waiter): Promise<NextStep> {
    const onGone = (): void => this.cancel("user");
    if (waiter.signal.aborted) onGone();
    waiter.signal.addEventListener("abort", onGone, { once: true });
    this.#waiter = waiter;
    try {
      return await Promise.race([this.#ended, this.#asked.promise]);
    } finally {
      waiter.signal.removeEventListener("abort", onGone);
      this.#waiter = null;
    }
  }

  /** Questions come one after the other, each answered before the next is shown. */
  ask(questions: InputQuestions, signal: AbortSignal): Promise<InputAnswers> {
    const mine = this.#turn.then(() => this.#put(questions, signal));
    this.#turn = mine.catch(() => undefined);
    return mine;
  }

  get questions(): InputQuestions | null {
    return this.#question?.questions ?? null;
  }

  /** Goes on with the answers to what it asks. */
  answer(answers: InputAnswers): void {
    const question = this.#question;
    this.#question = null;
    this.#asked = Promise.withResolvers();
    question?.answered.resolve(answers);
  }

  async #put(questions: InputQuestions, signal: AbortSignal): Promise<InputAnswers> {
    if (signal.aborted) throw cannotAsk("the call has been cancelled");
    const leave = this.#powers.enter(this);
    const answered = Promise.withResolvers<InputAnswers>();
    const onAbort = (): void => {
      answered.reject(cannotAsk("the call has been cancelled"));
      this.answer({}); // too late: what is told next is another thing
    };
    signal.addEventListener("abort", onAbort, { once: true });
    const timer = setTimeout(() => this.cancel("timeout"), this.#powers.waitMs).unref();
    this.round++;
    this.#question = { questions, answered };
    this.#asked.resolve({ kind: "asks", questions });
    try {
      return await answered.promise;
    } finally {
      clearTimeout(timer);
      signal.removeEventListener("abort", onAbort);
      leave();
    }
  }
}
