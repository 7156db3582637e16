// Questions to people: kept, shown, answered once. The answer is input for the call that asked, never an approval.
import type { Call, Caller } from "../contract/call.ts";
import { AppError } from "../contract/errors.ts";
import type { QuestionRow, QuestionState, Store } from "../storage/store/store.ts";
import { waitAtMost } from "../util/async/wait.ts";
import type { Ids } from "../util/ids.ts";

export interface Questions {
  /** Waits for the answer, at most `waitMs`. */
  ask(
    call: Call,
    signal: AbortSignal,
    question: Pick<QuestionRow, "question" | "context" | "options">,
    waitMs: number,
  ): Promise<QuestionRow>;
  /** Asks on behalf of a run, which reads the answer itself. A time: the person was asked too often until then. */
  askForRun(row: QuestionRow): Promise<number | null>;
  /** One's own; administrators see those of the tenant. Looking at them shows them. */
  list(caller: Caller, filter: { state?: QuestionState; limit: number }): Promise<QuestionRow[]>;
  decide(caller: Caller, id: string, answer: string | null): Promise<QuestionRow>;
  /** Hears of each question that is asked here, with the call that asks. */
  onAsked(listener: (call: Call, row: QuestionRow) => void): () => void;
  /** Closes what a crash left open: questions of calls that have ended. */
  recover(): Promise<number>;
}

export interface QuestionsPowers {
  readonly questions: Store["questions"];
  /** The call that asked may have ended in a crash, which leaves the question behind. */
  readonly executions: Pick<Store["executions"], "get">;
  /** Runs of workflows ask, too: such a question has the run's id in the place of the execution's. */
  readonly runs: Pick<Store["runs"], "get">;
  /** A run whose question was answered goes on. */
  readonly wakeRun: (runId: string) => Promise<void>;
  /** Others may answer on other instances. */
  readonly shared: boolean;
  readonly ids: Ids;
  readonly now: () => number;
  /** Records the event and notifies listeners; durable when it resolves. */
  readonly note: (
    action: "question.asked" | "question.answered" | "question.declined",
    who: Pick<Caller, "tenantId" | "userId">,
    row: QuestionRow,
  ) => Promise<void>;
}

const READ_EVERY_MS = 1_000;
/** A person is asked so often, and no oftener. */
const PER_MINUTE = 10;
const MINUTE_MS = 60_000;
const RECOVERED_AT_ONCE = 1_000;

