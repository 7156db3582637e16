import { visibleText } from "./code.tsx";
import { cx } from "./class-names.ts";
import { type DiffLine, lineDiff } from "./line-diff.ts";

const SIGNS: Record<DiffLine["kind"], string> = { same: " ", added: "+", removed: "−" };
const LOOKS: Record<DiffLine["kind"], string> = {
  same: "",
  added: "bg-ok-soft text-ok",
  removed: "bg-deny-soft text-deny",
};

/** Two texts with signs before the lines that differ. */
export function Diff({
  before,
  after,
  label,
}: {
  readonly before: string;
  readonly after: string;
  readonly label: string;
}) {
  return <DiffLines lines={lineDiff(before, after)} label={label} />;
}

export function DiffLines({
  lines,
  label,
}: {
  readonly lines: readonly DiffLine[];
  readonly label: string;
}) {
  return (
    <pre
      tabIndex={0}
      aria-label={label}
      className="max-h-[60vh] overflow-auto rounded-md border border-line py-1 whitespace-pre-wrap"
    >
      {lines.map((line, at) => (
        <div key={at} className={cx("px-3", LOOKS[line.kind])}>
          <span aria-hidden="true" className="mr-2 select-none">
            {SIGNS[line.kind]}
          </span>
          {line.kind === "same" ? null : <span className="sr-only">{line.kind}: </span>}
          {visibleText(line.text)}
        </div>
      ))}
    </pre>
  );
}

/** The lines of a unified diff. Only its two first lines are its head: further on, `+++` is an added line. */
export const unifiedLines = (lines: readonly string[]): readonly DiffLine[] =>
  lines.slice(lines[0]?.startsWith("--- ") && lines[1]?.startsWith("+++ ") ? 2 : 0).map((line) => ({
    kind: line.startsWith("+") ? "added" : line.startsWith("-") ? "removed" : "same",
    text: line.startsWith("@@") ? line : line.slice(1),
  }));
