// Asks the stages in order until one refuses. The ordered verdicts are the answer, the audit, the trace and `explain`.
import type { Verdict } from "../../contract/call.ts";
import type { Fault } from "../../contract/errors.ts";
import { type Subject } from "../../contract/subject.ts";
import { judge, type GatePowers, type Stage, type Trail } from "./stage.ts";

/** The verdict that stops the call, a no or a hold; null lets it run. Everything said on the way is in the trail. */
export async function decide(
  stages: readonly Stage[],
  subject: Subject,
  powers: GatePowers,
  trail: Trail,
): Promise<Verdict | null> {
  let refusal: Verdict | null = null;
  trail.at = performance.now();
  for (const stage of stages) {
    // A name that is hidden already is asked on among the hiding stages only: an engine that is out must answer for real
    // and invented names alike (C23).
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

/** Gives back what the stages took for a call that will not run. */
export async function undo(trail: Trail): Promise<void> {
  await Promise.all(trail.undo.splice(0).map(async (giveBack) => giveBack()));
}

/** A verdict that is no allow has a reason and a message by construction; a hold has no code of its own. */
export function faultOf({
  code = "FORBIDDEN",
  reason,
  message,
  remedy,
  errors,
  retryAfterSeconds,
}: Verdict): Fault {
  const told = { code, reason, message } as Pick<Fault, "code" | "reason" | "message">;
  return {
    ...told,
    ...(remedy === undefined ? {} : { remedy }),
    ...(errors ? { errors } : {}),
    ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
  };
}
