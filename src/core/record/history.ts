// What was recorded: each caller's own rows; to administrators those of their tenant.
import type { Caller, Status } from "../../contract/call.ts";
import { AppError } from "../../contract/errors.ts";
import type {
  AuditedRecord,
  ExecutionRecord,
  Figures,
  HistoryFilter,
  HistoryPage,
  Percentiles,
  RowKey,
  Stats,
  Store,
  UsageRow,
} from "../../storage/store/store.ts";
import { createRebuilds, type RebuildPowers, type Rebuilds } from "./rebuild.ts";
import type { Recent } from "./recent.ts";
import { seriesOf, type SeriesAnswer, type SeriesQuery } from "./series.ts";
import type { WholeResult } from "./whole.ts";

/** What a page is read in first: how large they are is not known before. */
const FIRST_ROWS = 20;
const PAGE_BYTES = 4_194_304;

/** Instead of a user: everybody of the tenant. */
export const EVERYBODY = "*";

export interface StatsQuery {
  /** Whose, for administrators; absent: the caller's own. */
  readonly userId?: string;
  readonly toolName?: string;
  readonly category?: string;
  readonly status?: Status;
  readonly sessionId?: string;
  readonly errorCode?: string;
  readonly from?: number;
  readonly to?: number;
}

export interface HistoryQuery extends StatsQuery {
  readonly traceId?: string;
  readonly errorText?: string;
  readonly limit: number;
  readonly offset?: number;
  /** Opaque cursor from an earlier page; BAD_REQUEST when it is not one of ours. */
  readonly after?: string;
}

export interface HistoryResult {
  readonly executions: ExecutionRecord[];
  readonly totalCount: number;
  readonly stats: Figures;
  readonly durations: Percentiles | null;
  /** Set where rows had to be looked at one by one: the figures are of those. */
  readonly search: { readonly searched: number; readonly of: number } | null;
  readonly next: string | null;
}

export type { AuditedRecord };

export type ExecutionProgress = Pick<
  ExecutionRecord,
  "status" | "endTime" | "executionTime" | "error" | "errorCode" | "errorReason"
>;

export interface History {
  /** Own only; null for unknown and foreign ids alike. For whoever acts on it: follows, cancels, comes back. */
  get(caller: Caller, executionId: string): Promise<ExecutionRecord | null>;
  /** For whoever only reads: own, and to administrators anybody's of the tenant. */
  read(caller: Caller, executionId: string): Promise<ExecutionRecord | null>;
  /** For administrators: anybody's of the tenant, with what the owner is not told. Null for everybody else. */
  audited(caller: Caller, executionId: string): Promise<AuditedRecord | null>;
  /**
   * How any call of the caller's tenant goes, without what it was given and what it answered: for those who may see the
   * approval that it waited for.
   */
  progress(caller: Caller, executionId: string): Promise<ExecutionProgress | null>;
  list(caller: Caller, query: HistoryQuery): Promise<HistoryResult>;
  /** Figures, percentiles and breakdowns; per user when everybody is meant. */
  stats(caller: Caller, query: StatsQuery): Promise<Stats>;
  /** The same by the time at which executions began, with how long people took to decide. */
  series(caller: Caller, query: SeriesQuery): Promise<SeriesAnswer>;
  readonly rebuilds: Rebuilds;
  /** The caller's own use per tool, all time. */
  usage(caller: Caller, toolName?: string): Promise<UsageRow[]>;
  /** The tenant's use per tool since the hour of a moment began. */
  toolsSince(caller: Caller, from: number): ReturnType<Store["executions"]["toolsSince"]>;
  /** The tenant's use per tool, all time. */
  toolUsage(caller: Caller, toolName?: string): Promise<UsageRow[]>;
}

export function createHistory(
  executions: Store["executions"],
  recent: Recent,
  powers: Omit<RebuildPowers, "rebuild"> & {
    readonly whole: WholeResult;
    readonly approvals: Pick<Store["approvals"], "waits">;
  },
): History {
  const found = async (id: string): Promise<AuditedRecord | null> =>
    recent.get(id) ?? (await executions.get(id));
  const whenHeld = async (row: AuditedRecord | null, holds: boolean) =>
    row && holds ? shown(await powers.whole(row)) : null;
  return {
    async get(caller, id) {
      const row = await found(id);
      return whenHeld(row, isOwn(caller, row));
    },
    async read(caller, id) {
      const row = await found(id);
      const administers = caller.role === "admin" && row?.tenantId === caller.tenantId;
      return whenHeld(row, administers || isOwn(caller, row));
    },
    async audited(caller, id) {
      const row = caller.role === "admin" ? await executions.get(id) : null;
      return row?.tenantId === caller.tenantId ? row : null;
    },
    async progress(caller, id) {
      const row = recent.get(id) ?? (await executions.get(id));
      if (row?.tenantId !== caller.tenantId) return null;
      const { status, endTime, executionTime, error, errorCode, errorReason } = row;
      return { status, endTime, executionTime, error, errorCode, errorReason };
    },
    async list(caller, { limit, offset, after, userId: whose, traceId, errorText, ...query }) {
      const user = userOf(caller, whose);
      const cursor = after === undefined ? undefined : cursorFrom(after);
      const page = {
        limit,
        ...(offset === undefined ? {} : { offset }),
        ...(cursor ? { after: cursor } : {}),
      };
      const filter = { ...query, tenantId: caller.tenantId, ...user };
      if (traceId !== undefined || errorText !== undefined) {
        const wanted = {
          ...(traceId === undefined ? {} : { traceId }),
          ...(errorText === undefined ? {} : { errorText }),
        };
        return foundBy(executions, { ...filter, ...wanted, userId: oneUser(user) }, page);
      }
      // In order of arrival there is nothing to find a few among all of them by.
      if (Object.keys(query).length > 0) oneUser(user);
      const [{ rows, isFull }, { figures, durations }] = await Promise.all([
        listed(executions, filter, page),
        executions.stats(filter),
      ]);
      const last = isFull ? rows.at(-1) : undefined;
      return {
        executions: rows.map(shown),
        totalCount: figures.total,
        stats: figures,
        durations,
        search: null,
        next: last ? cursorOf(last) : null,
      };
    },
    async stats(caller, { userId: whose, ...query }) {
      const user = userOf(caller, whose);
      const filter: HistoryFilter = { ...query, tenantId: caller.tenantId, ...user };
      return executions.stats(filter, { perUser: user.userId === undefined });
    },
    series: (caller, { userId, ...query }) =>
      seriesOf(
        { ...query, tenantId: caller.tenantId, ...userOf(caller, userId) },
        executions,
        powers,
      ),
    rebuilds: createRebuilds({ ...powers, rebuild: executions.rebuild }),
    usage: (caller, toolName) =>
      executions.usage({
        tenantId: caller.tenantId,
        userId: caller.userId,
        ...(toolName === undefined ? {} : { toolName }),
      }),
    toolsSince: ({ tenantId }, from) => executions.toolsSince({ tenantId }, from),
    toolUsage: (caller, toolName) =>
      executions.usage({
        tenantId: caller.tenantId,
        ...(toolName === undefined ? {} : { toolName }),
      }),
  };
}

