// Asks the stages in order until one refuses. The ordered verdicts become the answer, the audit, the trace and
// `explain`.
import type { Verdict } from "../../contract/call.ts";
import type { Fault } from "../../contract/errors.ts";
import { type Subject } from "../../contract/subject.ts";
import { judge, type GatePowers, type Stage, type Trail } from "./stage.ts";

/** The verdict that stops the call, a deny or a hold; null lets it run. All verdicts are in the trail. */
export async function decide(
  stages: readonly Stage[],
  subject: Subject,
  powers: GatePowers,
  trail: Trail,
): Promise<Verdict | null> {
  let refusal: Verdict | null = null;
  trail.at = performance.now();
  for (const stage of stages) {
    // After a stage has hidden the tool, only the other hiding stages are asked: an engine that does not answer must
    // show for existing and invented names alike.
    if (refusal && !stage.hides) break;
    const judged = judge(stage, subject, powers, trail);
    const verdict = judged instanceof Promise ? await judged : judged;
    trail.gates.push(verdict);
    // Only a plain allow goes on: a hold must never count as one.
    if (verdict.verdict === "allow") continue;
    if (!refusal || verdict.code === "UNAVAILABLE") refusal = verdict;
    if (refusal.code !== "NOT_FOUND") break;
  }
  return refusal;
}

/** Gives back what the stages took for a call that will not run: counted calls, reserved budget. */
export async function undo(trail: Trail): Promise<void> {
  await Promise.all(trail.undo.splice(0).map(async (giveBack) => giveBack()));
}

/** Only for a deny or a hold, which always have a reason and a message; a hold has no code of its own. */
export function faultOfVerdict({
  code = "FORBIDDEN",
  reason,
  message,
  remedy,
  errors,
  retryAfterSeconds,
}: Verdict): Fault {
  const required = { code, reason, message } as Pick<Fault, "code" | "reason" | "message">;
  return {
    ...required,
    ...(remedy === undefined ? {} : { remedy }),
    ...(errors ? { errors } : {}),
    ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
  };
}
