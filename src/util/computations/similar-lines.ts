// The lines of a text that look most like a given one.

export interface SimilarLine {
  /** From 1. */
  readonly line: number;
  readonly text: string;
}

const MAX_LINES = 50_000;
const MAX_CHARS = 400;
const LEAST_LIKENESS = 0.4;

/** Best first; at most `count`, none when nothing resembles it. Blanks at both ends do not count. */
export function similarLines(text: string, wanted: string, count: number): SimilarLine[] {
  const pairs = pairsOf(wanted);
  if (pairs.size === 0) return [];
  const scored = text
    .split("\n", MAX_LINES)
    .map((line, index) => ({
      line: index + 1,
      text: line,
      likeness: likeness(pairs, pairsOf(line)),
    }))
    .filter((one) => one.likeness >= LEAST_LIKENESS)
    .sort((a, b) => b.likeness - a.likeness || a.line - b.line);
  return scored.slice(0, count).map(({ line, text: found }) => ({ line, text: found }));
}

/** How many neighbouring characters two lines have in common, of all they have (Dice). */
function likeness(a: ReadonlySet<string>, b: ReadonlySet<string>): number {
  let common = 0;
  for (const pair of a) if (b.has(pair)) common++;
  return b.size === 0 ? 0 : (2 * common) / (a.size + b.size);
}

function pairsOf(line: string): Set<string> {
  const text = line.trim().slice(0, MAX_CHARS);
  const pairs = new Set<string>();
  for (let at = 0; at < text.length - 1; at++) pairs.add(text.slice(at, at + 2));
  if (text.length === 1) pairs.add(text);
  return pairs;
}
