// Reports the end of every call to the metrics and to the sensors of the operating mode.
import type { Call, Outcome } from "../contract/call.ts";
import type { ModeController } from "../governance/modes/mode.ts";
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
      return;
    }
    const verdict = outcome.gates.find((gate) => gate.verdict !== "allow") ?? null;
    if (verdict) mode.signal({ kind: "denied", caller: call.caller, dangerous, verdict });
  };
