// Endpoints and the messages to them. A query with a tenant finds rows of that tenant only.
import { sql } from "kysely";
import { unique, type Database } from "../database.ts";
import type { DeliveryRow, Store, WebhookRow } from "../store.ts";
import type { WebhookDeliveriesTable, WebhooksTable } from "../tables/webhook.ts";
import { columns } from "./columns.ts";

const WEBHOOK = columns<WebhookRow, WebhooksTable>(
  [
    "id",
    "tenantId",
    "url",
    "events",
    "description",
    "enabled",
    "origin",
    "sealed",
    "previousSealed",
    "previousUntil",
    "fromSeq",
    "createdBy",
    "createdAt",
    "updatedAt",
    "lastSuccessAt",
    "lastFailureAt",
    "failures",
    "failingSince",
    "disabledReason",
    "dropped",
  ],
  { json: ["events"], flags: ["enabled"] },
);
const DELIVERY = columns<DeliveryRow, WebhookDeliveriesTable>([
  "id",
  "webhookId",
  "tenantId",
  "eventSeq",
  "type",
  "body",
  "state",
  "attempts",
  "nextAt",
  "lastStatus",
  "lastError",
  "response",
  "createdAt",
  "attemptedAt",
]);

/** Rows of one insert: a statement has room for 32,766 values. */
const AT_ONCE = 500;

export function webhooks({ kysely, batch }: Database): Store["webhooks"] {
  const owned = (tenantId: string) =>
    kysely.selectFrom("webhooks").selectAll().where("tenant_id", "=", tenantId);
  return {
    async create(row) {
      await unique("webhook", () =>
        kysely.insertInto("webhooks").values(WEBHOOK.toRow(row)).execute(),
      );
    },
    async get(tenantId, id) {
      const row = await owned(tenantId).where("id", "=", id).executeTakeFirst();
      return row ? WEBHOOK.fromRow(row) : null;
    },
    async list(tenantId, { limit, after = "" }) {
      const rows = await owned(tenantId)
        .where("id", ">", after)
        .orderBy("id")
        .limit(limit)
        .execute();
      return rows.map(WEBHOOK.fromRow);
    },
    async enabled() {
      const rows = await kysely
        .selectFrom("webhooks")
        .selectAll()
        .where("enabled", "=", 1)
        .orderBy("id")
        .execute();
      return rows.map(WEBHOOK.fromRow);
    },
    async update(tenantId, id, change) {
      const [row] = await kysely
        .updateTable("webhooks")
        .set(WEBHOOK.toChange(change))
        .where("tenant_id", "=", tenantId)
        .where("id", "=", id)
        .returningAll()
        .execute();
      return row ? WEBHOOK.fromRow(row) : null;
    },
    async remove(tenantId, id) {
      const [gone = []] = await batch([
        kysely
          .deleteFrom("webhooks")
          .where("tenant_id", "=", tenantId)
          .where("id", "=", id)
          .returning("id"),
        kysely
          .deleteFrom("webhook_deliveries")
          .where("tenant_id", "=", tenantId)
          .where("webhook_id", "=", id),
      ]);
      return gone.length > 0;
    },
    async disable(id, reason, at) {
      const rows = await kysely
        .updateTable("webhooks")
        .set({ enabled: 0, disabled_reason: reason, updated_at: at })
        .where("id", "=", id)
        .where("enabled", "=", 1)
        .returning("id")
        .execute();
      return rows.length > 0;
    },
    async addDropped(id, count) {
      await kysely
        .updateTable("webhooks")
        .set({ dropped: sql<number>`dropped + ${count}` })
        .where("id", "=", id)
        .execute();
    },
  };
}

type Deliveries = Store["deliveries"];

export function deliveries(database: Database): Deliveries {
  return { ...deliveryQueue(database), ...deliveryRecords(database) };
}

