// Budgets: what the log counted as used, and what is reserved for calls that have not started.
import { sql, type Expression, type SqlBool } from "kysely";
import { guard, isGuarded, type Database } from "../database.ts";
import type { Store } from "../store.ts";

type Reservation = Parameters<Store["usage"]["reserve"]>[0];
/** How often it is tried again when what stood in the way went meanwhile. */
const ATTEMPTS = 10;

export function usage({ history, batch }: Database): Store["usage"] {
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

  async function misfit(row: Reservation): Promise<{ metric: string; used: number } | null> {
    for (const { metric, amount, limit } of row.amounts) {
      if (limit === null) continue;
      const found = await history.selectNoFrom(taken(row, metric).as("used")).executeTakeFirst();
      const used = Number(found?.used ?? 0);
      if (used + amount > limit) return { metric, used };
    }
    return null;
  }

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
          const found = await misfit(row);
          if (found) return { ok: false, ...found };
          if (attempt === ATTEMPTS) throw cause;
        }
      }
    },
    async reserveOnes(executionIds, { instanceId, tenantId, period, at, counters }) {
      const [first, ...others] = counters;
      if (!first) throw new TypeError("nothing is reserved without a counter");
      const used = (metric: string) => taken({ tenantId, period, executionId: "" }, metric);
      const places = executionIds.map(
        (id, place) => sql`select cast(${id} as text) as id, ${sql.lit(place + 1)} as place`,
      );
      const asked = sql<{ id: string; place: number }>`(${sql.join(places, sql` union all `)})`;
      const row = (metric: string) => [
        text(metric),
        text(tenantId),
        text(period),
        sql.lit(1).as("amount"),
        text(instanceId),
        sql<number>`cast(${at} as bigint)`.as("at_ms"),
      ];
      let fitting = history
        .selectFrom(asked.as("asked"))
        .select(["asked.id", ...row(first.metric)]);
      for (const { metric, limit } of counters)
        fitting = fitting.where(sql<SqlBool>`${used(metric)} + asked.place <= ${real(limit)}`);
      const insert = (from: Expression<unknown>) =>
        history
          .insertInto("reservations")
          .columns(RESERVED)
          .expression(from)
          .onConflict((c) => c.doNothing());
      // Whoever has a place in the first counter fits all of them.
      const alike = others.map(({ metric }) =>
        insert(
          history
            .selectFrom("reservations as held")
            .select(["held.execution_id", ...row(metric)])
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
    async add(rows) {
      // In key order, so that two instances lock the rows alike.
      const sorted = rows.toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
      const updates = sorted.map(({ tenantId, period, metric, amount }) =>
        history
          .insertInto("usage")
          .values({ tenant_id: tenantId, period, metric, used: amount })
          .onConflict((c) =>
            c
              .columns(["tenant_id", "period", "metric"])
              .doUpdateSet({ used: sql<number>`usage.used + ${real(amount)}` }),
          ),
      );
      if (updates.length > 0) await batch(updates);
    },
    async release(executionId) {
      await history.deleteFrom("reservations").where("execution_id", "=", executionId).execute();
    },
    async releaseOrphans(instanceId) {
      const rows = await history
        .deleteFrom("reservations")
        .where("instance_id", "=", instanceId)
        .where(({ not, exists, selectFrom }) =>
          not(
            exists(
              selectFrom("executions")
                .select("executions.id")
                .whereRef("executions.id", "=", "reservations.execution_id")
                .where("end_seq", "is", null)
                .where("status", "=", "pending")
                .where("approval_id", "is not", null),
            ),
          ),
        )
        .returning("execution_id")
        .execute();
      return new Set(rows.map((row) => row.execution_id)).size;
    },
    async of(tenantId, period, metrics) {
      let counted = history
        .selectFrom("usage")
        .select(["metric", "used", sql.lit(0).as("reserved")])
        .where("tenant_id", "=", tenantId)
        .where("period", "=", period);
      let open = history
        .selectFrom("reservations")
        .select(["metric", sql.lit(0).as("used"), "amount as reserved"])
        .where("tenant_id", "=", tenantId)
        .where("period", "=", period);
      if (metrics) {
        counted = counted.where("metric", "in", metrics);
        open = open.where("metric", "in", metrics);
      }
      const rows = await history
        .selectFrom(counted.unionAll(open).as("both"))
        .select((is) => [
          "metric",
          is.fn.sum("used").as("used"),
          is.fn.sum("reserved").as("reserved"),
        ])
        .groupBy("metric")
        .orderBy("metric")
        .execute();
      return rows.map((row) => ({
        metric: row.metric,
        used: Number(row.used),
        reserved: Number(row.reserved),
      }));
    },
  };
}

const RESERVED = [
  "execution_id",
  "metric",
  "tenant_id",
  "period",
  "amount",
  "instance_id",
  "at_ms",
] as const;

const keyOf = ({ tenantId, period, metric }: Parameters<Store["usage"]["add"]>[0][number]) =>
  `${tenantId} ${period} ${metric}`;

/** PostgreSQL must be told that a parameter is a number. */
function real(value: number) {
  return sql<number>`cast(${value} as double precision)`;
}

/** Typed, since PostgreSQL does not guess in a select. */
const text = (value: string) => sql<string>`cast(${value} as text)`.as("text");

/** Reservations of a tenant's month, one batch after the other. */
const turnOf = (tenantId: string, period: string): string => `usage ${tenantId} ${period}`;
