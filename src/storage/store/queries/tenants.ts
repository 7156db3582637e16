import type { Database } from "../database.ts";
import type { Store } from "../store.ts";

export function tenants({ kysely }: Database): Store["tenants"] {
  return {
    async ensure({ id, name, plan, createdAt }) {
      const row = { id, name, plan, created_at: createdAt };
      await kysely
        .insertInto("tenants")
        .values(row)
        .onConflict((c) => c.doNothing())
        .execute();
    },
    async get(id) {
      const found = await kysely
        .selectFrom("tenants")
        .select(["id", "name", "plan"])
        .where("id", "=", id)
        .executeTakeFirst();
      return found ?? null;
    },
    async update(id, { plan }) {
      const changed = await kysely
        .updateTable("tenants")
        .set({ plan })
        .where("id", "=", id)
        .returning(["id", "name", "plan"])
        .executeTakeFirst();
      return changed ?? null;
    },
  };
}
