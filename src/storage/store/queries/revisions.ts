import { sql } from "kysely";
import type { Database } from "../database.ts";
import type { Store } from "../store.ts";

export function revisions({ kysely }: Database): Store["revisions"] {
  return {
    async bump(name) {
      const row = await kysely
        .insertInto("revisions")
        .values({ name, revision: 1 })
        .onConflict((c) =>
          c.column("name").doUpdateSet({ revision: sql<number>`revisions.revision + 1` }),
        )
        .returning("revision")
        .executeTakeFirstOrThrow();
      return row.revision;
    },
    async all() {
      const rows = await kysely.selectFrom("revisions").selectAll().execute();
      return Object.fromEntries(rows.map((row) => [row.name, row.revision]));
    },
  };
}
