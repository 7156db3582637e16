// Background work on lease. A lease is a number that grows: an instance with an older number changes nothing.
import { sql } from "kysely";
import type { Database } from "../database.ts";
import type { LeasedItem, Store } from "../store.ts";

export function workItems({ kysely, kind: database, batch }: Database): Store["workItems"] {
  const held = (item: Pick<LeasedItem, "kind" | "id" | "lease">) =>
    kysely
      .updateTable("work_items")
      .where("kind", "=", item.kind)
      .where("id", "=", item.id)
      .where("lease", "=", item.lease)
      .where("leased_by", "is not", null);
  return {
    async add({ kind, id, at, now }) {
      await kysely
        .insertInto("work_items")
        .values({ kind, id, due_ms: at, leased_by: null, lease: 0, woken: 0, failures: 0 })
        .onConflict((c) => c.columns(["kind", "id"]).doUpdateSet(woken(now)))
        .execute();
    },
    async wake(kind, id, now) {
      const rows = await kysely
        .updateTable("work_items")
        .set(woken(now))
        .where("kind", "=", kind)
        .where("id", "=", id)
        .returning("id")
        .execute();
      return rows.length > 0;
    },
    async lease({ kinds, instanceId, now, until, limit }) {
      if (kinds.length === 0 || limit <= 0) return [];
      const due = kysely
        .selectFrom("work_items")
        .select(["kind", "id"])
        .where("due_ms", "<=", now)
        .where("kind", "in", kinds)
        .orderBy("due_ms")
        .limit(limit);
      return kysely
        .with("due", () => (database === "postgres" ? due.forUpdate().skipLocked() : due))
        .updateTable("work_items")
        .from("due")
        .set({
          due_ms: until,
          leased_by: instanceId,
          lease: sql<number>`work_items.lease + 1`,
        })
        .whereRef("work_items.kind", "=", "due.kind")
        .whereRef("work_items.id", "=", "due.id")
        .returning([
          "work_items.kind",
          "work_items.id",
          "work_items.lease",
          "work_items.woken",
          "work_items.failures",
        ])
        .execute();
    },
    async nextAt(kinds) {
      if (kinds.length === 0) return null;
      const row = await kysely
        .selectFrom("work_items")
        .select("due_ms")
        .where("due_ms", "is not", null)
        .where("kind", "in", kinds)
        .orderBy("due_ms")
        .limit(1)
        .executeTakeFirst();
      return row?.due_ms ?? null;
    },
    async renew(instanceId, items, until) {
      if (items.length === 0) return [];
      return kysely
        .updateTable("work_items")
        .set({ due_ms: until })
        .where("leased_by", "=", instanceId)
        .where((eb) =>
          eb.or(
            items.map(({ kind, id, lease }) =>
              eb.and([eb("kind", "=", kind), eb("id", "=", id), eb("lease", "=", lease)]),
            ),
          ),
        )
        .returning(["kind", "id", "lease"])
        .execute();
    },
    async done(item, now) {
      const [gone = [], kept = []] = await batch([
        kysely
          .deleteFrom("work_items")
          .where("kind", "=", item.kind)
          .where("id", "=", item.id)
          .where("lease", "=", item.lease)
          .where("leased_by", "is not", null)
          .where("woken", "=", item.woken)
          .returning("id"),
        held(item).set({ due_ms: now, leased_by: null, failures: 0 }).returning("id"),
      ]);
      return gone.length + kept.length > 0;
    },
    async giveBack(item, { at, now, failures }) {
      const due = sql<number | null>`case when woken = ${item.woken}
        then cast(${at} as bigint) else cast(${now} as bigint) end`;
      const rows = await held(item)
        .set({ due_ms: due, leased_by: null, failures })
        .returning("id")
        .execute();
      return rows.length > 0;
    },
    async free(instanceId) {
      const rows = await kysely
        .updateTable("work_items")
        .set({ due_ms: 0, leased_by: null })
        .where("leased_by", "=", instanceId)
        .returning("id")
        .execute();
      return rows.length;
    },
  };
}

/** An item that is being advanced keeps its lease: its instance sees the wake when it gives the item back. */
const woken = (now: number) => ({
  woken: sql<number>`work_items.woken + 1`,
  due_ms: sql<number | null>`case
    when work_items.leased_by is not null then work_items.due_ms
    when work_items.due_ms < ${now} then work_items.due_ms
    else ${now} end`,
});
