// Reports the end of every call to the metrics and to the sensors of the operating mode.
import type { Call, Outcome } from "../contract/call.ts";
import type { ModeController } from "../governance/modes/mode.ts";
import { RESOURCES } from "../util/exhaustion.ts";
import type { Metrics } from "../core/record/metrics.ts";

export const reportEnds =
  (metrics: Pick<Metrics, "ended" | "held">, mode: Pick<ModeController, "signal">) =>
  (call: Call, outcome: Outcome): void => {
    const dangerous = call.tool?.risk === "dangerous";
    if (outcome.endedAt === null) {
      // It waits for approval: an attempt without a final verdict.
      metrics.held(outcome);
      if (dangerous) mode.signal({ kind: "denied", caller: call.caller, dangerous, verdict: null });
      return;
    }
    metrics.ended(call.caller, outcome);
    if (outcome.dispatched) {
      if (outcome.cancelReason !== "user" && outcome.cancelReason !== "shutdown")
        mode.signal({ kind: "ended", failed: !outcome.success });
      reportExhaustion(call, outcome, mode);
      return;
    }
    const verdict = outcome.gates.find((gate) => gate.verdict !== "allow") ?? null;
    if (verdict) mode.signal({ kind: "denied", caller: call.caller, dangerous, verdict });
  };

/** The runner notes what was used up; the operating mode depends on it. */
function reportExhaustion(
  { caller }: Call,
  { error, metadata, toolName, executionId }: Outcome,
  mode: Pick<ModeController, "signal">,
): void {
  if (error === null) return;
  const resource = RESOURCES.find((one) => one === metadata["exhausted"]);
  if (resource)
    mode.signal({ kind: "exhausted", resource, by: `${toolName}, ${executionId}`, caller });
}
