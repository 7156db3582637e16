// What the ledger keeps beside the events themselves.
import type { LogEvent } from "../store.ts";

/** An event with its place. The last four are null in events that are older than the chain. */
export interface LedgerRow extends LogEvent {
  readonly seq: number;
  readonly instanceId: string | null;
  readonly n: number | null;
  readonly prevHash: string | null;
  readonly hash: string | null;
}

export interface ChainHead {
  readonly tenantId: string;
  readonly instanceId: string;
  readonly n: number;
  readonly seq: number;
  readonly hash: string;
}

/** A signed statement of where chains stood, as a line of text that is never changed. */
export interface CheckpointRow {
  readonly instanceId: string;
  /** From 1, without gaps, per server. */
  readonly n: number;
  /** Newest event of the log that it knew of. */
  readonly seq: number;
  readonly at: number;
  readonly line: string;
}

/** A stretch of the log that lies in a file. */
export interface SegmentRow {
  readonly fromSeq: number;
  readonly toSeq: number;
  readonly at: number;
  readonly file: string;
  /** Signed: where each chain stood at its end. */
  readonly manifest: string;
}

export interface HistoryQuestion {
  /** One tenant's alone; null: everything. */
  readonly tenantId: string | null;
  /** What came into the log later is not compared. */
  readonly through: number;
}

/** Whether history, and the sums made of it, say what the log says. */
export interface HistoryAgreement {
  readonly agrees: boolean;
  /** Executions in history. */
  readonly checked: number;
  /** In the log, not in history; in history, not in the log; in both, but not alike. */
  readonly missing: number;
  readonly extra: number;
  readonly different: number;
  /** Sums that are not those of their executions. */
  readonly sums: number;
  /** The first 20 executions that do not agree. */
  readonly ids: readonly string[];
}
