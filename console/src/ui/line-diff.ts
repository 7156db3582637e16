// A difference of two texts by lines, as people read it. Myers' algorithm in its simple form, bounded.
export interface DiffLine {
  readonly kind: "same" | "added" | "removed";
  readonly text: string;
}

/** Beyond this many differing lines both texts are shown whole. */
const MAX_EDITS = 500;

export function lineDiff(before: string, after: string): DiffLine[] {
  const a = before === "" ? [] : before.split("\n");
  const b = after === "" ? [] : after.split("\n");
  const steps = shortestEdit(a, b);
  if (steps === null)
    return [
      ...a.map((text): DiffLine => ({ kind: "removed", text })),
      ...b.map((text): DiffLine => ({ kind: "added", text })),
    ];
  return backtrack(a, b, steps);
}

/** The furthest points reached with each number of edits; null when there are too many. */
function shortestEdit(a: readonly string[], b: readonly string[]): Map<number, number>[] | null {
  const furthest = new Map<number, number>([[1, 0]]);
  const trace: Map<number, number>[] = [];
  for (let edits = 0; edits <= Math.min(a.length + b.length, MAX_EDITS); edits += 1) {
    trace.push(new Map(furthest));
    for (let k = -edits; k <= edits; k += 2) {
      const down = k === -edits || (k !== edits && at(furthest, k - 1) < at(furthest, k + 1));
      let x = down ? at(furthest, k + 1) : at(furthest, k - 1) + 1;
      let y = x - k;
      while (x < a.length && y < b.length && a[x] === b[y]) {
        x += 1;
        y += 1;
      }
      furthest.set(k, x);
      if (x >= a.length && y >= b.length) return trace;
    }
  }
  return null;
}

const at = (furthest: ReadonlyMap<number, number>, k: number): number => furthest.get(k) ?? -1;

function backtrack(
  a: readonly string[],
  b: readonly string[],
  trace: readonly ReadonlyMap<number, number>[],
): DiffLine[] {
  const lines: DiffLine[] = [];
  let x = a.length;
  let y = b.length;
  for (let edits = trace.length - 1; edits >= 0; edits -= 1) {
    const furthest = trace[edits] ?? new Map<number, number>();
    const k = x - y;
    const down = k === -edits || (k !== edits && at(furthest, k - 1) < at(furthest, k + 1));
    const previousK = down ? k + 1 : k - 1;
    const previousX = at(furthest, previousK);
    const previousY = previousX - previousK;
    while (x > previousX && y > previousY && x > 0 && y > 0) {
      x -= 1;
      y -= 1;
      lines.push({ kind: "same", text: a[x] ?? "" });
    }
    if (edits === 0) break;
    if (down) lines.push({ kind: "added", text: b[previousY] ?? "" });
    else lines.push({ kind: "removed", text: a[previousX] ?? "" });
    x = previousX;
    y = previousY;
  }
  return lines.reverse();
}