export function createQuestions(p: QuestionsPowers): Questions {
  const waiting = new Map<string, () => void>();
  const listeners = new Set<(call: Call, row: QuestionRow) => void>();

  /** The question once it is answered, the time is over, or the call is cancelled. */
  async function awaitAnswer(
    call: Call,
    signal: AbortSignal,
    row: QuestionRow,
    waitMs: number,
  ): Promise<QuestionRow> {
    let latest = row;
    const until = performance.now() + waitMs;
    try {
      // Registered before each read, read before each wait: no answer is missed.
      for (let isAnnounced = false; latest.state === "pending" && !signal.aborted;) {
        const { promise: woken, resolve } = Promise.withResolvers<void>();
        waiting.set(row.id, resolve);
        if (!isAnnounced) {
          await p.note("question.asked", call.caller, row);
          for (const listener of [...listeners]) listener(call, row);
        }
        isAnnounced = true;
        latest = (await p.questions.get(row.tenantId, row.id)) ?? latest;
        const left = until - performance.now();
        if (latest.state !== "pending" || left <= 0) break;
        await waitAtMost(woken, p.shared ? Math.min(left, READ_EVERY_MS) : left, signal);
      }
    } finally {
      waiting.delete(row.id);
    }
    return latest;
  }

  return {
    async ask(call, signal, { question, context, options }, waitMs) {
      const createdAt = p.now();
      const { tenantId, userId } = call.caller;
      await requireRate(p.questions, { tenantId, userId }, createdAt);
      const row: QuestionRow = {
        id: p.ids.handle("qst", createdAt),
        tenantId,
        userId,
        executionId: call.id,
        question,
        context,
        options,
        state: "pending",
        answer: null,
        answeredBy: null,
        createdAt,
        expiresAt: createdAt + waitMs,
        presentedAt: null,
        decidedAt: null,
      };
      await p.questions.ask(row);
      const latest = await awaitAnswer(call, signal, row, waitMs);
      if (latest.state !== "pending") return latest;
      // The call was cancelled, or the time is over: an answer has no effect any more.
      const ended = await p.questions.expire(row.id, Math.max(p.now(), row.expiresAt));
      return ended ?? (await p.questions.get(tenantId, row.id)) ?? latest;
    },
    async askForRun(row) {
      const busyFor = await askedTooOften(p.questions, row, p.now());
      if (busyFor > 0) return p.now() + busyFor;
      await p.questions.ask(row);
      await p.note("question.asked", row, row);
      return null;
    },
    async list(caller, { state, limit }) {
      const mine = caller.role === "admin" ? {} : { userId: caller.userId };
      const rows = await p.questions.list(
        { tenantId: caller.tenantId, ...mine, ...(state === undefined ? {} : { state }) },
        limit,
      );
      const open = rows.filter((row) => row.state === "pending").map(({ id }) => id);
      await p.questions.presented(open, p.now());
      return rows;
    },
    async decide(caller, id, answer) {
      const row = await visible(p.questions, caller, id);
      requireOption(row, answer);
      const ended = row.state === "pending" ? await endOfAsker(row, p) : null;
      if (ended !== null) {
        await p.questions.expire(id, Math.max(p.now(), row.expiresAt));
        throw new AppError("CONFLICT", "not_running", `question ${id}: ${ended}`, {
          remedy: "nothing is left to answer",
        });
      }
      const change = {
        state: answer === null ? "declined" : "answered",
        answer,
        answeredBy: caller.userId,
        at: p.now(),
      } as const;
      const decided = await p.questions.decide(id, change);
      if (!decided)
        throw new AppError(
          "CONFLICT",
          "not_running",
          `question ${id} does not wait for an answer any more`,
          { remedy: "list your questions to see what became of it" },
        );
      await p.note(answer === null ? "question.declined" : "question.answered", caller, decided);
      waiting.get(id)?.();
      if (isOfRun(decided)) await p.wakeRun(decided.executionId);
      return decided;
    },
    onAsked(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    async recover() {
      const left = await p.questions.left(RECOVERED_AT_ONCE);
      for (const { id, expiresAt } of left)
        await p.questions.expire(id, Math.max(p.now(), expiresAt));
      return left.length;
    },
  };
}

async function visible(
  questions: Store["questions"],
  caller: Caller,
  id: string,
): Promise<QuestionRow> {
  const row = await questions.get(caller.tenantId, id);
  if (row && (row.userId === caller.userId || caller.role === "admin")) return row;
  throw new AppError("NOT_FOUND", "unknown", `Question '${id}' not found`, {
    remedy: "list your questions",
  });
}

const isOfRun = ({ executionId }: QuestionRow): boolean => executionId.startsWith("run_");

/** Null as long as whoever asked is there. */
async function endOfAsker(row: QuestionRow, p: QuestionsPowers): Promise<string | null> {
  if (isOfRun(row)) {
    const run = await p.runs.get(row, row.executionId);
    return run && run.endedAt !== null ? `the run that asked it has ended (${run.status})` : null;
  }
  const asker = await p.executions.get(row.executionId);
  return asker && asker.endTime !== null
    ? `the call that asked it has ended (${asker.status})`
    : null;
}

function requireOption(row: QuestionRow, answer: string | null): void {
  if (answer !== null && row.options !== null && !row.options.includes(answer)) {
    throw new AppError(
      "BAD_REQUEST",
      "invalid_input",
      `answer: expected one of ${row.options.join(", ")}`,
      {
        remedy: "choose one of the options",
        errors: [{ path: "/answer", message: `expected one of ${row.options.join(", ")}` }],
      },
    );
  }
}

async function requireRate(
  questions: Store["questions"],
  who: Pick<Caller, "tenantId" | "userId">,
  now: number,
): Promise<void> {
  const ms = await askedTooOften(questions, who, now);
  if (ms > 0) throw tooMany(Math.ceil(ms / 1_000));
}

/** For how long yet; 0: they may be asked. */
async function askedTooOften(
  questions: Store["questions"],
  { tenantId, userId }: Pick<Caller, "tenantId" | "userId">,
  now: number,
): Promise<number> {
  const recent = await questions.list({ tenantId, userId }, PER_MINUTE);
  const oldest = recent.at(PER_MINUTE - 1)?.createdAt ?? -Infinity;
  return Math.max(0, oldest + MINUTE_MS - now);
}

function tooMany(retryAfterSeconds: number): AppError {
  return new AppError(
    "TOO_MANY_REQUESTS",
    "rate_tool",
    `the person was asked ${PER_MINUTE} questions within a minute`,
    { remedy: "ask less, and several things in one question", retryAfterSeconds },
  );
}
