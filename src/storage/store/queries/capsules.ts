import { sql, type Compilable, type Selectable } from "kysely";
import { isDuplicate, unique, type Database } from "../database.ts";
import type { CapsuleRow, Store } from "../store.ts";
import type { Tables } from "../tables/tables.ts";

export function capsules({ kysely, batch }: Database): Store["capsules"] {
  const select = () => kysely.selectFrom("capsules").selectAll();

  async function withCapabilities(rows: Selectable<Tables["capsules"]>[]): Promise<CapsuleRow[]> {
    if (rows.length === 0) return [];
    const links = await kysely
      .selectFrom("capsule_capabilities")
      .select(["capsule_id", "name"])
      .where(
        "capsule_id",
        "in",
        rows.map((row) => row.id),
      )
      .orderBy("capsule_id")
      .orderBy("position")
      .execute();
    const names = Map.groupBy(links, (link) => link.capsule_id);
    return rows.map((row) =>
      fromRow(
        row,
        (names.get(row.id) ?? []).map((link) => link.name),
      ),
    );
  }

  async function first(query: ReturnType<typeof select>): Promise<CapsuleRow | null> {
    const [capsule] = await withCapabilities(await query.limit(1).execute());
    return capsule ?? null;
  }

  const get = (id: string) => first(select().where("id", "=", id));

  function link(id: string, names: readonly string[]): Compilable[] {
    const rows = names.map((name, position) => ({ capsule_id: id, position, name }));
    // Few enough per statement for either database's limit of parameters.
    return chunks(rows, 500).map((some) => kysely.insertInto("capsule_capabilities").values(some));
  }

  return {
    async create(capsule) {
      const { id, tenantId, name, version, status, isDefault, capabilities, listing } = capsule;
      const row = {
        id,
        tenant_id: tenantId,
        name,
        version,
        status,
        is_default: isDefault ? 1 : 0,
        listing,
        created_at: capsule.createdAt,
        updated_at: capsule.updatedAt,
      };
      const dethrone = kysely
        .updateTable("capsules")
        .set({ is_default: 0 })
        .where("tenant_id", "=", tenantId)
        .where("is_default", "=", 1);
      const insert = kysely.insertInto("capsules").values(row);
      const statements = [...(isDefault ? [dethrone] : []), insert, ...link(id, capabilities)];
      await unique("capsule", () => again(() => batch(statements)));
    },
    get,
    defaultOf: (tenantId) =>
      first(select().where("tenant_id", "=", tenantId).where("is_default", "=", 1)),
    async list(tenantId, { limit, after = "" }) {
      const rows = await select()
        .where("tenant_id", "=", tenantId)
        .where("id", ">", after)
        .orderBy("id")
        .limit(limit)
        .execute();
      return withCapabilities(rows);
    },
    async update(id, { name, status, isDefault, capabilities, listing, updatedAt }) {
      if (!(await get(id))) return null; // capsules are archived, never deleted, so it stays true
      const statements: Compilable[] = [];
      if (isDefault) {
        const tenant = kysely.selectFrom("capsules").select("tenant_id").where("id", "=", id);
        statements.push(
          kysely
            .updateTable("capsules")
            .set({ is_default: 0 })
            .where("tenant_id", "=", tenant)
            .where("is_default", "=", 1)
            .where("id", "<>", id),
        );
      }
      statements.push(
        kysely
          .updateTable("capsules")
          .set({
            version: sql<number>`version + 1`,
            updated_at: updatedAt,
            ...(name !== undefined && { name }),
            ...(status !== undefined && { status }),
            ...(listing !== undefined && { listing }),
            ...(isDefault !== undefined && { is_default: isDefault ? 1 : 0 }),
          })
          .where("id", "=", id),
      );
      if (capabilities) {
        statements.push(
          kysely.deleteFrom("capsule_capabilities").where("capsule_id", "=", id),
          ...link(id, capabilities),
        );
      }
      await again(() => batch(statements));
      return get(id);
    },
  };
}

/** Two instances that set a default at the same moment: the later one must see the earlier one first. */
async function again<T>(write: () => Promise<T>): Promise<T> {
  for (let attempt = 0; attempt < 10; attempt++) {
    try {
      return await write();
    } catch (cause) {
      if (!isDuplicate(cause)) throw cause;
    }
  }
  return write();
}

function chunks<T>(items: readonly T[], size: number): T[][] {
  const out: T[][] = [];
  for (let at = 0; at < items.length; at += size) out.push(items.slice(at, at + size));
  return out;
}

function fromRow(row: Selectable<Tables["capsules"]>, capabilities: string[]): CapsuleRow {
  return {
    id: row.id,
    tenantId: row.tenant_id,
    name: row.name,
    version: row.version,
    status: row.status,
    isDefault: row.is_default === 1,
    capabilities,
    listing: row.listing,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}
