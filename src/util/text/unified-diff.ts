// Two texts as a unified diff.
import { commonRuns, type EqualLines } from "./line-match.ts";

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
const NO_LINE_END = "\\ No newline at end of file";

/** The lines of one side, and whether the last one has a line end. */
interface Side {
  readonly lines: readonly string[];
  readonly ended: boolean;
}

export function unifiedDiff(
  before: string,
  after: string,
  options: UnifiedOptions = {},
): UnifiedDiff {
  const { context = 3, ignoreWhitespace = false, maxLines = 5_000, names } = options;
  const [a, b] = [sideOf(before), sideOf(after)];
  const runs = commonRuns(keysOf(a, ignoreWhitespace), keysOf(b, ignoreWhitespace));
  const same = runs.reduce((sum, { length }) => sum + length, 0);
  const [added, removed] = [b.lines.length - same, a.lines.length - same];
  if (added + removed === 0) return { diff: "", added, removed, truncated: false };
  const out = new Output(maxLines);
  if (names) for (const line of [`--- ${names[0]}`, `+++ ${names[1]}`]) out.add(line);
  for (const hunk of hunksOf(runs, a.lines.length, b.lines.length, context)) write(hunk, a, b, out);
  return { diff: out.text(), added, removed, truncated: out.left > 0 };
}

function sideOf(text: string): Side {
  if (text === "") return { lines: [], ended: true };
  const ended = text.endsWith("\n");
  return { lines: (ended ? text.slice(0, -1) : text).split("\n"), ended };
}

/** What is compared: a last line without its line end is another line than one with it. */
function keysOf({ lines, ended }: Side, ignoreWhitespace: boolean): readonly string[] {
  if (ignoreWhitespace) return lines.map((line) => line.replace(/\s+/g, " ").trim());
  return ended ? lines : lines.with(-1, `${lines.at(-1) ?? ""}\n`);
}

/** What differs between two runs: lines `a` to `aEnd` went, `b` to `bEnd` came. */
interface Change {
  readonly a: number;
  readonly aEnd: number;
  readonly b: number;
  readonly bEnd: number;
}

/** Changes that lie so close together that the lines around them meet. */
interface Hunk extends Change {
  readonly changes: readonly Change[];
}

function hunksOf(
  runs: readonly EqualLines[],
  aTotal: number,
  bTotal: number,
  context: number,
): Hunk[] {
  const changes: Change[] = [];
  let [a, b] = [0, 0];
  for (const run of [...runs, { a: aTotal, b: bTotal, length: 0 }]) {
    if (run.a > a || run.b > b) changes.push({ a, aEnd: run.a, b, bEnd: run.b });
    [a, b] = [run.a + run.length, run.b + run.length];
  }
  const groups: Change[][] = [];
  for (const change of changes) {
    const last = groups.at(-1)?.at(-1);
    if (last && change.a - last.aEnd <= 2 * context) groups.at(-1)?.push(change);
    else groups.push([change]);
  }
  return groups.map((group) => {
    const [first, last] = [group[0] as Change, group.at(-1) as Change];
    const before = Math.min(context, first.a, first.b);
    const after = Math.min(context, aTotal - last.aEnd, bTotal - last.bEnd);
    return {
      changes: group,
      a: first.a - before,
      b: first.b - before,
      aEnd: last.aEnd + after,
      bEnd: last.bEnd + after,
    };
  });
}

function write(hunk: Hunk, a: Side, b: Side, out: Output): void {
  const [olds, news] = [hunk.aEnd - hunk.a, hunk.bEnd - hunk.b];
  out.add(
    `@@ -${olds === 0 ? hunk.a : hunk.a + 1},${olds} +${news === 0 ? hunk.b : hunk.b + 1},${news} @@`,
  );
  let at = hunk.a;
  for (const change of hunk.changes) {
    side(" ", a, at, change.a, out);
    side("-", a, change.a, change.aEnd, out);
    side("+", b, change.b, change.bEnd, out);
    at = change.aEnd;
  }
  side(" ", a, at, hunk.aEnd, out);
}

function side(sign: string, { lines, ended }: Side, from: number, to: number, out: Output): void {
  for (let at = from; at < to; at++) {
    if (out.full) return out.skip(to - at + (!ended && to === lines.length ? 1 : 0));
    const line = lines[at] ?? "";
    out.add(`${sign}${line.length > MAX_LINE ? `${line.slice(0, MAX_LINE)}…` : line}`);
    if (!ended && at === lines.length - 1) out.add(NO_LINE_END);
  }
}

/** Takes lines as long as they fit, and counts the others. */
class Output {
  readonly #lines: string[] = [];
  readonly #maxLines: number;
  #chars = 0;
  left = 0;

  constructor(maxLines: number) {
    this.#maxLines = maxLines;
  }

  get full(): boolean {
    return this.left > 0;
  }

  add(line: string): void {
    this.#chars += line.length + 1;
    if (this.left > 0 || this.#lines.length >= this.#maxLines || this.#chars > MAX_CHARS)
      this.left++;
    else this.#lines.push(line);
  }

  skip(count: number): void {
    this.left += count;
  }

  text(): string {
    return [...this.#lines, ...(this.left > 0 ? [`… ${this.left} more lines`] : [])].join("\n");
  }
}
