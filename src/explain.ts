// The ordered verdicts as sentences: what was decided, where, and what would change the answer.
import type { Verdict } from "./call.ts";
import type { Subject } from "./gate/index.ts";

export interface Explanation {
  readonly tool: string;
  readonly verdict: "allow" | "deny" | "hold";
  /** One sentence for people. */
  readonly summary: string;
  readonly gates: readonly Verdict[];
  /** What would have to change for another answer; one entry per refusing stage. */
  readonly wouldChange: readonly string[];
}

export function explainVerdicts(subject: Subject, gates: readonly Verdict[]): Explanation {
  const tool = subject.tool?.name ?? subject.requestedName;
  const who = subject.caller.userId;
  const refusing = gates.filter((gate) => gate.verdict !== "allow");
  const [first] = refusing;
  const summary =
    first === undefined
      ? `${who} may run ${tool}: all ${gates.length} stages allow it.`
      : `${who} may not run ${tool}: stage ${first.stage} says ${first.verdict} (${first.reason ?? first.verdict}): ${first.message ?? ""}.`;
  return {
    tool,
    verdict: first?.verdict ?? "allow",
    summary,
    gates,
    wouldChange: refusing.map(
      (gate) => `${gate.stage}: ${gate.remedy ?? gate.message ?? "nothing"}`,
    ),
  };
}