/** What sends them: due messages are leased, sent and settled. */
function deliveryQueue({
  kysely,
  batch,
}: Database): Pick<Deliveries, "add" | "waiting" | "lease" | "release" | "settle"> {
  return {
    async add(rows) {
      for (let from = 0; from < rows.length; from += AT_ONCE) {
        await kysely
          .insertInto("webhook_deliveries")
          .values(
            rows
              .slice(from, from + AT_ONCE)
              .map((row) => ({ ...DELIVERY.toRow(row), leased_until: 0 })),
          )
          .onConflict((c) => c.columns(["webhook_id", "event_seq"]).doNothing())
          .execute();
      }
    },
    async waiting(webhookIds) {
      if (webhookIds.length === 0) return new Map();
      const rows = await kysely
        .selectFrom("webhook_deliveries")
        .select((of) => ["webhook_id", of.fn.countAll().as("count")])
        .where("webhook_id", "in", webhookIds)
        .where("state", "=", sql.lit("pending"))
        .groupBy("webhook_id")
        .execute();
      return new Map(rows.map(({ webhook_id, count }) => [webhook_id, Number(count)]));
    },
    async lease(webhookId, now, until, limit) {
      // Read first: most of the time there is nothing to write.
      const due = await kysely
        .selectFrom("webhook_deliveries")
        .select("id")
        .where("webhook_id", "=", webhookId)
        .where("state", "=", sql.lit("pending"))
        .where("next_at", "<=", now)
        .where("leased_until", "<=", now)
        .orderBy("next_at")
        .orderBy("id")
        .limit(limit)
        .execute();
      if (due.length === 0) return [];
      const rows = await kysely
        .updateTable("webhook_deliveries")
        .set({ leased_until: until })
        .where(
          "id",
          "in",
          due.map(({ id }) => id),
        )
        // Checked again by the update: another instance may have leased or settled the row since.
        .where("state", "=", sql.lit("pending"))
        .where("leased_until", "<=", now)
        .returningAll()
        .execute();
      return rows.map(DELIVERY.fromRow);
    },
    async release(id, until) {
      await kysely
        .updateTable("webhook_deliveries")
        .set({ leased_until: 0 })
        .where("id", "=", id)
        .where("leased_until", "=", until)
        .execute();
    },
    async settle({ id, webhookId }, until, change) {
      const at = change.attemptedAt;
      const figures =
        change.state === "delivered"
          ? { last_success_at: at, failures: 0, failing_since: null }
          : {
              last_failure_at: at,
              failures: sql<number>`failures + 1`,
              failing_since: sql<number>`coalesce(failing_since, ${at})`,
            };
      const leased = kysely
        .selectFrom("webhook_deliveries")
        .select("id")
        .where("id", "=", id)
        .where("leased_until", "=", until);
      const [, done = []] = await batch([
        kysely
          .updateTable("webhooks")
          .set(figures)
          .where("id", "=", webhookId)
          .where((is) => is.exists(leased)),
        kysely
          .updateTable("webhook_deliveries")
          .set({ ...DELIVERY.toChange(change), leased_until: 0 })
          .where("id", "=", id)
          .where("leased_until", "=", until)
          .returning("id"),
      ]);
      return done.length > 0;
    },
  };
}

/** Reading and repeating by people, and deletion of old ones. */
function deliveryRecords({
  kysely,
}: Database): Pick<Deliveries, "get" | "list" | "again" | "sweep"> {
  const owned = (tenantId: string) =>
    kysely.selectFrom("webhook_deliveries").selectAll().where("tenant_id", "=", tenantId);
  return {
    async get(tenantId, id) {
      const row = await owned(tenantId).where("id", "=", id).executeTakeFirst();
      return row ? DELIVERY.fromRow(row) : null;
    },
    async list(tenantId, webhookId, { limit, before, state }) {
      let rows = owned(tenantId).where("webhook_id", "=", webhookId);
      if (before !== undefined) rows = rows.where("id", "<", before);
      if (state !== undefined) rows = rows.where("state", "=", state);
      return (await rows.orderBy("id", "desc").limit(limit).execute()).map(DELIVERY.fromRow);
    },
    async again(tenantId, id, at) {
      const [row] = await kysely
        .updateTable("webhook_deliveries")
        .set({ state: "pending", attempts: 0, next_at: at, leased_until: 0 })
        .where("tenant_id", "=", tenantId)
        .where("id", "=", id)
        .where("leased_until", "<=", at)
        .returningAll()
        .execute();
      return row ? DELIVERY.fromRow(row) : null;
    },
    async sweep(before, limit) {
      const old = kysely
        .selectFrom("webhook_deliveries")
        .select("id")
        .where("created_at", "<", before)
        .limit(limit);
      const rows = await kysely
        .deleteFrom("webhook_deliveries")
        .where("id", "in", old)
        .returning("id")
        .execute();
      return rows.length;
    },
  };
}
