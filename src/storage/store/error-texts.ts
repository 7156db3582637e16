// Calls fail over and over with the same text. Executions refer to an event that ended alike, so that a search for a
// text in errors reads each text once.
import type { EndedExecution } from "./execution-fields.ts";

/** Longer ones are not kept in memory; their executions refer to their own end. */
export const MAX_ERROR_TEXT = 500;
const MAX_TEXTS = 1_000;
/** An event is not referred to for longer, or it would be archived long before those that refer to it. */
const REACH = 1_048_576;

export interface ErrorTextIndex {
  /** Number of an event that ended with the same status and text; null when the end was a success. */
  seqOf(end: EndedExecution): number | null;
  /** Events numbered above `after` got other numbers when they were written: higher by `by`. */
  renumber(after: number, by: number): void;
  /** The events of a transaction that failed do not exist: others will get their numbers. */
  clear(): void;
}

export function createErrorTextIndex(): ErrorTextIndex {
  const seqs = new Map<string, number>();
  return {
    seqOf(end) {
      if (end.status === "success") return null;
      if (end.errorText === null) return end.seq;
      const key = `${end.tenantId}\0${end.status}\0${end.cancelReason}\0${end.errorCode}\0${end.errorText}`;
      const earlier = seqs.get(key);
      if (earlier !== undefined && end.seq - earlier < REACH) return earlier;
      if (seqs.size >= MAX_TEXTS) seqs.clear();
      seqs.set(key, end.seq);
      return end.seq;
    },
    renumber(after, by) {
      if (by === 0) return;
      for (const [key, seq] of seqs) if (seq > after) seqs.set(key, seq + by);
    },
    clear: () => seqs.clear(),
  };
}
