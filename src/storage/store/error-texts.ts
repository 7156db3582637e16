// Calls fail over and over in the same words. Executions refer to an event that ended alike, so that whoever looks for a text
// in errors reads each wording once.
import type { Ended } from "./projection.ts";

/** Longer ones are not kept in memory; their executions refer to their own end. */
export const MAX_SAID = 500;
const MAX_KEPT = 1_000;
/** An event is not referred to for longer, lest it be archived long before those that refer to it. */
const REACH = 1_048_576;

export interface Sayings {
  /** Number of an event that ended with the same status and in the same words; null when the end was a success. */
  seqOf(end: Ended): number | null;
  /** Those numbered above `after` got other numbers when they were written: so much higher. */
  moved(after: number, by: number): void;
  /** The events of a transaction that failed are not there: their numbers will be others'. */
  forget(): void;
}

export function sayings(): Sayings {
  const kept = new Map<string, number>();
  return {
    seqOf(end) {
      if (end.status === "success") return null;
      if (end.said === null) return end.seq;
      const words = `${end.tenantId}\0${end.status}\0${end.cancelReason}\0${end.errorCode}\0${end.said}`;
      const earlier = kept.get(words);
      if (earlier !== undefined && end.seq - earlier < REACH) return earlier;
      if (kept.size >= MAX_KEPT) kept.clear();
      kept.set(words, end.seq);
      return end.seq;
    },
    moved(after, by) {
      if (by === 0) return;
      for (const [words, seq] of kept) if (seq > after) kept.set(words, seq + by);
    },
    forget: () => kept.clear(),
  };
}
