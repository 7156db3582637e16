import type { Database } from "../database.ts";
import type { Store } from "../store.ts";

export function facts({ kysely, batch }: Database): Store["facts"] {
  const select = (name: string) =>
    kysely.selectFrom("facts").select("value").where("name", "=", name);
  return {
    async get(name) {
      const row = await select(name).executeTakeFirst();
      return row?.value ?? null;
    },
    async putIfAbsent(name, value) {
      const insert = kysely
        .insertInto("facts")
        .values({ name, value })
        .onConflict((c) => c.doNothing());
      const [, found] = await batch([insert, select(name)]);
      return (found?.[0]?.["value"] as string | undefined) ?? value;
    },
    async set(name, value) {
      await kysely
        .insertInto("facts")
        .values({ name, value })
        .onConflict((c) => c.column("name").doUpdateSet({ value }))
        .execute();
    },
    async replace(name, from, to) {
      const written =
        from === null
          ? kysely
              .insertInto("facts")
              .values({ name, value: to })
              .onConflict((c) => c.doNothing())
              .returning("name")
          : kysely
              .updateTable("facts")
              .set({ value: to })
              .where("name", "=", name)
              .where("value", "=", from)
              .returning("name");
      return (await written.execute()).length === 1;
    },
    async take(name) {
      const row = await kysely
        .deleteFrom("facts")
        .where("name", "=", name)
        .returning("value")
        .executeTakeFirst();
      return row?.value ?? null;
    },
  };
}
