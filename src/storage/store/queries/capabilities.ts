import { randomUUID } from "node:crypto";
import { sql } from "kysely";
import type { Database } from "../database.ts";
import type { Store, StoredTool } from "../store.ts";

export function capabilities({ kysely, batch }: Database): Store["capabilities"] {
  return {
    async all() {
      const rows = await kysely
        .selectFrom("capabilities")
        .select(["body", "enabled"])
        .orderBy("name")
        .execute();
      return rows.map((row) => ({ ...parse(row.body), enabled: row.enabled === 1 }));
    },
    async save(tools, at) {
      if (tools.length === 0) return;
      const rows = tools.map((tool) => {
        const body = JSON.stringify({ ...tool, native: null });
        const { name, pin } = tool;
        const enabled = tool.enabled ? 1 : 0;
        return { id: randomUUID(), name, pin, enabled, body, created_at: at, updated_at: at };
      });
      await batch(
        // One row per statement: PostgreSQL refuses to touch the same row twice in one.
        rows.flatMap((row) => [
          kysely
            .insertInto("definitions")
            .values({ pin: row.pin, body: row.body })
            .onConflict((c) => c.doNothing()),
          kysely
            .insertInto("capabilities")
            .values(row)
            .onConflict((c) =>
              c.column("name").doUpdateSet((to) => ({
                pin: to.ref("excluded.pin"),
                enabled: to.ref("excluded.enabled"),
                body: to.ref("excluded.body"),
                updated_at: sql<number>`case when capabilities.pin = excluded.pin
                  then capabilities.updated_at else excluded.updated_at end`,
              })),
            ),
        ]),
      );
    },
    async record(name) {
      const row = await kysely
        .selectFrom("capabilities")
        .select(["id", "created_at as createdAt", "updated_at as updatedAt"])
        .where("name", "=", name)
        .executeTakeFirst();
      return row ?? null;
    },
    async setEnabled(name, enabled) {
      const rows = await kysely
        .updateTable("capabilities")
        .set({ enabled: enabled ? 1 : 0 })
        .where("name", "=", name)
        .returning("name")
        .execute();
      return rows.length > 0;
    },
    async remove(name) {
      const rows = await kysely
        .deleteFrom("capabilities")
        .where("name", "=", name)
        .returning("name")
        .execute();
      return rows.length > 0;
    },
    async definition(pin) {
      const row = await kysely
        .selectFrom("definitions")
        .select("body")
        .where("pin", "=", pin)
        .executeTakeFirst();
      return row ? parse(row.body) : null;
    },
  };
}

function parse(body: string): StoredTool {
  return JSON.parse(body) as StoredTool;
}
