// Counts and averages from the rollups; only the two broken hours at the ends of a date range are counted from rows.
import { sql, type RawBuilder, type SqlBool } from "kysely";
import type { Database } from "../database.ts";
import { rollupStatus } from "../rollups.ts";
import type { Figures, HistoryFilter, Store, UsageRow } from "../store.ts";
import {
  ALL_TIME,
  DAY_HOURS,
  dayRow,
  HOUR_MS,
  WHOLE_TENANT,
  type RollupsTable,
  type RollupStatus,
} from "../tables.ts";
import { filtered, isOpen } from "./executions.ts";

/** The last instant a Date can hold. */
const LAST_MS = 8.64e15;

interface Sum {
  readonly status: RollupStatus;
  readonly count: number;
  readonly totalMs: number;
}

export async function figures(database: Database, filter: HistoryFilter): Promise<Figures> {
  if (filter.status !== undefined && isOpen(filter.status)) return openFigures(database, filter);
  const { from, to } = filter;
  if (from === undefined && to === undefined)
    return add(await fromRollups(database, filter, ALL_TIME, ALL_TIME));

  const firstHour = from === undefined ? 0 : Math.max(0, Math.ceil(from / HOUR_MS));
  const endHour = Math.floor(((to ?? LAST_MS) + 1) / HOUR_MS);
  if (firstHour >= endHour) return add(await fromRows(database, filter));

  const sums = await fromWholeHours(database, filter, firstHour, endHour);
  const head = { ...filter, to: firstHour * HOUR_MS - 1 };
  if (from !== undefined && from <= head.to) sums.push(...(await fromRows(database, head)));
  const tail = { ...filter, from: endHour * HOUR_MS };
  if (to !== undefined && tail.from <= to) sums.push(...(await fromRows(database, tail)));
  return add(sums);
}

/** Hours up to the first midnight, days, hours after the last one. */
async function fromWholeHours(database: Database, filter: HistoryFilter, firstHour: number, endHour: number): Promise<Sum[]> {
  const firstDay = Math.ceil(firstHour / DAY_HOURS);
  const endDay = Math.floor(endHour / DAY_HOURS);
  if (firstDay >= endDay) return fromRollups(database, filter, firstHour, endHour - 1);
  const parts = await Promise.all([
    fromRollups(database, filter, firstHour, firstDay * DAY_HOURS - 1),
    fromRollups(database, filter, dayRow(endDay - 1), dayRow(firstDay)),
    fromRollups(database, filter, endDay * DAY_HOURS, endHour - 1),
  ]);
  return parts.flat();
} // prettier-ignore

async function fromRollups({ kysely }: Database, filter: HistoryFilter, firstHour: number, lastHour: number): Promise<Sum[]> {
  if (firstHour > lastHour) return [];
  const { toolName, category, status } = filter;
  let query = kysely
    .selectFrom("rollups")
    .select((of) => ["status", of.fn.sum("count").as("count"), of.fn.sum("total_ms").as("totalMs")])
    .where("tenant_id", "=", filter.tenantId)
    .where(usersOf(filter, firstHour))
    .where("hour", ">=", firstHour)
    .where("hour", "<=", lastHour);
  if (toolName !== undefined) query = query.where("tool_name", "=", toolName);
  if (category !== undefined) query = query.where("category", "=", category);
  if (status !== undefined) query = query.where("status", "in", rollupStatuses(status));
  const rows = await query.groupBy("status").execute();
  // PostgreSQL sums integers into a numeric, which arrives as text.
  return rows.map((r) => ({ status: r.status, count: Number(r.count), totalMs: Number(r.totalMs) }));
} // prettier-ignore

/** Only the sum of all time is kept for the whole tenant; the rest adds up its users, each found by a step in the key. */
function usersOf({ tenantId, userId }: HistoryFilter, hour: number): RawBuilder<SqlBool> {
  if (userId !== undefined) return sql`user_id = ${userId}`;
  if (hour === ALL_TIME) return sql`user_id = ${WHOLE_TENANT}`;
  const after = (name: RawBuilder<unknown>) =>
    sql`(select min(user_id) from rollups where tenant_id = ${tenantId} and user_id > ${name})`;
  return sql`user_id in (with recursive found (name) as (
    select ${after(sql.lit(WHOLE_TENANT))} union all
    select ${after(sql`found.name`)} from found where found.name is not null
  ) select name from found where name is not null)`;
}

async function fromRows({ kysely }: Database, filter: HistoryFilter): Promise<Sum[]> {
  const query = kysely
    .selectFrom("executions")
    .select((of) => ["status", "cancel_reason", of.fn.countAll().as("count"), of.fn.sum("duration_ms").as("totalMs")]); // prettier-ignore
  const rows = await filtered(query, filter)
    .where("end_seq", "is not", null)
    .groupBy(["status", "cancel_reason"])
    .execute();
  return rows.map((r) => ({
    status: rollupStatus(r.status as "success", r.cancel_reason),
    count: Number(r.count),
    totalMs: Number(r.totalMs),
  }));
}

/** Nothing has finished, so only the total says something. */
async function openFigures({ kysely }: Database, filter: HistoryFilter): Promise<Figures> {
  const query = kysely.selectFrom("executions").select((of) => of.fn.countAll().as("count"));
  const row = await filtered(query, filter).executeTakeFirst();
  return { ...add([]), total: Number(row?.count ?? 0) };
}

function rollupStatuses(status: string): RollupStatus[] {
  return status === "cancelled" ? ["cancelled", "timeout"] : [status as RollupStatus];
}

function add(sums: readonly Sum[]): Figures {
  const counts = { success: 0, failed: 0, cancelled: 0, timeout: 0 };
  let totalMs = 0;
  for (const sum of sums) {
    counts[sum.status] += sum.count;
    totalMs += sum.totalMs;
  }
  const { success, failed, timeout } = counts;
  const cancelled = counts.cancelled + timeout;
  const total = success + failed + cancelled;
  const averageExecutionTime = total === 0 ? 0 : Math.round((totalMs / total) * 100) / 100;
  return { total, success, failed, cancelled, timeout, averageExecutionTime };
}

export async function usage(
  { kysely }: Database,
  filter: Parameters<Store["executions"]["usage"]>[0],
): Promise<UsageRow[]> {
  let query = kysely
    .selectFrom("rollups")
    .select(["tool_name", "category", "status", "count", "total_ms", "last_start_ms"])
    .where("tenant_id", "=", filter.tenantId)
    .where("user_id", "=", filter.userId ?? WHOLE_TENANT)
    .where("hour", "=", ALL_TIME);
  if (filter.toolName !== undefined) query = query.where("tool_name", "=", filter.toolName);
  const rows = await query.execute();
  type Row = (typeof rows)[number] & Partial<RollupsTable>;
  const byTool = Map.groupBy<string, Row>(rows, (row) => `${row.tool_name}\0${row.category}`);
  const list = [...byTool.values()].map((of): UsageRow => {
    const { tool_name: toolName = "", category = "" } = of[0] ?? {};
    return {
      ...add(of.map((r) => ({ status: r.status, count: r.count, totalMs: r.total_ms }))),
      toolName,
      category,
      lastStart: Math.max(...of.map((r) => r.last_start_ms)),
    };
  });
  return list.sort((a, b) => b.total - a.total || (a.toolName < b.toolName ? -1 : 1));
}
