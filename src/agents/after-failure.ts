// What comes after a failed call: one more attempt, on without its result, or an end of the work.
import type { Outcome } from "../contract/call.ts";
import { faultOf, type Code, type Fault } from "../contract/errors.ts";
import type { Tool } from "../contract/tool.ts";
import { isLackOfRoom, isNetworkFault } from "../contract/transient.ts";

export interface FailedCall {
  readonly outcome: Pick<Outcome, "error" | "dispatched" | "gates" | "metadata" | "approval">;
  /** Null: the name is unknown. */
  readonly tool: Pick<Tool, "idempotent" | "route"> | null;
  /** 1 for the first attempt. */
  readonly attempt: number;
}

export type NextStep =
  /** The same call once more, after this time. */
  | { readonly action: "retry"; readonly afterMs: number }
  /** The model gets the failure as the result of its call. */
  | { readonly action: "continue" }
  /** No further call can mend it; the message is for the user. */
  | { readonly action: "stop"; readonly message: string };

/** A longer wait is the model's decision: meanwhile it may do something else. */
const LONGEST_WAIT_MS = 5_000;
/** Where the failure names no wait. */
const SHORT_WAIT_MS = 250;

export function afterFailure({ outcome, tool, attempt }: FailedCall): NextStep {
  const { error } = outcome;
  if (error === null) return { action: "continue" };
  const afterMs = retryWait(error);
  if (afterMs !== null && attempt < 2 && mayRepeat(outcome, tool))
    return { action: "retry", afterMs };
  return isFinal(outcome, error)
    ? { action: "stop", message: stopMessage(error) }
    : { action: "continue" };
}

/** A call that threw has no outcome: nothing ran, unless the fault says that this is not known. */
export function failureOf(cause: unknown): FailedCall["outcome"] {
  const error = faultOf(cause);
  const dispatched = error.code === "OUTCOME_UNKNOWN" || error.code === "INTERNAL_SERVER_ERROR";
  return { error, dispatched, gates: [], metadata: {}, approval: null };
}

/** Null: a second attempt would fail like the first. */
function retryWait(error: Fault): number | null {
  const seconds = error.retryAfterSeconds;
  if (seconds === undefined) return isNetworkFault(error) ? SHORT_WAIT_MS : null;
  if (seconds * 1000 > LONGEST_WAIT_MS) return null;
  return isNetworkFault(error) || isLackOfRoom(error) ? seconds * 1000 : null;
}

function mayRepeat(
  { error, dispatched, metadata, approval }: FailedCall["outcome"],
  tool: FailedCall["tool"],
): boolean {
  // A person agreed to one call, not to two; and a runner that repeated it has used the second attempt.
  if (approval !== null || Number(metadata["attempts"] ?? 1) > 1) return false;
  if (!dispatched || tool?.idempotent === true) return true;
  return tool?.route != null && NEVER_SENT.has(error?.reason ?? "");
}

/** Of a tool elsewhere: it was refused here, before anything was sent. */
const NEVER_SENT: ReadonlySet<string> = new Set(["queue_full", "circuit_open"]);

/** What every further call of this caller would meet too. */
const FINAL: Partial<Record<Code, readonly string[]>> = {
  UNAUTHORIZED: ["no_credentials", "bad_credentials", "key_inactive"],
  // Other metrics belong to a few tools; the rest can go on.
  BUDGET_EXHAUSTED: ["budget_tool_calls", "budget_tokens", "budget_api_calls"],
  FORBIDDEN: ["key_inactive"],
  CANCELLED: ["shutdown"],
  OUTCOME_UNKNOWN: ["not_recorded"],
  UNAVAILABLE: ["shutting_down"],
};

function isFinal({ dispatched, gates }: FailedCall["outcome"], { code, reason }: Fault): boolean {
  if (FINAL[code]?.includes(reason)) return true;
  // A part of the gate or of the record does not work. After the tool began, it is a part that the tool itself uses.
  if (reason === "engine_unavailable") return !dispatched;
  return reason === "mode_forbids" && gates.some(({ mode }) => mode === "LOCKDOWN");
}

function stopMessage({ message, remedy }: Fault): string {
  return remedy === undefined ? `Stopped: ${message}` : `Stopped: ${message}. ${remedy}`;
}
