// Reservations against a budget: each is a batch that is refused where it does not fit, so that two cannot take the
// same rest.
import { sql, type Expression, type SqlBool } from "kysely";
import { guard, isGuarded, type Database } from "../database.ts";
import type { Store } from "../store.ts";

type Reservation = Parameters<Store["usage"]["reserve"]>[0];
type ReservedOnes = Parameters<Store["usage"]["reserveOnes"]>[1];
/** How often it is tried again when what stood in the way went meanwhile. */
const ATTEMPTS = 10;

export function reservations({
  history,
  batch,
}: Database): Pick<Store["usage"], "reserve" | "reserveOnes"> {
  return {
    async reserve(row) {
      const { executionId, instanceId, tenantId, period, at, amounts } = row;
      if (new Set(amounts.map((one) => one.metric)).size < amounts.length)
        throw new TypeError("a metric is named twice in one reservation");
      const limits = amounts.flatMap(({ metric, amount, limit }) =>
        limit === null
          ? []
          : [
              guard(
                history,
                sql<SqlBool>`${taken(row, metric)} + ${real(amount)} > ${real(limit)}`,
              ),
            ],
      );
      const inserts = amounts.map(({ metric, amount }) =>
        history
          .insertInto("reservations")
          .values({
            execution_id: executionId,
            metric,
            tenant_id: tenantId,
            period,
            amount,
            instance_id: instanceId,
            at_ms: at,
          })
          .onConflict((c) => c.doNothing()),
      );
      for (let attempt = 1; ; attempt++) {
        try {
          await batch([...limits, ...inserts], turnOf(tenantId, period));
          return { ok: true };
        } catch (cause) {
          if (!isGuarded(cause)) throw cause;
          const found = await misfit(history, row);
          if (found) return { ok: false, ...found };
          if (attempt === ATTEMPTS) throw cause;
        }
      }
    },
    async reserveOnes(executionIds, request) {
      const { tenantId, period, counters } = request;
      const [first, ...others] = counters;
      if (!first) throw new TypeError("nothing is reserved without a counter");
      const used = (metric: string) => taken({ tenantId, period, executionId: "" }, metric);
      const insert = (from: Expression<unknown>) =>
        history
          .insertInto("reservations")
          .columns(RESERVED)
          .expression(from)
          .onConflict((c) => c.doNothing());
      const fitting = fittingOnes(history, executionIds, request, first.metric);
      // Calls that have a place in the first counter fit all of them.
      const alike = others.map(({ metric }) =>
        insert(
          history
            .selectFrom("reservations as held")
            .select(["held.execution_id", ...reservedOne(metric, request)])
            .where("held.metric", "=", first.metric)
            .where("held.execution_id", "in", executionIds),
        ),
      );
      const now = counters.map(({ metric }) => history.selectNoFrom(used(metric).as("used")));
      const queries = [insert(fitting).returning("execution_id"), ...alike, ...now];
      const [rows = [], ...rest] = await batch(queries, turnOf(tenantId, period));
      const sums = rest.slice(others.length).map(([found]) => Number(found?.["used"] ?? 0));
      return { taken: new Set(rows.map((each) => String(each["execution_id"]))), used: sums };
    },
  };
}

/** The first metric whose limit the reservation would exceed. */
async function misfit(
  history: Database["history"],
  row: Reservation,
): Promise<{ metric: string; used: number } | null> {
  for (const { metric, amount, limit } of row.amounts) {
    if (limit === null) continue;
    const found = await history.selectNoFrom(taken(row, metric).as("used")).executeTakeFirst();
    const used = Number(found?.used ?? 0);
    if (used + amount > limit) return { metric, used };
  }
  return null;
}

/** The rows of those calls that fit below every limit, in the order in which they were asked for. */
function fittingOnes(
  history: Database["history"],
  executionIds: readonly string[],
  request: ReservedOnes,
  firstMetric: string,
) {
  const { tenantId, period, counters } = request;
  const places = executionIds.map(
    (id, place) => sql`select cast(${id} as text) as id, ${sql.lit(place + 1)} as place`,
  );
  const asked = sql<{ id: string; place: number }>`(${sql.join(places, sql` union all `)})`;
  let fitting = history
    .selectFrom(asked.as("asked"))
    .select(["asked.id", ...reservedOne(firstMetric, request)]);
  for (const { metric, limit } of counters) {
    const used = taken({ tenantId, period, executionId: "" }, metric);
    fitting = fitting.where(sql<SqlBool>`${used} + asked.place <= ${real(limit)}`);
  }
  return fitting;
}

/** The columns of a reservation of one, after the execution's id. */
const reservedOne = (metric: string, { tenantId, period, instanceId, at }: ReservedOnes) => [
  text(metric),
  text(tenantId),
  text(period),
  sql.lit(1).as("amount"),
  text(instanceId),
  sql<number>`cast(${at} as bigint)`.as("at_ms"),
];

/** Used and reserved by others, as it stands when the statement runs. */
const taken = (
  { tenantId, period, executionId }: Pick<Reservation, "tenantId" | "period" | "executionId">,
  metric: string,
) => sql<number>`
  coalesce((select used from ${sql.table("usage")}
    where tenant_id = ${tenantId} and period = ${period} and metric = ${metric}), 0)
  + coalesce((select sum(amount) from ${sql.table("reservations")}
    where tenant_id = ${tenantId} and period = ${period} and metric = ${metric}
      and execution_id <> ${executionId}), 0)`;

const RESERVED = [
  "execution_id",
  "metric",
  "tenant_id",
  "period",
  "amount",
  "instance_id",
  "at_ms",
] as const;

/** PostgreSQL needs a cast to know that a parameter is a number. */
export function real(value: number) {
  return sql<number>`cast(${value} as double precision)`;
}

/** Typed, since PostgreSQL does not guess in a select. */
const text = (value: string) => sql<string>`cast(${value} as text)`.as("text");

/** Reservations of a tenant's month, one batch after the other. */
const turnOf = (tenantId: string, period: string): string => `usage ${tenantId} ${period}`;
