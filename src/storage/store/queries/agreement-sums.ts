// Whether the sums are those of the executions: hours of the executions, and of what was archived; days of hours; all
// time of days; a tenant of its users. Each comparison is one statement, so that calls that end meanwhile are on both
// sides or none.
import { setImmediate as turn } from "node:timers/promises";
import { sql, type RawBuilder } from "kysely";
import { bucketOf, count, unpack, type Counts } from "../buckets.ts";
import type { Database } from "../database.ts";
import { ALL_TIME, DAY_HOURS, dayRow, HOUR_MS, WHOLE_TENANT } from "../tables/tables.ts";
import { GATHER, listIn } from "./arrays.ts";
import { usersOf } from "./figures.ts";

export interface Hour {
  readonly tenantId: string;
  readonly userId: string;
  readonly hour: number;
}

export interface SumsAgreement {
  /** Compares those hours that were not compared yet. */
  ofHours(hours: readonly Hour[]): Promise<void>;
  /** All that the table has, at every level. */
  ofAll(): Promise<void>;
  /** How many sums were found to differ. */
  different(): number;
}

const PAGE = 500;
/** More are compared again rather than remembered. */
const REMEMBERED = 100_000;
/** Additions in another order differ by less. */
const ROUNDING = 1e-9;

const ROLLUPS = sql.table("rollups");

type Listed = [
  toolName: string,
  category: string,
  status: string,
  count: number,
  totalMs: number,
  lastStart: number,
  rest: unknown,
];

interface Sum {
  count: number;
  totalMs: number;
  lastStart: number;
  readonly buckets: Counts;
}

export function agreementOfSums(
  database: Database,
  tenantId: string | null,
  upgradedAt: number,
): SumsAgreement {
  const { history, kind } = database;
  const { list, tuple } = GATHER[kind];
  const hex =
    kind === "sqlite"
      ? sql`group_concat(hex(buckets), '')`
      : sql`string_agg(encode(buckets, 'hex'), '')`;
  const compared = new Set<string>();
  let different = 0;

  const listed = (rows: RawBuilder<unknown>): RawBuilder<unknown> =>
    sql`(select ${list}(${tuple}(tool_name, category, status, n, ms, last, rest)) from (${rows}) as listed)`;
  /** Rows of one of the two tables, added up. */
  const summed = (from: RawBuilder<unknown>): RawBuilder<unknown> =>
    listed(sql`select tool_name, category, status, sum(count) as n, sum(total_ms) as ms, max(last_start_ms) as last, ${hex} as rest
      from ${from} group by tool_name, category, status`);
  const where = ({ tenantId: tenant, userId, hour }: Hour, last = hour): RawBuilder<unknown> =>
    sql`where tenant_id = ${tenant} and user_id = ${userId} and hour >= ${hour} and hour <= ${last}`;
  const counted = ({ tenantId: tenant, userId, hour }: Hour): RawBuilder<unknown> =>
    listed(sql`select tool_name, category, status, count(*) as n, sum(coalesce(duration_ms, 0)) as ms, max(start_ms) as last,
        ${list}(coalesce(duration_ms, 0)) as rest
      from (select tool_name, category, duration_ms, start_ms,
          case when status = 'cancelled' and cancel_reason = 'timeout' then 'timeout' else status end as status
        from ${sql.table("executions")}
        where tenant_id = ${tenant} and user_id = ${userId} and status in ('success', 'failed', 'cancelled')
          and end_seq is not null and start_ms >= ${hour * HOUR_MS} and start_ms < ${(hour + 1) * HOUR_MS}) as ended
      group by tool_name, category, status`);

  async function compare(
    had: RawBuilder<unknown>,
    parts: readonly RawBuilder<unknown>[],
    withBuckets = true,
  ): Promise<void> {
    const [one = sql`null`, two = sql`null`] = parts;
    const row = await history
      .selectNoFrom([had.as("had"), one.as("one"), two.as("two")])
      .executeTakeFirst();
    const [is, should] = [new Map<string, Sum>(), new Map<string, Sum>()];
    addTo(is, row?.had);
    addTo(should, row?.one);
    addTo(should, row?.two);
    for (const key of new Set([...is.keys(), ...should.keys()]))
      if (!isSame(is.get(key), should.get(key), withBuckets)) different++;
    // SQLite answers at once: calls have their turn between two statements.
    await turn();
  }

  async function ofHour(hour: Hour): Promise<void> {
    const key = JSON.stringify([hour.tenantId, hour.userId, hour.hour]);
    if (compared.has(key)) return;
    if (compared.size >= REMEMBERED) compared.clear();
    compared.add(key);
    const rows = where(hour);
    // Sums of the first releases know no buckets.
    await compare(
      summed(sql`${ROLLUPS} ${rows}`),
      [summed(sql`rollups_archived ${rows}`), counted(hour)],
      hour.hour * HOUR_MS >= upgradedAt,
    );
  }

  const ofDay = (user: Hour, day: number): Promise<void> =>
    compare(summed(sql`${ROLLUPS} ${where({ ...user, hour: dayRow(day) })}`), [
      summed(
        sql`${ROLLUPS} ${where({ ...user, hour: day * DAY_HOURS }, (day + 1) * DAY_HOURS - 1)}`,
      ),
    ]);

  const ofUser = (user: Hour): Promise<void> =>
    compare(summed(sql`${ROLLUPS} ${where({ ...user, hour: ALL_TIME })}`), [
      summed(sql`${ROLLUPS} ${where({ ...user, hour: Number.MIN_SAFE_INTEGER }, ALL_TIME - 1)}`),
    ]);

  const ofTenant = (tenant: string): Promise<void> =>
    compare(
      summed(sql`${ROLLUPS} ${where({ tenantId: tenant, userId: WHOLE_TENANT, hour: ALL_TIME })}`),
      [
        summed(
          sql`${ROLLUPS} where tenant_id = ${tenant} and hour = ${ALL_TIME}
            and user_id in (${usersOf({ tenantId: tenant })})`,
        ),
      ],
    );

  async function keysAfter(last: Hour | null): Promise<Hour[]> {
    let keys = history
      .selectFrom("rollups")
      .select(["tenant_id as tenantId", "user_id as userId", "hour"])
      .distinct();
    if (tenantId !== null) keys = keys.where("tenant_id", "=", tenantId);
    if (last)
      keys = keys.where(
        sql<boolean>`(tenant_id, user_id, hour) > (${last.tenantId}, ${last.userId}, ${last.hour})`,
      );
    return keys.orderBy("tenant_id").orderBy("user_id").orderBy("hour").limit(PAGE).execute();
  }

  /** What a row of the table is a sum in, or of; each is compared when it is first met. */
  async function ofKey(key: Hour, before: Hour | null): Promise<void> {
    const { tenantId: tenant, userId, hour } = key;
    if (tenant !== before?.tenantId) await ofTenant(tenant);
    if (userId === WHOLE_TENANT) return;
    const isNewUser = tenant !== before?.tenantId || userId !== before.userId;
    if (isNewUser) await ofUser(key);
    if (hour < ALL_TIME) return ofDay(key, ALL_TIME - 1 - hour);
    if (hour === ALL_TIME) return;
    const day = Math.floor(hour / DAY_HOURS);
    if (isNewUser || before.hour < 0 || Math.floor(before.hour / DAY_HOURS) !== day)
      await ofDay(key, day);
    await ofHour(key);
  }

  return {
    async ofHours(hours) {
      for (const hour of hours) await ofHour(hour);
    },
    async ofAll() {
      let before: Hour | null = null;
      for (;;) {
        const keys: Hour[] = await keysAfter(before);
        if (keys.length === 0) return;
        for (const key of keys) {
          await ofKey(key, before);
          before = key;
        }
      }
    },
    different: () => different,
  };
}

