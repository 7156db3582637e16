// What every part of the benchmark hands back, and the few sums they share.

export interface Row {
  readonly name: string;
  readonly value: number;
  readonly unit: string;
  readonly target?: number;
  readonly better: "higher" | "lower";
}

export interface BenchOptions {
  /** Shorter and fewer rounds: for work on the hot path, not for publishing. */
  readonly quick: boolean;
  /** Folder for a CPU profile of the governed server; null = no profile. */
  readonly profileDir: string | null;
  /** Run from the sources even when a bundle could be built. */
  readonly fromSource: boolean;
  /** Another checkout to compare this one with; null = none. */
  readonly base: string | null;
  /** Says what happens; goes to stderr so that the table stays alone on stdout. */
  note(text: string): void;
}

/** A part that cannot run here: shown, and no row is written. */
export class Skipped extends Error {}

export function median(values: readonly number[]): number {
  return percentile(values, 50);
}

/** Nearest rank; NaN when there are no values. */
export function percentile(values: readonly number[], percent: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  const rank = Math.ceil((percent / 100) * sorted.length) - 1;
  return sorted[Math.max(0, rank)] ?? Number.NaN;
}

export function meets({ value, target, better }: Row): boolean | null {
  if (target === undefined) return null;
  return better === "higher" ? value >= target : value <= target;
}

export const pause = (ms: number): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, ms));
