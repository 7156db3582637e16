import { visibleText } from "../../../ui/code.tsx";
import { DiffLines } from "../../../ui/diff.tsx";
import { Badge, type Tone } from "../../../ui/verdict.tsx";
import type { Effect } from "../approval.ts";

type Files = Extract<Effect, { kind: "files" }>;
type Change = Files["changes"][number];

const LOOKS: Record<Change["change"], { sign: string; tone: Tone }> = {
  created: { sign: "+", tone: "ok" },
  changed: { sign: "~", tone: "hold" },
  moved: { sign: "→", tone: "info" },
  removed: { sign: "−", tone: "deny" },
};

export function FileChanges({ effect }: { readonly effect: Files }) {
  const { changes, totals, cut } = effect;
  const counts = Object.entries(totals).filter(([, count]) => count > 0);
  if (changes.length === 0) return <p className="text-muted">It would change nothing.</p>;
  return (
    <div className="flex flex-col gap-3">
      {changes.length > 1 ? (
        <p className="text-[13px] text-muted">
          {counts.map(([kind, count]) => `${count} ${kind}`).join(", ")}
        </p>
      ) : null}
      <ul className="flex flex-col gap-3">
        {changes.map((change) => (
          <li key={`${change.change} ${change.path}`} className="flex min-w-0 flex-col gap-1.5">
            <p className="flex flex-wrap items-center gap-2">
              <Badge {...LOOKS[change.change]}>{change.change}</Badge>
              <code className="break-all">
                {change.from === undefined ? "" : `${visibleText(change.from)} → `}
                {visibleText(change.path)}
              </code>
              <span className="text-[13px] text-muted">{sizesOf(change)}</span>
              {change.replaces ? <Badge tone="deny">replaces a file</Badge> : null}
            </p>
            {change.note === undefined ? null : (
              <p className="text-[13px] text-muted">{visibleText(change.note)}</p>
            )}
            {change.diff === undefined || change.diff === "" ? null : (
              <DiffLines
                label={`Change of ${change.path}`}
                lines={change.diff
                  .split("\n")
                  .filter((line) => !/^(?:---|\+\+\+) /.test(line))
                  .map(lineOf)}
              />
            )}
            {change.diffCut ? (
              <p className="text-[13px] text-muted">
                The diff is cut here; the file changes further.
              </p>
            ) : null}
          </li>
        ))}
      </ul>
      {cut ? <p className="text-muted">There are more changes than are listed.</p> : null}
    </div>
  );
}

function sizesOf(change: Change): string {
  const { sizeBytes, previousSizeBytes, files, bytes, addedLines, removedLines } = change;
  const parts = [
    addedLines === undefined && removedLines === undefined
      ? undefined
      : `+${addedLines ?? 0} −${removedLines ?? 0} lines`,
    files === undefined ? undefined : `${files.toLocaleString()} files`,
    bytes === undefined ? undefined : size(bytes),
    sizeBytes === undefined
      ? undefined
      : previousSizeBytes === undefined || previousSizeBytes === sizeBytes
        ? size(sizeBytes)
        : `${size(previousSizeBytes)} → ${size(sizeBytes)}`,
  ];
  return parts.filter((part) => part !== undefined).join(" · ");
}

function size(bytes: number): string {
  if (bytes < 1_024) return `${bytes} B`;
  if (bytes < 1_048_576) return `${(bytes / 1_024).toFixed(1)} kB`;
  return `${(bytes / 1_048_576).toFixed(1)} MB`;
}

function lineOf(line: string) {
  const kind = line.startsWith("+") ? "added" : line.startsWith("-") ? "removed" : "same";
  return { kind, text: line.startsWith("@@") ? line : line.slice(1) } as const;
}
