// Counts, averages and percentiles from the rollups; only what they do not distinguish, and the two broken hours at
// the ends of a date range, is counted from rows.
import { setImmediate as turn } from "node:timers/promises";
import { sql, type RawBuilder, type SqlBool } from "kysely";
import { bucketOf, count, unpack } from "../buckets.ts";
import type { Database } from "../database.ts";
import type { ExecutionsTable } from "../execution-fields.ts";
import { rollupStatus } from "../rollups.ts";
import type { Figures, HistoryFilter, Stats, Store, UsageRow } from "../store.ts";
import {
  ALL_TIME,
  DAY_HOURS,
  dayRow,
  HOUR_MS,
  WHOLE_TENANT,
  type RollupsTable,
  type RollupStatus,
} from "../tables/tables.ts";
import { arraysOf, GATHER, listIn, type Arrays } from "./arrays.ts";
import { filtered, isOpen } from "./executions.ts";
import { ENDED, hasIndex } from "./pages.ts";
import { figuresOf, tallyParts, type Parts } from "./parts.ts";

/** The last instant a Date can hold. */
const LAST_MS = 8.64e15;
/** Rows that are counted at once; then others have their turn. */
const STRETCH = 10_000;

export interface StatsOptions {
  readonly perUser?: boolean;
}

export async function stats(
  database: Database,
  filter: HistoryFilter,
  { perUser = false }: StatsOptions = {},
): Promise<Stats> {
  const parts = tallyParts(perUser);
  if (filter.status !== undefined && isOpen(filter.status)) {
    // Nothing has finished, so only the total says something.
    const total = await countOpen(database, filter);
    return { ...parts.stats(), figures: { ...figuresOf([]), total } };
  }
  const { from, to } = filter;
  if (filter.sessionId !== undefined || filter.errorCode !== undefined) {
    await fromRows(database, filter, parts);
    return parts.stats();
  }
  if (from === undefined && to === undefined) {
    const whose = perUser ? usersOf(filter) : userOrTenant(filter);
    await fromRollups(database, filter, whose, [[ALL_TIME, ALL_TIME]], parts);
    return parts.stats();
  }
  const firstHour = from === undefined ? 0 : Math.max(0, Math.ceil(from / HOUR_MS));
  const endHour = Math.floor(((to ?? LAST_MS) + 1) / HOUR_MS);
  if (firstHour >= endHour) {
    await fromRows(database, filter, parts);
    return parts.stats();
  }
  await fromRollups(database, filter, usersOf(filter), wholeHours(firstHour, endHour), parts);
  const head = { ...filter, to: firstHour * HOUR_MS - 1 };
  if (from !== undefined && from <= head.to) await fromRows(database, head, parts);
  const tail = { ...filter, from: endHour * HOUR_MS };
  if (to !== undefined && tail.from <= to) await fromRows(database, tail, parts);
  return parts.stats();
}

export const figures = async (database: Database, filter: HistoryFilter): Promise<Figures> =>
  (await stats(database, filter)).figures;

/** Hours up to the first midnight, days, hours after the last one; each range with both its ends. */
export function wholeHours(firstHour: number, endHour: number): [number, number][] {
  const firstDay = Math.ceil(firstHour / DAY_HOURS);
  const endDay = Math.floor(endHour / DAY_HOURS);
  if (firstDay >= endDay) return [[firstHour, endHour - 1]];
  return [
    [firstHour, firstDay * DAY_HOURS - 1],
    [dayRow(endDay - 1), dayRow(firstDay)],
    [endDay * DAY_HOURS, endHour - 1],
  ];
}

export type Hours = readonly [first: number, last: number];
type Users = RawBuilder<{ name: string }>;
type Sum = [
  toolName: string,
  category: string,
  status: RollupStatus,
  count: number,
  totalMs: number,
  lastStart: number,
];

/** Added up inside the database, user by user: many small sorts are cheaper than a large one. */
async function fromRollups(
  { history, kind }: Database,
  { tenantId, toolName, category, status }: HistoryFilter,
  whose: Users,
  hours: readonly Hours[],
  { add, durations }: Parts,
): Promise<void> {
  const ranges = sql.join(
    hours.map(([first, last]) => sql`(cast(${first} as bigint), cast(${last} as bigint))`),
  );
  const terms = [
    sql`tenant_id = ${tenantId} and user_id = users.name and hour >= first and hour <= last`,
  ];
  if (toolName !== undefined) terms.push(sql`tool_name = ${toolName}`);
  if (category !== undefined) terms.push(sql`category = ${category}`);
  if (status !== undefined) terms.push(sql`status in (${sql.join(rollupStatuses(status))})`);
  // In this order: each range is then a few steps in the key.
  const theirs = sql`from ranges cross join ${sql.table("rollups")} where ${sql.join(terms, sql` and `)}`;
  const sums = sql`select tool_name, category, status, sum(count) as count, sum(total_ms) as total_ms,
    max(last_start_ms) as last_start_ms ${theirs} group by tool_name, category, status`;
  const { list, tuple, bytes } = GATHER[kind];
  const rows = await history
    .with("ranges(first, last)", () => sql<{ first: number; last: number }>`(values ${ranges})`)
    .selectFrom(sql<{ name: string }>`(${whose})`.as<"users">("users"))
    .select([
      "users.name",
      sql`(select ${list}(${tuple}(tool_name, category, status, count, total_ms, last_start_ms)) from (${sums}) as sums)`.as(
        "sums",
      ),
      sql<Uint8Array | null>`(select ${bytes} ${theirs})`.as("buckets"),
    ])
    .execute();
  for (const { name: userId, sums, buckets } of rows) {
    for (const [toolName, category, status, count, totalMs, lastStart] of listIn(sums) as Sum[])
      add({ userId, toolName, category, status, count, totalMs, lastStart });
    // Packed ones, one after the other, unpack to their sum.
    unpack(buckets, durations);
  }
}

