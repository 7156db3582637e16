import type { Caller, Status } from "../call.ts";
import type { ExecutionRecord, Figures, UsageRow } from "../store/store.ts";

export interface HistoryQuery {
  readonly toolName?: string;
  readonly category?: string;
  readonly status?: Status;
  readonly from?: number;
  readonly to?: number;
  readonly limit: number;
  readonly offset?: number;
  /** Opaque cursor from an earlier page; BAD_REQUEST when it is not one of ours. */
  readonly after?: string;
}

/** What was recorded, each caller's own rows only. */
export interface History {
  /** Finished or running, own only; null for unknown and foreign ids alike. */
  get(caller: Caller, executionId: string): Promise<ExecutionRecord | null>;
  list(caller: Caller, query: HistoryQuery): Promise<{ executions: ExecutionRecord[]; totalCount: number; stats: Figures; next: string | null }>;
  /** The caller's own use per tool, all time. */
  usage(caller: Caller, toolName?: string): Promise<UsageRow[]>;
  /** The tenant's use per tool, all time (R189). */
  toolUsage(caller: Caller, toolName?: string): Promise<UsageRow[]>;
} // prettier-ignore
