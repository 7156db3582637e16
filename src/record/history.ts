// What was recorded, each caller's own rows only.
import type { Caller, Status } from "../call.ts";
import { AppError } from "../errors.ts";
import type {
  AuditedRecord,
  ExecutionRecord,
  Figures,
  HistoryFilter,
  Store,
  UsageRow,
} from "../store/store.ts";
import type { Recent } from "./recent.ts";

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

export interface HistoryResult {
  readonly executions: ExecutionRecord[];
  readonly totalCount: number;
  readonly stats: Figures;
  readonly next: string | null;
}

export type { AuditedRecord };

export interface History {
  /** Own only; null for unknown and foreign ids alike. */
  get(caller: Caller, executionId: string): Promise<ExecutionRecord | null>;
  /** For administrators: anybody's of the tenant, with what the owner is not told. Null for everybody else. */
  audited(caller: Caller, executionId: string): Promise<AuditedRecord | null>;
  list(caller: Caller, query: HistoryQuery): Promise<HistoryResult>;
  /** The caller's own use per tool, all time. */
  usage(caller: Caller, toolName?: string): Promise<UsageRow[]>;
  /** The tenant's use per tool, all time (R189). */
  toolUsage(caller: Caller, toolName?: string): Promise<UsageRow[]>;
}

export function createHistory(executions: Store["executions"], recent: Recent): History {
  const own = (caller: Caller, row: AuditedRecord | null): ExecutionRecord | null =>
    row?.userId === caller.userId && row.tenantId === caller.tenantId ? shown(row) : null;
  return {
    get: async (caller, id) => own(caller, recent.get(id) ?? (await executions.get(id))),
    async audited(caller, id) {
      const row = caller.role === "admin" ? await executions.get(id) : null;
      return row?.tenantId === caller.tenantId ? row : null;
    },
    async list(caller, { limit, offset, after, ...query }) {
      const filter: HistoryFilter = { tenantId: caller.tenantId, userId: caller.userId, ...query };
      const cursor = after === undefined ? undefined : cursorFrom(after);
      const page = {
        limit,
        ...(offset === undefined ? {} : { offset }),
        ...(cursor ? { after: cursor } : {}),
      };
      const [rows, stats] = await Promise.all([
        executions.list(filter, page),
        executions.figures(filter),
      ]);
      const last = rows.length === limit ? rows.at(-1) : undefined;
      return {
        executions: rows.map(shown),
        totalCount: stats.total,
        stats,
        next: last ? cursorOf(last) : null,
      };
    },
    usage: (caller, toolName) =>
      executions.usage({ tenantId: caller.tenantId, userId: caller.userId, ...(toolName === undefined ? {} : { toolName }) }), // prettier-ignore
    toolUsage: (caller, toolName) =>
      executions.usage({
        tenantId: caller.tenantId,
        ...(toolName === undefined ? {} : { toolName }),
      }),
  };
}

/** Without what only administrators may read. */
function shown({ audit: _audit, ...row }: AuditedRecord): ExecutionRecord {
  return row;
}

const cursorOf = (row: ExecutionRecord): string =>
  Buffer.from(`${row.startTime}.${row.id}`).toString("base64url");

function cursorFrom(text: string): { startTime: number; id: string } {
  const match = /^(\d{1,15})\.(exec_[0-9a-z_]{1,64})$/.exec(
    Buffer.from(text, "base64url").toString("latin1"),
  );
  if (match?.[1] === undefined || match[2] === undefined) {
    throw new AppError("BAD_REQUEST", "invalid_input", "after: not a cursor of this list", {
      remedy: "use the `next` of the page before, or leave it out",
      errors: [{ path: "/after", message: "not a cursor of this list" }],
    });
  }
  return { startTime: Number(match[1]), id: match[2] };
}
