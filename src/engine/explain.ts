// The ordered verdicts as sentences: what was decided, where, and what would change the answer.
import type { Caller, CallRequest, Verdict } from "../call.ts";
import { EXECUTE, judge, VISIBLE, type Subject } from "../gate/index.ts";
import type { EnginePowers } from "../engine.ts";

export interface Explanation {
  readonly tool: string;
  readonly verdict: "allow" | "deny" | "hold";
  /** One sentence for people. */
  readonly summary: string;
  readonly gates: readonly Verdict[];
  /** What would have to change for another answer; one entry per refusing stage. */
  readonly wouldChange: readonly string[];
}

/** Every stage is asked, also after a refusal. Null for a hidden tool: never an oracle, administrators excepted. */
export async function explain(
  caller: Caller,
  request: Pick<CallRequest, "name" | "arguments">,
  p: Pick<EnginePowers, "registry" | "gate">,
  reader: Caller = caller,
): Promise<Explanation | null> {
  const tool = p.registry.get(request.name);
  const subject: Subject = {
    caller,
    tool,
    requestedName: request.name,
    arguments: request.arguments ?? {},
  };
  const gates: Verdict[] = [];
  for (const stage of EXECUTE) gates.push(await judge(stage, subject, p.gate));
  const hidden = gates.slice(0, VISIBLE.length).some((gate) => gate.verdict !== "allow");
  return hidden && reader.role !== "admin" ? null : told(subject, gates);
}

function told(subject: Subject, gates: readonly Verdict[]): Explanation {
  const tool = subject.tool?.name ?? subject.requestedName;
  const who = subject.caller.userId;
  const refusing = gates.filter((gate) => gate.verdict !== "allow");
  const [first] = refusing;
  const summary = first
    ? `${who} may not run ${tool}: stage ${first.stage} says ${first.verdict} (${first.reason}): ${first.message}`
    : `${who} may run ${tool}: all ${gates.length} stages allow it.`;
  return {
    tool,
    verdict: first?.verdict ?? "allow",
    summary,
    gates,
    wouldChange: refusing.map((gate) => `${gate.stage}: ${gate.remedy ?? gate.message}`),
  };
}
