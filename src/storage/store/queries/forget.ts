// History lets go of executions whose events are archived. Their sums go on being counted, also after a rebuild.
import { sql, type Compilable, type SqlBool } from "kysely";
import { addPacked } from "../buckets.ts";
import { guard, type Database } from "../database.ts";
import { rollupsOf } from "../rollups.ts";
import type { ExecutionStore } from "../store.ts";
import type { RollupsTable } from "../tables/tables.ts";

const STRETCH = 1_000;

export function forgetting({
  kysely,
  history,
  batch,
}: Database): Pick<ExecutionStore, "forgetBefore"> {
  /** Ended ones in order of arrival. */
  const ended = (before: number) =>
    history.selectFrom("executions").where("seq", "<", before).where("end_seq", "is not", null);

  async function added(row: RollupsTable): Promise<Compilable> {
    const { tenant_id, user_id, hour, tool_name, category, status } = row;
    const key = { tenant_id, user_id, hour, tool_name, category, status };
    const there = await kysely
      .selectFrom("rollups_archived")
      .selectAll()
      .where((is) => is.and(key))
      .executeTakeFirst();
    const { count, total_ms, last_start_ms, buckets } = there ?? {
      count: 0,
      total_ms: 0,
      last_start_ms: 0,
      buckets: null,
    };
    const sums = {
      count: count + row.count,
      total_ms: total_ms + row.total_ms,
      last_start_ms: Math.max(last_start_ms, row.last_start_ms),
      buckets: row.buckets && addPacked(buckets, row.buckets),
    };
    return kysely
      .insertInto("rollups_archived")
      .values({ ...key, ...sums })
      .onConflict((c) =>
        c
          .columns(["tenant_id", "user_id", "hour", "tool_name", "category", "status"])
          .doUpdateSet(sums),
      );
  }

  return {
    async forgetBefore(before) {
      let forgotten = 0;
      for (;;) {
        const rows = await ended(before)
          .select([
            "seq",
            "tenant_id",
            "user_id",
            "tool_name",
            "category",
            "status",
            "cancel_reason",
            "start_ms",
            "duration_ms",
          ])
          .orderBy("seq")
          .limit(STRETCH)
          .execute();
        const last = rows.at(-1);
        if (!last) return forgotten;
        const sums = rollupsOf(
          rows.map((r) => ({
            tenantId: r.tenant_id,
            userId: r.user_id,
            toolName: r.tool_name,
            category: r.category,
            status: r.status as "success",
            cancelReason: r.cancel_reason,
            startMs: r.start_ms,
            durationMs: r.duration_ms ?? 0,
          })),
        );
        const still = ended(last.seq + 1).select((of) => of.fn.countAll().as("count"));
        await batch([
          // Two that forget at once would count twice.
          guard(history, sql<SqlBool>`(${still}) <> ${rows.length}`),
          ...(await Promise.all(sums.map(added))),
          history
            .deleteFrom("executions")
            .where("seq", "<=", last.seq)
            .where("end_seq", "is not", null),
        ]);
        forgotten += rows.length;
      }
    },
  };
}
