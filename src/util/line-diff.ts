// What changed between two texts, line by line.

export interface DiffLine {
  readonly sign: " " | "+" | "-";
  readonly text: string;
}

/** Beyond this many cells the middle counts as replaced: exactness is not worth the time there. */
const MAX_CELLS = 4_000_000;

export function diffLines(before: string, after: string): DiffLine[] {
  const a = linesOf(before);
  const b = linesOf(after);
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start++;
  let end = 0;
  while (end < a.length - start && end < b.length - start && a.at(-1 - end) === b.at(-1 - end))
    end++;
  const same = (text: string): DiffLine => ({ sign: " ", text });
  return [
    ...a.slice(0, start).map(same),
    ...middle(a.slice(start, a.length - end), b.slice(start, b.length - end)),
    ...a.slice(a.length - end).map(same),
  ];
}

/** A last line end does not begin another line. */
function linesOf(text: string): string[] {
  return text === "" ? [] : text.replace(/\n$/, "").split("\n");
}

/** The longest common subsequence stays, the rest goes and comes. */
function middle(a: readonly string[], b: readonly string[]): DiffLine[] {
  const gone = (text: string): DiffLine => ({ sign: "-", text });
  const come = (text: string): DiffLine => ({ sign: "+", text });
  if (a.length * b.length > MAX_CELLS) return [...a.map(gone), ...b.map(come)];
  const width = b.length + 1;
  const common = new Uint32Array((a.length + 1) * width);
  const at = (i: number, j: number): number => common[i * width + j] ?? 0;
  for (let i = a.length - 1; i >= 0; i--)
    for (let j = b.length - 1; j >= 0; j--)
      common[i * width + j] =
        a[i] === b[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
  const lines: DiffLine[] = [];
  let i = 0;
  let j = 0;
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      lines.push({ sign: " ", text: a[i] ?? "" });
      i++;
      j++;
    } else if (j >= b.length || (i < a.length && at(i + 1, j) >= at(i, j + 1)))
      lines.push(gone(a[i++] ?? ""));
    else lines.push(come(b[j++] ?? ""));
  }
  return lines;
}

/** Changed lines with a few around them, under `@@ line @@` heads; empty when nothing changed. */
export function hunks(lines: readonly DiffLine[], around = 3): string[] {
  const near = lines.map((_, i) =>
    lines.slice(Math.max(0, i - around), i + around + 1).some(({ sign }) => sign !== " "),
  );
  const shown: string[] = [];
  let line = 1;
  lines.forEach(({ sign, text }, i) => {
    if (near[i]) {
      if (!near[i - 1]) shown.push(`@@ line ${line} @@`);
      shown.push(`${sign}${text}`);
    }
    if (sign !== "+") line++;
  });
  return shown;
}
