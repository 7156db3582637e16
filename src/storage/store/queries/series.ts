// What finished, by the time it started or by tool: hours and days from the rollups, minutes from the newest rows.
import { sql, type RawBuilder, type SqlBool } from "kysely";
import { bucketOf, count, percentilesOf, unpack, type Counts } from "../buckets.ts";
import type { Database } from "../database.ts";
import { rollupStatus } from "../rollups.ts";
import type {
  ErrorCounts,
  HistoryFilter,
  Series,
  SeriesFilter,
  SeriesPart,
  SeriesUnit,
} from "../store.ts";
import { ALL_TIME, DAY_HOURS, dayRow, HOUR_MS, type RollupStatus } from "../tables/tables.ts";
import { arraysOf, GATHER } from "./arrays.ts";
import { filtered } from "./executions.ts";
import { usersOf, wholeHours, type Hours } from "./figures.ts";
import { ENDED } from "./pages.ts";
import { figuresOf, type StatusSum } from "./parts.ts";

const MINUTE_MS = 60_000;
const DAY_MS = DAY_HOURS * HOUR_MS;
/** Rows that minutes are counted from. */
const MOST_ROWS = 15_000;
/** Executions of one user that ended with one code and are counted. */
const MOST_ERRORS = 10_000;
const LAST_HOUR = 2_400_000_000;

interface Group {
  readonly sums: StatusSum[];
  readonly durations: Counts;
}
type Groups = Map<string | number, Group>;

export async function series(
  database: Database,
  filter: SeriesFilter,
  unit: SeriesUnit,
): Promise<Series> {
  const { from, to } = filter;
  if (unit === "minute") return minutes(database, filter);
  const groups: Groups = new Map();
  const ms = unit === "hour" ? HOUR_MS : DAY_MS;
  const [first, last] = [Math.floor(from / ms), Math.floor(to / ms)];
  const hours: Hours = unit === "hour" ? [first, last] : [dayRow(last), dayRow(first)];
  const rows = await rollupSums(database, filter, [hours], sql<number>`hour`);
  for (const { key, ...sum } of rows)
    addSum(groups, (unit === "hour" ? Number(key) : ALL_TIME - 1 - Number(key)) * ms, sum);
  return { ...seriesOf(groups), countedFrom: first * ms };
}

export async function toolsSince(
  database: Database,
  filter: Pick<HistoryFilter, "tenantId" | "userId">,
  from: number,
): Promise<(SeriesPart & { readonly name: string })[]> {
  const groups: Groups = new Map();
  const hours = wholeHours(Math.floor(from / HOUR_MS), LAST_HOUR);
  for (const { key, ...sum } of await rollupSums(database, filter, hours, sql<string>`tool_name`))
    addSum(groups, key, sum);
  return [...groups].map(([name, group]) => ({ name: String(name), ...partOf(group) }));
}

interface SumRow {
  readonly key: string | number;
  readonly status: RollupStatus;
  readonly count: number;
  readonly totalMs: number;
  readonly buckets: Uint8Array | null;
}

/** Added up inside the database: users by their steps in the key, then what they have in common. */
async function rollupSums(
  { history, kind }: Database,
  { tenantId, userId, toolName, category }: Omit<HistoryFilter, "from" | "to">,
  hours: readonly Hours[],
  key: RawBuilder<string | number>,
): Promise<SumRow[]> {
  const ranges = sql.join(
    hours.map(([first, last]) => sql`(cast(${first} as bigint), cast(${last} as bigint))`),
  );
  const terms = [
    sql`tenant_id = ${tenantId} and user_id = users.name and hour >= ranges.first and hour <= ranges.last`,
  ];
  if (toolName !== undefined) terms.push(sql`tool_name = ${toolName}`);
  if (category !== undefined) terms.push(sql`category = ${category}`);
  const { bytes } = GATHER[kind];
  const users = usersOf({ tenantId, ...(userId !== undefined && { userId }) });
  return history
    .with("ranges(first, last)", () => sql<{ first: number; last: number }>`(values ${ranges})`)
    .selectFrom(
      sql<SumRow>`(select ${key} as key, status, sum(count) as count, sum(total_ms) as total_ms, ${bytes} as buckets
        from (${users}) as users cross join ranges cross join ${sql.table("rollups")}
        where ${sql.join(terms, sql` and `)} group by 1, status)`.as<"sums">("sums"),
    )
    .select(["key", "status", "count", sql<number>`total_ms`.as("totalMs"), "buckets"])
    .execute();
}

function addSum(groups: Groups, key: string | number, { buckets, ...sum }: Omit<SumRow, "key">) {
  const group = groupOf(groups, key);
  group.sums.push({
    status: sum.status,
    count: Number(sum.count),
    totalMs: Number(sum.totalMs),
  });
  unpack(buckets, group.durations);
}

function groupOf(groups: Groups, key: string | number): Group {
  let group = groups.get(key);
  if (!group) groups.set(key, (group = { sums: [], durations: new Map() }));
  return group;
}

const partOf = ({ sums, durations }: Group): SeriesPart => ({
  figures: figuresOf(sums),
  durations: percentilesOf(durations),
});

