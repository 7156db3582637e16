// Two texts as a unified diff.
import { diffLines, type DiffLine } from "./line-diff.ts";

export interface UnifiedDiff {
  readonly diff: string;
  readonly added: number;
  readonly removed: number;
  /** Lines were left out at the end. */
  readonly truncated: boolean;
}

export interface UnifiedOptions {
  readonly names?: readonly [string, string];
  readonly context?: number;
  /** Lines that differ in blanks only count as the same. */
  readonly ignoreWhitespace?: boolean;
  readonly maxLines?: number;
}

const MAX_CHARS = 400_000;
const MAX_LINE = 2_000;
/** Stands at the end of a last line that has no line end; no text file holds one. */
const UNENDED = "\0";

export function unifiedDiff(
  before: string,
  after: string,
  options: UnifiedOptions = {},
): UnifiedDiff {
  const { context = 3, ignoreWhitespace = false, maxLines = 5_000, names } = options;
  const [a, b] = [linesOf(before), linesOf(after)];
  const key = (line: string): string =>
    ignoreWhitespace ? line.replaceAll(UNENDED, "").replace(/\s+/g, " ").trim() : line;
  const signs = diffLines(`${a.map(key).join("\n")}\n`, `${b.map(key).join("\n")}\n`);
  const lines = restored(a.length === 0 || b.length === 0 ? oneSided(a, b) : signs, a, b);
  const shown = [
    ...(names ? [`--- ${names[0]}`, `+++ ${names[1]}`] : []),
    ...hunks(lines, context),
  ];
  const added = lines.filter(({ sign }) => sign === "+").length;
  const removed = lines.filter(({ sign }) => sign === "-").length;
  if (added + removed === 0) return { diff: "", added, removed, truncated: false };
  const fitting = capped(shown, maxLines);
  const truncated = fitting.length < shown.length;
  const more = truncated ? [`… ${shown.length - fitting.length} more lines`] : [];
  return { diff: [...fitting, ...more].join("\n"), added, removed, truncated };
}

function linesOf(text: string): string[] {
  if (text === "") return [];
  return text.endsWith("\n") ? text.slice(0, -1).split("\n") : `${text}${UNENDED}`.split("\n");
}

const oneSided = (a: readonly string[], b: readonly string[]): DiffLine[] => [
  ...a.map((text) => ({ sign: "-" as const, text })),
  ...b.map((text) => ({ sign: "+" as const, text })),
];

/** The lines as they are, where they were compared in another form. */
function restored(
  signs: readonly DiffLine[],
  a: readonly string[],
  b: readonly string[],
): DiffLine[] {
  let [i, j] = [0, 0];
  return signs.map(({ sign }) => {
    const text = (sign === "+" ? b[j] : a[i]) ?? "";
    if (sign !== "+") i++;
    if (sign !== "-") j++;
    return { sign, text };
  });
}

function hunks(lines: readonly DiffLine[], context: number): string[] {
  const changes = lines.flatMap(({ sign }, at) => (sign === " " ? [] : [at]));
  const spans: [number, number][] = [];
  for (const at of changes) {
    const [from, to] = [Math.max(0, at - context), Math.min(lines.length - 1, at + context)];
    const last = spans.at(-1);
    if (last && from <= last[1] + 1) last[1] = to;
    else spans.push([from, to]);
  }
  const shown: string[] = [];
  let [i, j, done] = [1, 1, 0];
  const pass = (to: number): void => {
    for (; done < to; done++) {
      if (lines[done]?.sign !== "+") i++;
      if (lines[done]?.sign !== "-") j++;
    }
  };
  for (const [from, to] of spans) {
    pass(from);
    const part = lines.slice(from, to + 1);
    const olds = part.filter(({ sign }) => sign !== "+").length;
    const news = part.filter(({ sign }) => sign !== "-").length;
    shown.push(`@@ -${olds === 0 ? i - 1 : i},${olds} +${news === 0 ? j - 1 : j},${news} @@`);
    for (const { sign, text } of part) {
      const ended = !text.endsWith(UNENDED);
      const line = ended ? text : text.slice(0, -1);
      shown.push(`${sign}${line.length > MAX_LINE ? `${line.slice(0, MAX_LINE)}…` : line}`);
      if (!ended) shown.push("\\ No newline at end of file");
    }
  }
  return shown;
}

function capped(lines: readonly string[], maxLines: number): readonly string[] {
  let chars = 0;
  const end = lines.findIndex(
    (line, at) => at >= maxLines || (chars += line.length + 1) > MAX_CHARS,
  );
  return end < 0 ? lines : lines.slice(0, end);
}
