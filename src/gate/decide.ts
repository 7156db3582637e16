// Asks the stages in order until one refuses. The ordered verdicts are the answer, the audit, the trace and `explain`.
import type { Verdict } from "../call.ts";
import type { Fault } from "../errors.ts";
import { judge, type GatePowers, type Stage, type Subject } from "./stage.ts";

export async function decide(
  stages: readonly Stage[],
  subject: Subject,
  powers: GatePowers,
  gates: Verdict[],
): Promise<Fault | null> {
  let refusal: Fault | null = null;
  for (const stage of stages) {
    // A name that is hidden already is asked on among the hiding stages only: an engine that is out must answer for real
    // and invented names alike (C23).
    if (refusal && !stage.hides) break;
    const judged = judge(stage, subject, powers);
    const verdict = judged instanceof Promise ? await judged : judged;
    gates.push(verdict);
    // Only a plain allow goes on: a hold must never count as one.
    if (verdict.verdict === "allow") continue;
    refusal = refusal && verdict.code !== "UNAVAILABLE" ? refusal : faultOfVerdict(verdict);
    if (refusal.code !== "NOT_FOUND") break;
  }
  return refusal;
}

/** A verdict that is no allow has a reason and a message by construction; a hold has no code of its own. */
function faultOfVerdict({ code = "FORBIDDEN", reason, message, remedy, errors }: Verdict): Fault {
  const told = { code, reason, message } as Pick<Fault, "code" | "reason" | "message">;
  return { ...told, ...(remedy === undefined ? {} : { remedy }), ...(errors ? { errors } : {}) };
}