function addTo(sums: Map<string, Sum>, gathered: unknown): void {
  for (const [toolName, category, status, n, ms, last, rest] of listIn(gathered) as Listed[]) {
    const key = `${toolName}\0${category}\0${status}`;
    const sum = sums.get(key) ?? { count: 0, totalMs: 0, lastStart: 0, buckets: new Map() };
    sums.set(key, sum);
    sum.count += Number(n);
    sum.totalMs += Number(ms);
    sum.lastStart = Math.max(sum.lastStart, Number(last));
    addBuckets(sum.buckets, rest);
  }
}

/** Packed ones in hexadecimal digits, or durations one by one. */
function addBuckets(buckets: Counts, rest: unknown): void {
  if (rest === null) return;
  if (typeof rest === "string" && !rest.startsWith("["))
    return unpack(Buffer.from(rest, "hex"), buckets);
  for (const ms of listIn(rest)) count(buckets, bucketOf(Number(ms)));
}

function isSame(a: Sum | undefined, b: Sum | undefined, withBuckets: boolean): boolean {
  if (!a || !b) return (a?.count ?? b?.count) === 0;
  const apart = Math.abs(a.totalMs - b.totalMs);
  if (a.count !== b.count || a.lastStart !== b.lastStart) return false;
  if (apart > ROUNDING * Math.max(1, Math.abs(a.totalMs), Math.abs(b.totalMs)) * Math.sqrt(a.count))
    return false;
  if (!withBuckets) return true;
  return (
    a.buckets.size === b.buckets.size && [...a.buckets].every(([at, n]) => b.buckets.get(at) === n)
  );
}
