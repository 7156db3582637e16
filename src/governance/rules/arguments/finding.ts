// How the argument rules speak: findings of one argument, collected.
import type { ArgumentFinding, ArgumentSubject, RuleSource, PathRules } from "../governance.ts";

/** What a judge of one argument may use. */
export interface Judging {
  readonly subject: ArgumentSubject;
  /** JSON pointer of the argument. */
  readonly at: string;
  /** The folder that relative paths of a command start from. */
  readonly from?: string;
  readonly pathRules: () => Promise<PathRules>;
  readonly findings: ArgumentFinding[];
}

type FindingText = Pick<ArgumentFinding, "reason" | "value" | "message" | "suggestion"> & {
  rule: RuleSource;
};

export const denied = (j: Judging, finding: FindingText): void => {
  j.findings.push({ kind: "deny", path: j.at, ...finding });
};

export const asked = (j: Judging, finding: FindingText): void => {
  j.findings.push({ kind: "ask", path: j.at, ...finding });
};

export const waived = (j: Judging, finding: FindingText): void => {
  j.findings.push({ kind: "waive", path: j.at, ...finding });
};
