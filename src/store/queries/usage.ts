// Budgets: what the log counted as used, and what is reserved for calls that have not started.
import { sql, type SqlBool } from "kysely";
import { guard, isGuarded, type Database } from "../database.ts";
import type { Store } from "../store.ts";

type Reservation = Parameters<Store["usage"]["reserve"]>[0];
/** How often it is tried again when what stood in the way went meanwhile. */
const ATTEMPTS = 10;

export function usage({ kysely, batch }: Database): Store["usage"] {
  /** Used and reserved by others, as it stands when the statement runs. */
  const taken = ({ tenantId, period, executionId }: Reservation, metric: string) => sql<number>`
    coalesce((select used from usage where tenant_id = ${tenantId} and period = ${period} and metric = ${metric}), 0)
    + coalesce((select sum(amount) from reservations where tenant_id = ${tenantId} and period = ${period}
      and metric = ${metric} and execution_id <> ${executionId}), 0)`;

  async function misfit(row: Reservation): Promise<{ metric: string; used: number } | null> {
    for (const { metric, amount, limit } of row.amounts) {
      if (limit === null) continue;
      const found = await kysely.selectNoFrom(taken(row, metric).as("used")).executeTakeFirst();
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
      const limits = amounts.flatMap(
        ({ metric, amount, limit }) =>
        limit === null ? [] : [guard(kysely, sql<SqlBool>`${taken(row, metric)} + ${real(amount)} > ${real(limit)}`)], // prettier-ignore
      );
      const inserts = amounts.map(({ metric, amount }) =>
        kysely
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
          await batch([...limits, ...inserts], `usage ${tenantId} ${period}`);
          return { ok: true };
        } catch (cause) {
          if (!isGuarded(cause)) throw cause;
          const found = await misfit(row);
          if (found) return { ok: false, ...found };
          if (attempt === ATTEMPTS) throw cause;
        }
      }
    },
    async release(executionId) {
      await kysely.deleteFrom("reservations").where("execution_id", "=", executionId).execute();
    },
    async releaseOrphans(instanceId) {
      const rows = await kysely
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
    async of(tenantId, period) {
      const of = { tenant_id: tenantId, period };
      const counted = kysely
        .selectFrom("usage")
        .select(["metric", "used", sql.lit(0).as("reserved")])
        .where("tenant_id", "=", of.tenant_id)
        .where("period", "=", of.period);
      const open = kysely
        .selectFrom("reservations")
        .select(["metric", sql.lit(0).as("used"), "amount as reserved"])
        .where("tenant_id", "=", of.tenant_id)
        .where("period", "=", of.period);
      const rows = await kysely
        .selectFrom(counted.unionAll(open).as("both"))
        .select((is) => [
          "metric",
          is.fn.sum("used").as("used"),
          is.fn.sum("reserved").as("reserved"),
        ]) // prettier-ignore
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

/** PostgreSQL must be told that a parameter is a number. */
function real(value: number) {
  return sql<number>`cast(${value} as double precision)`;
}
