// Which lines two texts have in common, in order. What it costs is bounded: where the shortest difference would take
// too long, unique lines divide the texts first, and what even they do not help with counts as replaced.

/** `length` lines from `a` of the first and `b` of the second on are the same. */
export interface EqualLines {
  readonly a: number;
  readonly b: number;
  readonly length: number;
}

/** Most lines that come and go in one piece that is compared exactly; memory grows with its square. */
const MAX_DIFFERENCE = 1_000;
/** Steps of all exact comparisons together. */
const MAX_STEPS = 10_000_000;
const MAX_DIVISIONS = 64;

interface Piece {
  readonly from: readonly [number, number];
  readonly to: readonly [number, number];
  readonly divisions: number;
}

/** In order, never touching: between two runs at least one side has lines of its own. */
export function commonRuns(a: readonly string[], b: readonly string[]): EqualLines[] {
  const [x, y] = numbered(a, b);
  const budget = { steps: MAX_STEPS };
  const runs: EqualLines[] = [];
  const open: Piece[] = [{ from: [0, 0], to: [a.length, b.length], divisions: 0 }];
  for (let piece = open.pop(); piece; piece = open.pop()) {
    let [i, j] = piece.from;
    let [iEnd, jEnd] = piece.to;
    const start = i;
    while (i < iEnd && j < jEnd && x[i] === y[j]) [i, j] = [i + 1, j + 1];
    add(runs, start, piece.from[1], i - start);
    while (iEnd > i && jEnd > j && x[iEnd - 1] === y[jEnd - 1]) [iEnd, jEnd] = [iEnd - 1, jEnd - 1];
    const same = piece.to[0] - iEnd;
    // The end comes after everything between, which may be several pieces.
    if (same > 0 && (i < iEnd || j < jEnd)) {
      open.push({ from: [iEnd, jEnd], to: piece.to, divisions: MAX_DIVISIONS });
      open.push({ ...piece, from: [i, j], to: [iEnd, jEnd] });
      continue;
    }
    if (i === iEnd || j === jEnd) continue;
    const exact = shortest(x, y, { ...piece, from: [i, j], to: [iEnd, jEnd] }, budget);
    if (exact) for (const run of exact) add(runs, run.a, run.b, run.length);
    else
      for (const part of divided(x, y, { ...piece, from: [i, j], to: [iEnd, jEnd] }).reverse())
        open.push(part);
  }
  return runs;
}

function add(runs: EqualLines[], a: number, b: number, length: number): void {
  if (length === 0) return;
  const last = runs.at(-1);
  if (last && last.a + last.length === a && last.b + last.length === b)
    runs[runs.length - 1] = { ...last, length: last.length + length };
  else runs.push({ a, b, length });
}

/** Equal lines get equal numbers. */
function numbered(a: readonly string[], b: readonly string[]): [Int32Array, Int32Array] {
  const numbers = new Map<string, number>();
  const of = (lines: readonly string[]): Int32Array => {
    const all = new Int32Array(lines.length);
    lines.forEach((line, at) => {
      let number = numbers.get(line);
      if (number === undefined) numbers.set(line, (number = numbers.size));
      all[at] = number;
    });
    return all;
  };
  return [of(a), of(b)];
}

/** Myers' greedy algorithm; null when the difference is larger or the work longer than is allowed. */
function shortest(
  x: Int32Array,
  y: Int32Array,
  { from, to }: Piece,
  budget: { steps: number },
): EqualLines[] | null {
  const [n, m] = [to[0] - from[0], to[1] - from[1]];
  const most = Math.min(n + m, MAX_DIFFERENCE);
  // Furthest reach on each diagonal, and what it was before each round, to find the way back.
  const reach = new Int32Array(2 * most + 3);
  const rounds: Int32Array[] = [];
  const mid = most + 1;
  for (let d = 0; d <= most; d++) {
    rounds.push(reach.slice(mid - d - 1, mid + d + 2));
    for (let k = -d; k <= d; k += 2) {
      const down = k === -d || (k !== d && (reach[mid + k - 1] ?? 0) < (reach[mid + k + 1] ?? 0));
      let i = down ? (reach[mid + k + 1] ?? 0) : (reach[mid + k - 1] ?? 0) + 1;
      let j = i - k;
      const began = i;
      while (i < n && j < m && x[from[0] + i] === y[from[1] + j]) [i, j] = [i + 1, j + 1];
      reach[mid + k] = i;
      budget.steps -= 1 + i - began;
      if (i >= n && j >= m) return wayBack(rounds, d, from, n, m);
    }
    if (budget.steps < 0) return null;
  }
  return null;
}

function wayBack(
  rounds: readonly Int32Array[],
  last: number,
  from: Piece["from"],
  n: number,
  m: number,
): EqualLines[] {
  const runs: EqualLines[] = [];
  let [i, j] = [n, m];
  for (let d = last; d >= 0; d--) {
    const round = rounds[d] as Int32Array;
    const at = (k: number): number => round[k + d + 1] ?? 0;
    const k = i - j;
    const down = k === -d || (k !== d && at(k - 1) < at(k + 1));
    const before = d === 0 ? 0 : down ? at(k + 1) : at(k - 1);
    const start = d === 0 ? 0 : down ? before : before + 1;
    if (i > start) runs.push({ a: from[0] + start, b: from[1] + start - k, length: i - start });
    [i, j] = d === 0 ? [0, 0] : [before, before - (down ? k + 1 : k - 1)];
  }
  return runs.reverse();
}

/**
 * The pieces between lines that occur once on each side and in the same order on both; none when there are no such
 * lines.
 */
function divided(x: Int32Array, y: Int32Array, piece: Piece): Piece[] {
  const { from, to, divisions } = piece;
  if (divisions >= MAX_DIVISIONS) return [];
  const places = new Map<number, { a: number; b: number }>();
  for (let i = from[0]; i < to[0]; i++) {
    const known = places.get(x[i] as number);
    if (known) known.a = -1;
    else places.set(x[i] as number, { a: i, b: -2 });
  }
  for (let j = from[1]; j < to[1]; j++) {
    const known = places.get(y[j] as number);
    if (known) known.b = known.b === -2 ? j : -1;
  }
  const unique = [...places.values()].filter(({ a, b }) => a >= 0 && b >= 0);
  const anchors = longestRising(unique);
  if (anchors.length === 0) return [];
  const pieces: Piece[] = [];
  let begin = from;
  for (const { a, b } of anchors) {
    pieces.push({ from: begin, to: [a, b], divisions: divisions + 1 });
    begin = [a, b];
  }
  return [...pieces, { from: begin, to, divisions: divisions + 1 }];
}

/** Of pairs that rise in `a`, the most that also rise in `b`. */
function longestRising(pairs: readonly { a: number; b: number }[]): { a: number; b: number }[] {
  const tails: number[] = [];
  const before = new Int32Array(pairs.length);
  pairs.forEach(({ b }, at) => {
    let [low, high] = [0, tails.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((pairs[tails[middle] as number]?.b ?? 0) < b) low = middle + 1;
      else high = middle;
    }
    before[at] = low > 0 ? (tails[low - 1] as number) : -1;
    tails[low] = at;
  });
  const chosen: { a: number; b: number }[] = [];
  for (let at = tails.at(-1) ?? -1; at >= 0; at = before[at] as number) {
    const pair = pairs[at];
    if (pair) chosen.push(pair);
  }
  return chosen.reverse();
}
