// One call of a program: made under the id from its journal, or looked up where it was made already.
import {
  innerRequest,
  limitWithin,
  type Call,
  type JsonObject,
  type Outcome,
} from "../../../../contract/call.ts";
import { AppError } from "../../../../contract/errors.ts";
import type { Beginning, CodeSettings } from "./settings.ts";

export interface CallsPowers {
  readonly engine: CodeSettings["engine"];
  readonly now: () => number;
  /** The call that runs the program. */
  readonly call: Call;
  readonly parent: Beginning["parent"];
  /** Its caller is connected and waits for a person's decision as long as a door would. */
  readonly isAttended: boolean;
}

export interface ProgramCallRequest {
  readonly executionId: string;
  /** At most one execution is begun under a key. */
  readonly key: string;
  readonly name: string;
  readonly arguments: JsonObject;
  /** open: perhaps begun; answered: it has ended, and its record has the outcome. */
  readonly state: "new" | "open" | "answered";
  readonly signal: AbortSignal;
}

/** Calls of one program that are under way at the same time. */
const AT_ONCE = 4;
const MIN_TIMEOUT_MS = 1_000;
/** Part of the call's time that is kept for its answer. */
const LAST_WORDS_MS = 1_000;
/** A call whose key is taken has begun within this time, or its process has died. */
const BEGINS_WITHIN_MS = 15_000;
const LOOK_EVERY_MS = 250;

/** Resolves with the outcome of the call; `endedAt` null: it waits for a person, or has not ended yet. */
export type MakeCall = (request: ProgramCallRequest) => Promise<Outcome>;

export function callsOf({ engine, now, call, parent, isAttended }: CallsPowers): MakeCall {
  const enter = atMost(AT_ONCE);
  const left = (): number => call.startedAt + call.timeoutMs - now();
  const follow = (executionId: string, ms: number, signal: AbortSignal): Promise<Outcome> =>
    engine().follow(call.caller, executionId, {
      ms: Math.max(0, Math.min(ms, left() - LAST_WORDS_MS)),
      signal,
    });

  /** Null: no such execution has begun. */
  async function lookAt({ executionId, signal }: ProgramCallRequest): Promise<Outcome | null> {
    try {
      return await follow(executionId, 0, signal);
    } catch (cause) {
      if (cause instanceof AppError && cause.code === "NOT_FOUND") return null;
      throw cause;
    }
  }

  async function execute(request: ProgramCallRequest): Promise<Outcome> {
    const { executionId, key, name, arguments: args, signal } = request;
    if (left() < MIN_TIMEOUT_MS) throw outOfTime(call);
    const leave = await enter();
    try {
      signal.throwIfAborted();
      return await engine().execute(
        call.caller,
        innerRequest(parent, "tool", {
          id: executionId,
          idempotencyKey: key,
          name,
          arguments: args,
          signal,
          outerLimit: limitWithin(call),
          sharesSlot: true,
          ...(call.onProgress ? { onProgress: call.onProgress } : {}),
          ...(call.client ? { client: call.client } : {}),
        }),
      );
    } finally {
      leave();
    }
  }

  /** Another process has begun it, or died just before. */
  async function begunElsewhere(request: ProgramCallRequest): Promise<Outcome> {
    for (const until = now() + BEGINS_WITHIN_MS; now() < until && !request.signal.aborted;) {
      const outcome = await lookAt(request);
      if (outcome) return outcome;
      await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
    }
    throw new AppError(
      "OUTCOME_UNKNOWN",
      "crashed",
      `the server stopped when ${request.name} was about to begin: it is not known whether it ran`,
      { remedy: "check the tool's effect before you run it again" },
    );
  }

  return async (request) => {
    const { state, signal } = request;
    const made = state === "new" ? null : await lookAt(request);
    if (made === null && state === "answered") throw notKept(request);
    let outcome = made ?? (await execute(request));
    if (isBegun(outcome)) outcome = await begunElsewhere(request);
    const { executionId, approval } = outcome;
    if (outcome.endedAt === null && approval?.state === "pending" && isAttended)
      outcome = await follow(executionId, approval.holdSeconds * 1_000, signal);
    // Approved meanwhile, or running elsewhere.
    if (outcome.endedAt === null && outcome.approval?.state !== "pending")
      outcome = await follow(executionId, left(), signal);
    return outcome;
  };
}

function notKept({ name, executionId }: ProgramCallRequest): AppError {
  const message = `${name} has run as ${executionId}, and its record is gone`;
  return new AppError("CONFLICT", "result_not_kept", message, {
    remedy: "it is not run again: check the tool's effect",
  });
}

/** The engine refuses to begin an execution that has begun under the same id. */
const isBegun = ({ error, dispatched }: Outcome): boolean =>
  !dispatched && error?.reason === "still_running";

/** Resolves with the function that frees the slot; in the order of the requests. */
function atMost(limit: number): () => Promise<() => void> {
  const waiting: (() => void)[] = [];
  let taken = 0;
  const leave = (): void => {
    const next = waiting.shift();
    if (next) next();
    else taken--;
  };
  return async () => {
    if (taken < limit) taken++;
    else await new Promise<void>((resolve) => waiting.push(resolve));
    return leave;
  };
}

function outOfTime({ timeoutMs }: Call): AppError {
  const message = `too little is left of the call's ${timeoutMs / 1000}s to make another call`;
  return new AppError("TIMEOUT", "timeout", message, { remedy: "call with a longer timeout" });
}
