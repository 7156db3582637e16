// Budgets: what the log counted as used, and what is reserved for calls that have not started.
import { sql } from "kysely";
import type { Database } from "../database.ts";
import type { Store } from "../store.ts";
import { real, reservations } from "./reservations.ts";

export function usage(database: Database): Store["usage"] {
  const { history, batch } = database;
  return {
    ...reservations(database),
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

const keyOf = ({ tenantId, period, metric }: Parameters<Store["usage"]["add"]>[0][number]) =>
  `${tenantId} ${period} ${metric}`;
