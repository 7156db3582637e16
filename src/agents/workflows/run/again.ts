// Whether a step that did not succeed is tried again: only where its definition says so and its tool does no harm by
// running twice.
import type { Code, Fault } from "../../../contract/errors.ts";
import type { StepState, WorkflowStep } from "../../../storage/store/store.ts";
import { withoutWaits } from "./hand.ts";
import type { DriverPowers } from "./context.ts";

/** The same request would be refused again, or a person declined it. */
const NOT_AGAIN: ReadonlySet<Code> = new Set<Code>([
  "BAD_REQUEST",
  "UNAUTHORIZED",
  "FORBIDDEN",
  "NOT_FOUND",
  "PAYLOAD_TOO_LARGE",
  "UNPROCESSABLE",
  "BUDGET_EXHAUSTED",
  "UNSUPPORTED_PROVIDER",
]);

/** The state of the next attempt, or null. */
export function nextAttempt(
  step: WorkflowStep,
  state: StepState,
  error: Fault | null,
  p: Pick<DriverPowers, "tool" | "now">,
): StepState | null {
  const attempt = state.attempt ?? 1;
  if (!step.retry || step.tool === undefined || attempt >= step.retry.attempts) return null;
  if (error === null || NOT_AGAIN.has(error.code)) return null;
  if (error.code === "CANCELLED" && error.reason !== "shutdown") return null;
  if (p.tool(step.tool)?.idempotent !== true) return null;
  return {
    ...withoutWaits(state),
    status: "waiting",
    attempt: attempt + 1,
    executionId: null,
    error,
    wakeAt: p.now() + step.retry.delaySeconds * 1_000,
  };
}
