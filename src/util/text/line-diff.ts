// What changed between two texts, line by line.
import { commonRuns } from "./line-match.ts";

export interface DiffLine {
  readonly sign: " " | "+" | "-";
  readonly text: string;
}

export function diffLines(before: string, after: string): DiffLine[] {
  const [a, b] = [linesOf(before), linesOf(after)];
  const lines: DiffLine[] = [];
  let [i, j] = [0, 0];
  const end = { a: a.length, b: b.length, length: 0 };
  for (const run of [...commonRuns(a, b), end]) {
    while (i < run.a) lines.push({ sign: "-", text: a[i++] ?? "" });
    while (j < run.b) lines.push({ sign: "+", text: b[j++] ?? "" });
    for (let n = 0; n < run.length; n++, i++, j++) lines.push({ sign: " ", text: a[i] ?? "" });
  }
  return lines;
}

/** A last line end does not begin another line. */
function linesOf(text: string): string[] {
  return text === "" ? [] : (text.endsWith("\n") ? text.slice(0, -1) : text).split("\n");
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
