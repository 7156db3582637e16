import type { Selectable } from "kysely";
import type { JsonObject } from "../../../contract/call.ts";
import { unique, type Database } from "../database.ts";
import type { Store, UserRow } from "../store.ts";
import type { Tables } from "../tables/tables.ts";

export function users({ kysely }: Database): Store["users"] {
  async function get(id: string): Promise<UserRow | null> {
    const row = await kysely
      .selectFrom("users")
      .selectAll()
      .where("id", "=", id)
      .executeTakeFirst();
    return row ? fromRow(row) : null;
  }
  return {
    async create(user) {
      const { id, tenantId, name, role, roles, plan, preferences, createdAt } = user;
      const row = {
        id,
        tenant_id: tenantId,
        name,
        role,
        roles: JSON.stringify(roles),
        plan,
        preferences: JSON.stringify(preferences),
        created_at: createdAt,
      };
      await unique("user", () => kysely.insertInto("users").values(row).execute());
    },
    get,
    async list(tenantId, { limit, after = "" }) {
      const rows = await kysely
        .selectFrom("users")
        .selectAll()
        .where("tenant_id", "=", tenantId)
        .where("id", ">", after)
        .orderBy("id")
        .limit(limit)
        .execute();
      return rows.map(fromRow);
    },
    async update(id, { name, role, roles, plan, preferences }) {
      const change = {
        ...(name !== undefined && { name }),
        ...(role !== undefined && { role }),
        ...(roles !== undefined && { roles: JSON.stringify(roles) }),
        ...(plan !== undefined && { plan }),
        ...(preferences !== undefined && { preferences: JSON.stringify(preferences) }),
      };
      if (Object.keys(change).length === 0) return get(id);
      const row = await kysely
        .updateTable("users")
        .set(change)
        .where("id", "=", id)
        .returningAll()
        .executeTakeFirst();
      return row ? fromRow(row) : null;
    },
  };
}

function fromRow(row: Selectable<Tables["users"]>): UserRow {
  return {
    id: row.id,
    tenantId: row.tenant_id,
    name: row.name,
    role: row.role,
    roles: JSON.parse(row.roles) as string[],
    plan: row.plan,
    preferences: JSON.parse(row.preferences) as JsonObject,
    createdAt: row.created_at,
  };
}