function seriesOf(groups: Groups): Omit<Series, "countedFrom"> {
  const all: Group = { sums: [], durations: new Map() };
  for (const { sums, durations } of groups.values()) {
    all.sums.push(...sums);
    for (const [bucket, amount] of durations) count(all.durations, bucket, amount);
  }
  const buckets = [...groups]
    .map(([at, group]) => ({ at: Number(at), ...partOf(group) }))
    .sort((a, b) => a.at - b.at);
  return { buckets, total: partOf(all) };
}

const COLUMNS = ["status", "cancel_reason", "start_ms", "duration_ms"] as const;

/** The rollups say how far back the rows can be read; where they were wrong, half as far. */
async function minutes(database: Database, filter: SeriesFilter): Promise<Series> {
  const { to } = filter;
  const earliest = Math.floor(filter.from / MINUTE_MS) * MINUTE_MS;
  let from = await readableFrom(database, { ...filter, from: earliest });
  for (;;) {
    const rows = await rowsOf(database, { ...filter, from });
    if (rows.start_ms.length <= MOST_ROWS || to - from <= MINUTE_MS)
      return { ...seriesOf(groupsOf(rows)), countedFrom: from };
    from = Math.ceil((from + to) / 2 / MINUTE_MS) * MINUTE_MS;
  }
}

async function readableFrom(database: Database, filter: SeriesFilter): Promise<number> {
  const { from, to } = filter;
  const { buckets } = await series(database, filter, "hour");
  let room = MOST_ROWS;
  for (const { at, figures } of buckets.toReversed()) {
    if (figures.total <= room) {
      room -= figures.total;
      continue;
    }
    // Of the hour that does not fit, as much as would if its executions were spread evenly.
    const end = Math.min(at + HOUR_MS, to + 1);
    const begin = end - ((end - at) * room) / figures.total;
    return Math.max(from, Math.ceil(begin / MINUTE_MS) * MINUTE_MS);
  }
  return from;
}

function rowsOf(database: Database, filter: SeriesFilter) {
  const { userId, ...everybody } = filter;
  // By tool, or else by status: no index is in the order of time alone.
  const ended = filtered(
    database.history.selectFrom("executions").select(COLUMNS),
    everybody,
  ).where("end_seq", "is not", null);
  const rows = filter.toolName === undefined ? ended.where("status", "in", ENDED) : ended;
  const theirs = rows.where(sql<SqlBool>`user_id in (${usersOf(filter)})`);
  const limited = userId === undefined ? theirs : rows.where("user_id", "=", userId);
  return arraysOf(database, limited.limit(MOST_ROWS + 1), COLUMNS);
}

function groupsOf(rows: Awaited<ReturnType<typeof rowsOf>>): Groups {
  const groups: Groups = new Map();
  rows.start_ms.forEach((startMs, i) => {
    const totalMs = rows.duration_ms[i] ?? 0;
    const status = rollupStatus(rows.status[i] as "success", rows.cancel_reason[i] ?? null);
    const group = groupOf(groups, Math.floor(startMs / MINUTE_MS) * MINUTE_MS);
    group.sums.push({ status, count: 1, totalMs });
    count(group.durations, bucketOf(totalMs));
  });
  return groups;
}

/** Each user's codes are found one after the other in their index, and counted there. */
export async function errorCounts(
  { history }: Database,
  filter: SeriesFilter,
): Promise<ErrorCounts> {
  const { tenantId, toolName, category, from, to } = filter;
  const executions = sql.table("executions");
  const ofUser = (user: RawBuilder<unknown>) =>
    sql`tenant_id = ${tenantId} and user_id = ${user} and error_code is not null`;
  const terms = [sql`start_ms >= ${from} and start_ms <= ${to}`];
  if (toolName !== undefined) terms.push(sql`tool_name = ${toolName}`);
  if (category !== undefined) terms.push(sql`category = ${category}`);
  const users = usersOf(filter);
  const rows = await history
    .withRecursive(
      "codes(name, code)",
      () => sql<{ name: string; code: string | null }>`(
        select users.name, (select min(error_code) from ${executions} where ${ofUser(sql`users.name`)})
        from (${users}) as users
        union all
        select codes.name, (select min(error_code) from ${executions}
          where ${ofUser(sql`codes.name`)} and error_code > codes.code)
        from codes where codes.code is not null)`,
    )
    .selectFrom("codes")
    .select([
      "code",
      sql<number>`(select count(*) from (
        select 1 from ${executions}
        where ${ofUser(sql`codes.name`)} and error_code = codes.code and ${sql.join(terms, sql` and `)}
        limit ${sql.lit(MOST_ERRORS + 1)}) as counted)`.as("count"),
    ])
    .where("code", "is not", null)
    .execute();
  const counts = new Map<string, number>();
  for (const { code, count: found } of rows)
    counts.set(
      String(code),
      (counts.get(String(code)) ?? 0) + Math.min(Number(found), MOST_ERRORS),
    );
  const codes = [...counts]
    .filter(([, found]) => found > 0)
    .map(([code, found]) => ({ code, count: found }))
    .sort((a, b) => b.count - a.count || (a.code < b.code ? -1 : 1));
  return { codes, isCut: rows.some(({ count: found }) => Number(found) > MOST_ERRORS) };
}