const one = (user: string): Users => sql`select cast(${user} as text) as name`;

/** Of all time there are sums of the whole tenant. */
const userOrTenant = ({ userId }: HistoryFilter): Users => one(userId ?? WHOLE_TENANT);

/**
 * Nobody is indexed by tenant alone: its users are found one after the other, each by a step in the key of the
 * rollups.
 */
export function usersOf({ tenantId, userId }: Pick<HistoryFilter, "tenantId" | "userId">): Users {
  if (userId !== undefined) return one(userId);
  const after = (name: RawBuilder<unknown>) =>
    sql`(select min(user_id) from ${sql.table("rollups")} where tenant_id = ${tenantId} and user_id > ${name})`;
  return sql`with recursive found (name) as (
    select ${after(sql.lit(WHOLE_TENANT))} union all
    select ${after(sql`found.name`)} from found where found.name is not null
  ) select name from found where name is not null`;
}

const COLUMNS = [
  "user_id",
  "tool_name",
  "category",
  "status",
  "cancel_reason",
  "start_ms",
  "duration_ms",
  "seq",
] as const;
type Rows = Arrays<Pick<ExecutionsTable, (typeof COLUMNS)[number]>>;
type After = readonly [startMs: number, seq: number];

/**
 * All users at once where that is one stretch, else one user after the other: newest first, the order of the indexes.
 */
async function fromRows(database: Database, filter: HistoryFilter, parts: Parts): Promise<void> {
  const { history } = database;
  const users = usersOf(filter);
  if (filter.userId === undefined) {
    const ofAll = endedRows(database, filter).where(sql<SqlBool>`user_id in (${users})`);
    const rows = await arraysOf(database, ofAll.limit(STRETCH + 1), COLUMNS);
    if (rows.seq.length <= STRETCH) return addRows(rows, parts);
  }
  const names = history
    .selectFrom(sql<{ name: string }>`(${users})`.as<"users">("users"))
    .select("name");
  for (const { name: userId } of await names.execute())
    for (const status of hasIndex(filter) ? [filter.status] : ENDED)
      await fromStretches(database, { ...filter, userId, ...(status && { status }) }, parts);
}

async function fromStretches(
  database: Database,
  filter: HistoryFilter,
  parts: Parts,
): Promise<void> {
  let after: After | null = null;
  do {
    if (after) await turn();
    const rows: Rows = await arraysOf(database, stretchOf(database, filter, after), COLUMNS);
    addRows(rows, parts);
    const isLast = rows.seq.length < STRETCH;
    after = isLast ? null : [rows.start_ms.at(-1) ?? 0, rows.seq.at(-1) ?? 0];
  } while (after);
}

function endedRows({ history }: Database, filter: HistoryFilter) {
  const rows = filtered(history.selectFrom("executions").select(COLUMNS), filter).where(
    "end_seq",
    "is not",
    null,
  );
  return hasIndex(filter) ? rows : rows.where("status", "in", ENDED);
}

function stretchOf(database: Database, filter: HistoryFilter, after: After | null) {
  const rows = endedRows(database, filter)
    .orderBy("start_ms", "desc")
    .orderBy("seq", "desc")
    .limit(STRETCH);
  if (!after) return rows;
  return rows
    .where("start_ms", "<=", after[0])
    .where(sql<boolean>`(start_ms, seq) < (${after[0]}, ${after[1]})`);
}

function addRows(rows: Rows, { add, durations }: Parts): void {
  rows.seq.forEach((_, i) => {
    const totalMs = rows.duration_ms[i] ?? 0;
    add({
      userId: rows.user_id[i] ?? "",
      toolName: rows.tool_name[i] ?? "",
      category: rows.category[i] ?? "",
      status: rollupStatus(rows.status[i] as "success", rows.cancel_reason[i] ?? null),
      count: 1,
      totalMs,
      lastStart: rows.start_ms[i] ?? 0,
    });
    count(durations, bucketOf(totalMs));
  });
}

async function countOpen({ history }: Database, filter: HistoryFilter): Promise<number> {
  const query = history.selectFrom("executions").select((of) => of.fn.countAll().as("count"));
  const row = await filtered(query, filter).executeTakeFirst();
  return Number(row?.count ?? 0);
}

function rollupStatuses(status: string): RollupStatus[] {
  return status === "cancelled" ? ["cancelled", "timeout"] : [status as RollupStatus];
}

export async function usage(
  { history }: Database,
  filter: Parameters<Store["executions"]["usage"]>[0],
): Promise<UsageRow[]> {
  let query = history
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
      ...figuresOf(of.map((r) => ({ status: r.status, count: r.count, totalMs: r.total_ms }))),
      toolName,
      category,
      lastStart: Math.max(...of.map((r) => r.last_start_ms)),
    };
  });
  return list.sort((a, b) => b.total - a.total || (a.toolName < b.toolName ? -1 : 1));
}
