// What a call that waits would do, as the rights and rules of today see it. Nothing runs, is counted or recorded.
import type { Call } from "../../contract/call.ts";
import type { Denial, Preview } from "../../contract/effect.ts";
import type { Subject } from "../../contract/subject.ts";
import { decide, EXECUTE, faultOfVerdict, newTrail } from "../gate/index.ts";
import type { EnginePowers } from "./powers.ts";

export async function preview(
  call: Call,
  { gate, effectOf }: Pick<EnginePowers, "gate" | "effectOf">,
): Promise<Preview> {
  const { caller, tool, requestedName, arguments: args, sessionId, ip, grant, taint } = call;
  const subject: Subject = {
    caller,
    tool,
    requestedName,
    action: "execute",
    id: null,
    arguments: args,
    sessionId,
    ip,
    grant,
    ...(taint ? { taint } : {}),
    suppose: {},
  };
  const trail = newTrail();
  const refusal = await decide(EXECUTE, subject, gate, trail);
  // To be held is what it waits for already.
  const denied: Denial | null =
    refusal?.verdict === "deny"
      ? {
          stage: refusal.stage,
          fault: faultOfVerdict(refusal),
          ...(refusal.rule === undefined ? {} : { rule: refusal.rule }),
        }
      : null;
  const limited = trail.egress ? { ...call, egress: trail.egress } : call;
  return { denied, effect: await effectOf(limited, denied === null) };
}
