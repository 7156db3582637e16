import type { Selectable } from "kysely";
import type { KeyLimits } from "../../../contract/call.ts";
import { unique, type Database } from "../database.ts";
import type { KeyRow, Store } from "../store.ts";
import type { Tables } from "../tables/tables.ts";

export function keys({ kysely, batch }: Database): Store["keys"] {
  return {
    async create(key) {
      await unique("key", () => kysely.insertInto("keys").values(toRow(key)).execute());
    },
    async get(id) {
      const row = await kysely
        .selectFrom("keys")
        .selectAll()
        .where("id", "=", id)
        .executeTakeFirst();
      return row ? fromRow(row) : null;
    },
    async byPrefix(prefix) {
      const rows = await kysely
        .selectFrom("keys")
        .selectAll()
        .where("prefix", "=", prefix)
        .orderBy("id")
        .execute();
      return rows.map(fromRow);
    },
    async list(tenantId, { limit, after = "", userId }) {
      let query = kysely
        .selectFrom("keys")
        .selectAll()
        .where("tenant_id", "=", tenantId)
        .where("id", ">", after);
      if (userId !== undefined) query = query.where("user_id", "=", userId);
      const rows = await query.orderBy("id").limit(limit).execute();
      return rows.map(fromRow);
    },
    async revoke(id, at) {
      const rows = await kysely
        .updateTable("keys")
        .set({ revoked_at: at })
        .where("id", "=", id)
        .where("revoked_at", "is", null)
        .returning("id")
        .execute();
      return rows.length > 0;
    },
    async touch(uses) {
      if (uses.length === 0) return;
      // In id order, so that two instances lock the rows alike.
      const sorted = uses.toSorted((a, b) => (a.id < b.id ? -1 : 1));
      const updates = sorted.map(({ id, at }) =>
        kysely
          .updateTable("keys")
          .set({ last_used_at: at })
          .where("id", "=", id)
          .where((is) => is.or([is("last_used_at", "is", null), is("last_used_at", "<", at)])),
      );
      await batch(updates);
    },
    async expire(id, at) {
      await kysely
        .updateTable("keys")
        .set({ expires_at: at })
        .where("id", "=", id)
        .where((is) => is.or([is("expires_at", "is", null), is("expires_at", ">", at)]))
        .execute();
    },
    async update(id, { limits }) {
      const row = await kysely
        .updateTable("keys")
        .set({ limits: limits && JSON.stringify(limits) })
        .where("id", "=", id)
        .returningAll()
        .executeTakeFirst();
      return row ? fromRow(row) : null;
    },
  };
}

function toRow(key: KeyRow): Tables["keys"] {
  return {
    id: key.id,
    tenant_id: key.tenantId,
    user_id: key.userId,
    name: key.name,
    prefix: key.prefix,
    salt: key.salt,
    hash: key.hash,
    scopes: JSON.stringify(key.scopes),
    level: key.level,
    capsule_id: key.capsuleId,
    created_at: key.createdAt,
    expires_at: key.expiresAt,
    revoked_at: key.revokedAt,
    last_used_at: key.lastUsedAt,
    limits: key.limits && JSON.stringify(key.limits),
  };
}

function fromRow(row: Selectable<Tables["keys"]>): KeyRow {
  return {
    id: row.id,
    tenantId: row.tenant_id,
    userId: row.user_id,
    name: row.name,
    prefix: row.prefix,
    salt: row.salt,
    hash: row.hash,
    scopes: JSON.parse(row.scopes) as string[],
    level: row.level,
    capsuleId: row.capsule_id,
    createdAt: row.created_at,
    expiresAt: row.expires_at,
    revokedAt: row.revoked_at,
    lastUsedAt: row.last_used_at,
    limits: row.limits === null ? null : (JSON.parse(row.limits) as KeyLimits),
  };
}
