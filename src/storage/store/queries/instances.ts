// The instances on one database. A claim on one counts only while it has not written a new sign of life.
import type { Database } from "../database.ts";
import type { InstanceRow, Store } from "../store.ts";
import type { InstancesTable } from "../tables/durable.ts";
import { columns } from "./columns.ts";

const INSTANCE = columns<InstanceRow, InstancesTable>(["id", "startedAt", "seenAt", "lostAt"]);

export function instances({ kysely }: Database): Store["instances"] {
  return {
    async started(id, at) {
      await kysely
        .insertInto("instances")
        .values({ id, started_at: at, seen_at: at, lost_at: null })
        .onConflict((c) =>
          c.column("id").doUpdateSet({ started_at: at, seen_at: at, lost_at: null }),
        )
        .execute();
    },
    async seen(id, at) {
      const rows = await kysely
        .updateTable("instances")
        .set({ seen_at: at })
        .where("id", "=", id)
        .where("lost_at", "is", null)
        .returning("id")
        .execute();
      return rows.length > 0;
    },
    async all() {
      const rows = await kysely.selectFrom("instances").selectAll().orderBy("id").execute();
      return rows.map(INSTANCE.fromRow);
    },
    async claim({ id, seenAt, lostAt }, now) {
      const rows = await kysely
        .updateTable("instances")
        .set({ lost_at: now })
        .where("id", "=", id)
        .where("seen_at", "=", seenAt)
        .where("lost_at", lostAt === null ? "is" : "=", lostAt)
        .returning("id")
        .execute();
      return rows.length > 0;
    },
    async closed(id, lostAt) {
      await kysely
        .deleteFrom("instances")
        .where("id", "=", id)
        .where("lost_at", lostAt === null ? "is" : "=", lostAt)
        .execute();
    },
  };
}
