// Counts, averages and percentiles from the rollups; only what they cannot tell apart, and the two broken hours at the ends
// of a date range, is counted from rows.
import { setImmediate as turn } from "node:timers/promises";
import { sql, type RawBuilder, type SqlBool } from "kysely";
import { bucketOf, count, unpack, type Counts } from "../buckets.ts";
import type { Database } from "../database.ts";
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
} from "../tables.ts";
import { filtered, isOpen } from "./executions.ts";
import { figuresOf, tallyParts, type Part } from "./parts.ts";

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
    await fromRows(database, filter, parts.add);
    return parts.stats();
  }
  if (from === undefined && to === undefined) {
    await fromRollups(database, filter, [ALL_TIME, ALL_TIME], parts.add, perUser);
    return parts.stats();
  }
  const firstHour = from === undefined ? 0 : Math.max(0, Math.ceil(from / HOUR_MS));
  const endHour = Math.floor(((to ?? LAST_MS) + 1) / HOUR_MS);
  if (firstHour >= endHour) {
    await fromRows(database, filter, parts.add);
    return parts.stats();
  }
  for (const hours of wholeHours(firstHour, endHour))
    await fromRollups(database, filter, hours, parts.add, perUser);
  const head = { ...filter, to: firstHour * HOUR_MS - 1 };
  if (from !== undefined && from <= head.to) await fromRows(database, head, parts.add);
  const tail = { ...filter, from: endHour * HOUR_MS };
  if (to !== undefined && tail.from <= to) await fromRows(database, tail, parts.add);
  return parts.stats();
}

export const figures = async (database: Database, filter: HistoryFilter): Promise<Figures> =>
  (await stats(database, filter)).figures;

/** Hours up to the first midnight, days, hours after the last one; each range with both its ends. */
function wholeHours(firstHour: number, endHour: number): [number, number][] {
  const firstDay = Math.ceil(firstHour / DAY_HOURS);
  const endDay = Math.floor(endHour / DAY_HOURS);
  if (firstDay >= endDay) return [[firstHour, endHour - 1]];
  return [
    [firstHour, firstDay * DAY_HOURS - 1],
    [dayRow(endDay - 1), dayRow(firstDay)],
    [endDay * DAY_HOURS, endHour - 1],
  ];
}

/** Added up inside the database; packed buckets one after the other unpack to their sum. */
async function fromRollups(
  { kysely, kind }: Database,
  filter: HistoryFilter,
  [first, last]: readonly [number, number],
  add: (part: Part) => void,
  perUser: boolean,
): Promise<void> {
  if (first > last) return;
  const { toolName, category, status } = filter;
  const ofTenant = first === ALL_TIME && !perUser && filter.userId === undefined;
  const packed =
    kind === "sqlite"
      ? sql<string | null>`group_concat(hex(buckets), '')`
      : sql<string | null>`encode(string_agg(buckets, ''::bytea), 'hex')`;
  let query = kysely
    .selectFrom("rollups")
    .select((of) => [
      "user_id",
      "tool_name",
      "category",
      "status",
      of.fn.sum("count").as("count"),
      of.fn.sum("total_ms").as("total_ms"),
      of.fn.max("last_start_ms").as("last_start_ms"),
      packed.as("packed"),
    ])
    .where("tenant_id", "=", filter.tenantId)
    .where(ofTenant ? sql<SqlBool>`user_id = ${WHOLE_TENANT}` : usersOf(filter))
    .where("hour", ">=", first)
    .where("hour", "<=", last);
  if (toolName !== undefined) query = query.where("tool_name", "=", toolName);
  if (category !== undefined) query = query.where("category", "=", category);
  if (status !== undefined) query = query.where("status", "in", rollupStatuses(status));
  // PostgreSQL sums integers into a numeric, which arrives as text.
  for (const r of await query.groupBy(["user_id", "tool_name", "category", "status"]).execute())
    add({
      userId: r.user_id,
      toolName: r.tool_name,
      category: r.category,
      status: r.status,
      count: Number(r.count),
      totalMs: Number(r.total_ms),
      lastStart: Number(r.last_start_ms),
      addDurations: (into: Counts) => unpack(Buffer.from(r.packed ?? "", "hex"), into),
    });
}

/** Nobody is indexed by tenant alone: its users are found one after the other, each by a step in the key of the rollups. */
function usersOf({ tenantId, userId }: HistoryFilter): RawBuilder<SqlBool> {
  return userId === undefined
    ? sql`user_id in (${usersBySteps(tenantId)})`
    : sql`user_id = ${userId}`;
}

async function usersIn(kysely: Database["kysely"], tenantId: string): Promise<string[]> {
  const users = sql<{ name: string }>`(${usersBySteps(tenantId)})`.as<"users">("users");
  return (await kysely.selectFrom(users).select("name").execute()).map(({ name }) => name);
}

function usersBySteps(tenantId: string): RawBuilder<{ name: string }> {
  const after = (name: RawBuilder<unknown>) =>
    sql`(select min(user_id) from rollups where tenant_id = ${tenantId} and user_id > ${name})`;
  return sql`with recursive found (name) as (
    select ${after(sql.lit(WHOLE_TENANT))} union all
    select ${after(sql`found.name`)} from found where found.name is not null
  ) select name from found where name is not null`;
}

/** One user after the other, newest first: the order of the indexes. */
async function fromRows(
  { kysely }: Database,
  filter: HistoryFilter,
  add: (part: Part) => void,
): Promise<void> {
  const users =
    filter.userId === undefined ? await usersIn(kysely, filter.tenantId) : [filter.userId];
  for (const userId of users) {
    let last: { start_ms: number; seq: number } | undefined;
    do {
      if (last) await turn();
      let query = filtered(
        kysely
          .selectFrom("executions")
          .select(["seq", "tool_name", "category", "status", "cancel_reason", "start_ms", "duration_ms"]), // prettier-ignore
        { ...filter, userId },
      )
        .where("end_seq", "is not", null)
        .orderBy("start_ms", "desc")
        .orderBy("seq", "desc")
        .limit(STRETCH);
      if (last) {
        query = query
          .where("start_ms", "<=", last.start_ms)
          .where(sql<boolean>`(start_ms, seq) < (${last.start_ms}, ${last.seq})`);
      }
      const rows = await query.execute();
      for (const r of rows)
        add({
          userId,
          toolName: r.tool_name,
          category: r.category,
          status: rollupStatus(r.status as "success", r.cancel_reason),
          count: 1,
          totalMs: r.duration_ms ?? 0,
          lastStart: r.start_ms,
          addDurations: (into) => count(into, bucketOf(r.duration_ms ?? 0)),
        });
      last = rows.length === STRETCH ? rows.at(-1) : undefined;
    } while (last);
  }
}

async function countOpen({ kysely }: Database, filter: HistoryFilter): Promise<number> {
  const query = kysely.selectFrom("executions").select((of) => of.fn.countAll().as("count"));
  const row = await filtered(query, filter).executeTakeFirst();
  return Number(row?.count ?? 0);
}

function rollupStatuses(status: string): RollupStatus[] {
  return status === "cancelled" ? ["cancelled", "timeout"] : [status as RollupStatus];
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
      ...figuresOf(of.map((r) => ({ status: r.status, count: r.count, totalMs: r.total_ms }))),
      toolName,
      category,
      lastStart: Math.max(...of.map((r) => r.last_start_ms)),
    };
  });
  return list.sort((a, b) => b.total - a.total || (a.toolName < b.toolName ? -1 : 1));
}
