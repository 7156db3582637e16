// One call of a step: its execution id is durable before it is made, so that after a crash the instance that continues
// the run finds the outcome in the record.
import { innerRequest, type JsonObject, type Outcome } from "../../../contract/call.ts";
import { AppError, faultOf } from "../../../contract/errors.ts";
import type { StepContext, StepOutcome } from "./context.ts";

export interface StepCall {
  readonly name: string;
  readonly arguments: JsonObject;
  readonly stepId: string;
  readonly timeoutSeconds: number | undefined;
  /** The same for every try at the same call. */
  readonly key: string;
  readonly metadata?: JsonObject;
  /** Stores the id. */
  readonly chosen: (executionId: string) => Promise<void>;
}

/** What is known of a call: its state, that it never began, or that this is not known before `at`. */
export type Seen = { readonly outcome: Outcome } | "never" | { readonly at: number };

/** How long an instance that lost a run may still be about to begin a call of it. */
const MAY_STILL_BEGIN_MS = 15_000;
/** How soon a call that runs elsewhere, or is about to be closed, is checked again. */
export const LOOK_AGAIN_MS = 1_000;
/** An approved call that no instance has continued is continued by the instance that follows it for this long. */
const FOLLOW_MS = 3_000;
/** A call that waits for a person is checked at least this often; its end wakes the run at once. */
export const LOOK_AT_HELD_MS = 60_000;

/** Makes the call. Rejects only where the rights have ended, or its id could not be written. */
export async function makeCall(ctx: StepContext, call: StepCall): Promise<StepOutcome | Outcome> {
  const { p, parent, signal, hand } = ctx;
  const caller = await ctx.caller();
  const executionId = p.ids.execution(p.now());
  let request: ReturnType<typeof innerRequest>;
  try {
    request = innerRequest(parent, "workflow", {
      name: call.name,
      arguments: call.arguments,
      signal,
      metadata: { ...call.metadata, runId: hand.run.id, stepId: call.stepId },
      ...(call.timeoutSeconds === undefined ? {} : { timeoutMs: call.timeoutSeconds * 1_000 }),
    });
  } catch (cause) {
    return refused(cause, null);
  }
  await call.chosen(executionId);
  ctx.calling.add(executionId);
  try {
    return await p
      .engine()
      .execute(caller, { ...request, id: executionId, idempotencyKey: call.key });
  } catch (cause) {
    return refused(cause, executionId);
  } finally {
    ctx.calling.delete(executionId);
  }
}

export const isOutcome = (made: StepOutcome | Outcome): made is Outcome => !("kind" in made);

function refused(cause: unknown, executionId: string | null): StepOutcome {
  const error = faultOf(cause);
  return { kind: "ended", status: "failed", executionId, output: null, error, sources: [] };
}

/** The state of a call that was begun earlier, perhaps by another instance. */
export async function lookAt(
  ctx: StepContext,
  executionId: string,
  startedAt: number | undefined,
): Promise<Seen> {
  const { p, signal } = ctx;
  if (ctx.calling.has(executionId)) return { at: p.now() + LOOK_AGAIN_MS };
  const caller = await ctx.caller();
  const follow = (ms: number) => p.engine().follow(caller, executionId, { ms, signal });
  let outcome: Outcome;
  try {
    outcome = await follow(0);
    if (outcome.endedAt === null && outcome.approval?.state === "approved")
      outcome = await follow(FOLLOW_MS);
  } catch (cause) {
    if (!(cause instanceof AppError) || cause.fault.code !== "NOT_FOUND") throw cause;
    // A single process has begun it, or never will; with several instances, another may be about to begin it.
    const until = (startedAt ?? 0) + MAY_STILL_BEGIN_MS;
    return p.store.shared && p.now() < until ? { at: p.now() + LOOK_AGAIN_MS } : "never";
  }
  return { outcome };
}

/** The end of the call as the end of the step; null while the call has not ended. */
export function endOf(
  ctx: StepContext,
  outcome: Outcome,
): (StepOutcome & { kind: "ended" }) | null {
  const { endedAt, success, status, executionId, output, error } = outcome;
  if (endedAt === null) return null;
  return {
    kind: "ended",
    status: success ? "success" : status === "cancelled" ? "cancelled" : "failed",
    executionId,
    output,
    error,
    sources: ctx.p.brings(outcome),
  };
}

/** Another process took the key for the same call, and may have begun it. */
export const isTaken = ({ error, dispatched }: Outcome): boolean =>
  !dispatched && error?.reason === "idempotency_in_flight";

/** The server stops: the call was not made and may be made later. */
export const isStopping = ({ error, dispatched }: Outcome): boolean =>
  !dispatched && (error?.reason === "shutting_down" || error?.reason === "shutdown");

/** Of several instances, the one that took the key of a call may only be frozen, and begin the call when it wakes. */
export const unknownEnd = (executionId: string): StepOutcome & { kind: "ended" } => ({
  kind: "ended",
  status: "failed",
  executionId,
  output: null,
  error: {
    code: "OUTCOME_UNKNOWN",
    reason: "crashed",
    message:
      "the instance that was about to make the call is gone: it is not known whether it began",
    remedy: "check the effect of the step's tool, then rerun the run from this step",
  },
  sources: [],
});
