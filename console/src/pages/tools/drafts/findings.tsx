// What the checks of a draft found. Hints: what a program can do is decided by its sandbox.
import { visibleText } from "../../../ui/code.tsx";
import { Badge, type Tone } from "../../../ui/verdict.tsx";
import type { Review } from "./data.ts";

type Finding = Review["findingList"][number];

const LOOKS: Record<Finding["severity"], readonly [Tone, string]> = {
  danger: ["deny", "!"],
  warning: ["hold", "▲"],
  info: ["info", "i"],
};

export function DraftFindings({
  findings,
  onLine,
}: {
  readonly findings: readonly Finding[];
  readonly onLine: (line: number) => void;
}) {
  if (findings.length === 0) return <p className="text-muted">The checks found nothing.</p>;
  return (
    <ul aria-label="Findings" className="flex flex-col gap-2">
      {findings.map((finding, at) => (
        <li key={at} className="flex flex-wrap items-center gap-2">
          <FindingBadge finding={finding} />
          <span>{visibleText(finding.message)}</span>
          {finding.line === null ? (
            <code className="text-muted">{visibleText(finding.path)}</code>
          ) : (
            <button
              type="button"
              className="min-h-6 text-accent underline"
              onClick={() => onLine(finding.line ?? 1)}
            >
              line {finding.line}
            </button>
          )}
        </li>
      ))}
    </ul>
  );
}

function FindingBadge({ finding: { severity } }: { readonly finding: Finding }) {
  const [tone, sign] = LOOKS[severity];
  return (
    <Badge tone={tone} sign={sign}>
      {severity}
    </Badge>
  );
}
