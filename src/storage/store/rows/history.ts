// What history is asked and answers.
import type { CancelReason, Json, JsonObject, Status } from "../../../contract/call.ts";
import type { Percentiles } from "../buckets.ts";
import type { StartBody } from "../store.ts";

export type { Percentiles };

/** Of what the record kept only the beginning of. */
export interface Cut {
  /** Bytes of the whole as JSON. */
  readonly size: number;
  /** SHA-256 of the whole as canonical JSON (RFC 8785), in hexadecimal digits. */
  readonly sha256: string;
}

export interface ResultRow {
  readonly executionId: string;
  readonly tenantId: string;
  readonly userId: string;
  readonly at: number;
  readonly body: string;
}

/** Bytes of kept results at most. */
export interface ResultRoom {
  readonly perUser: number;
  readonly total: number;
}

export interface ExecutionRecord extends Omit<StartBody, "gates"> {
  /** Verdicts in the order of the stages. */
  readonly gates: readonly Json[];
  readonly id: string;
  readonly endTime: number | null;
  readonly executionTime: number | null;
  readonly result: Json;
  readonly resultCut: Cut | null;
  readonly error: string | null;
  readonly errorCode: string | null;
  readonly errorReason: string | null;
  readonly remedy: string | null;
  readonly cancelReason: CancelReason | null;
  readonly resultMetadata: JsonObject | null;
}

/** `audit`: what really happened to a call whose tool is hidden from its caller. For administrators. */
export interface AuditedRecord extends ExecutionRecord {
  readonly audit?: { readonly toolName: string | null; readonly gates: readonly Json[] };
}

export interface HistoryFilter {
  readonly tenantId: string;
  /** Absent: all of the tenant; lists are then in order of arrival. */
  readonly userId?: string;
  readonly toolName?: string;
  readonly category?: string;
  readonly status?: Status;
  readonly sessionId?: string;
  readonly errorCode?: string;
  /** Inclusive, epoch ms, on the start time. */
  readonly from?: number;
  readonly to?: number;
}

/** With what no index answers alone: rows are looked at one by one, newest first, and not without end. */
export interface SearchFilter extends HistoryFilter {
  readonly traceId?: string;
  /** Part of message, code or reason of an error, in any case of letters. */
  readonly errorText?: string;
}

export interface HistoryPage {
  readonly limit: number;
  readonly offset?: number;
  /** Keyset: rows that come after this execution, newest first. */
  readonly after?: RowKey;
}

export interface RowKey {
  readonly startTime: number;
  readonly id: string;
}

export interface FoundRecords {
  readonly rows: AuditedRecord[];
  /** Where the next page begins; null when everything was looked at. */
  readonly next: RowKey | null;
  /** Of all that matched among those looked at. */
  readonly figures: Figures;
  readonly durations: Percentiles | null;
  /** How many executions were searched, of how many there are. */
  readonly searched: number;
  readonly of: number;
}

/** Finished executions counted by rollups, never by a scan. Denied calls count as failed. */
export interface Figures {
  readonly total: number;
  readonly success: number;
  readonly failed: number;
  /** All cancelled ones, timeouts included. */
  readonly cancelled: number;
  readonly timeout: number;
  /** ms; 0 when nothing has finished. */
  readonly averageExecutionTime: number;
}

/** Figures of a part of what a filter lets through. */
export interface PartFigures extends Figures {
  readonly name: string;
  readonly lastStart: number;
}

export interface Stats {
  readonly figures: Figures;
  /** ms, at most 5 % off; null when nothing has finished. Executions of releases without buckets are not in it. */
  readonly durations: Percentiles | null;
  /** Each by falling total, then by name. */
  readonly tools: readonly PartFigures[];
  readonly categories: readonly PartFigures[];
  /** Empty unless asked for. */
  readonly users: readonly PartFigures[];
}

export const SERIES_UNITS = ["minute", "hour", "day"] as const;
export type SeriesUnit = (typeof SERIES_UNITS)[number];

/** What finished in a range of time. Both ends inclusive, epoch ms, on the start time. */
export interface SeriesFilter extends Pick<
  HistoryFilter,
  "tenantId" | "userId" | "toolName" | "category"
> {
  readonly from: number;
  readonly to: number;
}

export interface SeriesPart {
  readonly figures: Figures;
  readonly durations: Percentiles | null;
}

export interface Series {
  /** Those in which something finished, oldest first, by where they begin (epoch ms, UTC). */
  readonly buckets: readonly (SeriesPart & { readonly at: number })[];
  readonly total: SeriesPart;
  /** Minutes are counted from rows, and not without end: nothing is counted before this moment. */
  readonly countedFrom: number;
}

/** How often executions ended with each code, by falling number. */
export interface ErrorCounts {
  readonly codes: readonly { readonly code: string; readonly count: number }[];
  /** Some were so many that they were not counted to their end. */
  readonly isCut: boolean;
}

export interface UsageRow extends Figures {
  readonly toolName: string;
  readonly category: string;
  readonly lastStart: number | null;
}

export interface RebuildProgress {
  /** Events read, and how far the log goes. */
  readonly events: number;
  readonly seq: number;
  readonly head: number;
}

export interface ExecutionStore {
  get(id: string): Promise<AuditedRecord | null>;
  /** Newest first. */
  list(filter: HistoryFilter, page: HistoryPage): Promise<AuditedRecord[]>;
  search(filter: SearchFilter, page: HistoryPage): Promise<FoundRecords>;
  figures(filter: HistoryFilter): Promise<Figures>;
  stats(filter: HistoryFilter, options?: { perUser?: boolean }): Promise<Stats>;
  /** Hours and days are read from the rollups, whole ones; minutes from rows, the newest ones. */
  series(filter: SeriesFilter, unit: SeriesUnit): Promise<Series>;
  errorCounts(filter: SeriesFilter): Promise<ErrorCounts>;
  /** Per tool, what started in the hour of `from` or later. */
  toolsSince(
    filter: Pick<HistoryFilter, "tenantId" | "userId">,
    from: number,
  ): Promise<(SeriesPart & { readonly name: string })[]>;
  /** Per tool, of one user or (userId absent) of the tenant; all time. */
  usage(filter: { tenantId: string; userId?: string; toolName?: string }): Promise<UsageRow[]>;
  /**
   * Running or pending rows of an instance, or of any instance when started before `startedBefore`. Not those that
   * wait for a person: they have no process that could have died.
   */
  open(filter: { instanceId: string } | { startedBefore: number }): Promise<ExecutionRecord[]>;
  /**
   * Makes executions and rollups anew from the log alone, beside the old ones, and puts them in their place in one
   * step. Calls go on meanwhile. Budgets are not touched. Throws `RebuildUnderWay` when one is under way.
   */
  rebuild(onProgress: (progress: RebuildProgress) => void): Promise<RebuildProgress>;
  /** Drops executions that began before an event, as their events are archived. What was counted stays counted. */
  forgetBefore(seq: number): Promise<number>;
}

export class RebuildUnderWay extends Error {}