/** Whoever is no administrator gets their own, or is told so. */
export function userOf(caller: Caller, whose: string | undefined): { readonly userId?: string } {
  if (whose === undefined || whose === caller.userId) return { userId: caller.userId };
  if (caller.role === "admin") return whose === EVERYBODY ? {} : { userId: whose };
  throw new AppError("FORBIDDEN", "admin_only", "Only administrators see what others ran", {
    remedy: "leave userId out to see your own",
  });
}

function oneUser({ userId }: { readonly userId?: string }): string {
  if (userId !== undefined) return userId;
  throw badField(
    "/userId",
    "everybody's executions are listed without further filters",
    "name one user, or ask for the figures: GET /api/v1/history/stats",
  );
}

/** Rows of a page until it has as many as were asked for, or is large. */
async function listed(
  executions: Store["executions"],
  filter: HistoryFilter,
  { limit, offset, after }: HistoryPage,
): Promise<{ rows: AuditedRecord[]; isFull: boolean }> {
  const rows: AuditedRecord[] = [];
  let size = 0;
  let step = Math.min(limit, FIRST_ROWS);
  while (rows.length < limit && size < PAGE_BYTES) {
    const last = rows.at(-1);
    const from = last
      ? { after: last }
      : { ...(offset !== undefined && { offset }), ...(after && { after }) };
    const next = await executions.list(filter, { limit: step, ...from });
    rows.push(...next);
    if (next.length < step) return { rows, isFull: false };
    size += next.reduce((sum, row) => sum + sizeOf(row), 0);
    const fits = Math.floor(((PAGE_BYTES - size) * rows.length) / Math.max(1, size));
    step = Math.min(limit - rows.length, Math.max(1, fits));
  }
  return { rows, isFull: true };
}

/** About as many bytes as it is told with. */
const sizeOf = ({ arguments: args, result }: ExecutionRecord): number =>
  500 + JSON.stringify(args).length + JSON.stringify(result).length;

const isOwn = (caller: Caller, row: AuditedRecord | null): boolean =>
  row?.userId === caller.userId && row.tenantId === caller.tenantId;

async function foundBy(
  executions: Store["executions"],
  filter: Parameters<Store["executions"]["search"]>[0],
  page: HistoryPage,
): Promise<HistoryResult> {
  const {
    rows: all,
    figures,
    durations,
    searched,
    of,
    next: after,
  } = await executions.search(filter, page);
  const rows = firstOf(all);
  const next = rows.length < all.length ? (rows.at(-1) ?? null) : after;
  return {
    executions: rows.map(shown),
    totalCount: figures.total,
    stats: figures,
    durations,
    search: { searched, of },
    next: next && cursorOf(next),
  };
}

function firstOf(rows: readonly AuditedRecord[]): readonly AuditedRecord[] {
  let size = 0;
  const end = rows.findIndex((row) => (size += sizeOf(row)) > PAGE_BYTES);
  return end < 0 ? rows : rows.slice(0, Math.max(1, end));
}

/** Without what only administrators may read. */
function shown({ audit: _audit, ...row }: AuditedRecord): ExecutionRecord {
  return row;
}

const cursorOf = (row: RowKey): string =>
  Buffer.from(`${row.startTime}.${row.id}`).toString("base64url");

function cursorFrom(text: string): { startTime: number; id: string } {
  const match = /^(\d{1,15})\.(exec_[0-9a-z_]{1,64})$/.exec(
    Buffer.from(text, "base64url").toString("latin1"),
  );
  if (match?.[1] === undefined || match[2] === undefined) {
    throw badField(
      "/after",
      "not a cursor of this list",
      "use the `next` of the page before, or leave it out",
    );
  }
  return { startTime: Number(match[1]), id: match[2] };
}

function badField(path: string, message: string, remedy: string): AppError {
  return new AppError("BAD_REQUEST", "invalid_input", `${path.slice(1)}: ${message}`, {
    remedy,
    errors: [{ path, message }],
  });
}
