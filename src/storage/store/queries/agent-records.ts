import { unique, type Database } from "../database.ts";
import type { ModelRow, PersonaRow, Store } from "../store.ts";
import type { ModelsTable, PersonasTable } from "../tables/agent.ts";
import { columns } from "./columns.ts";

const PERSONA = columns<PersonaRow, PersonasTable>(
  ["id", "tenantId", "name", "prompt", "traits", "knobs", "capabilities", "createdAt", "updatedAt"],
  { json: ["traits", "knobs", "capabilities"] },
);

const MODEL = columns<ModelRow, ModelsTable>(
  [
    "tenantId",
    "name",
    "settings",
    "keyReference",
    "sealedKey",
    "source",
    "enabled",
    "position",
    "createdAt",
    "updatedAt",
  ],
  { json: ["settings"], flags: ["enabled"] },
);

export function personas({ kysely }: Database): Store["personas"] {
  const owned = (tenantId: string) =>
    kysely.selectFrom("personas").selectAll().where("tenant_id", "=", tenantId);
  return {
    async create(row) {
      await unique("persona", () =>
        kysely.insertInto("personas").values(PERSONA.toRow(row)).execute(),
      );
    },
    async get(tenantId, id) {
      const row = await owned(tenantId).where("id", "=", id).executeTakeFirst();
      return row ? PERSONA.fromRow(row) : null;
    },
    async list(tenantId, { limit, after = "" }) {
      const rows = await owned(tenantId)
        .where("id", ">", after)
        .orderBy("id")
        .limit(limit)
        .execute();
      return rows.map(PERSONA.fromRow);
    },
    async update(tenantId, id, change) {
      const [row] = await kysely
        .updateTable("personas")
        .set(PERSONA.toChange(change))
        .where("tenant_id", "=", tenantId)
        .where("id", "=", id)
        .returningAll()
        .execute();
      return row ? PERSONA.fromRow(row) : null;
    },
    async remove(tenantId, id) {
      const gone = await kysely
        .deleteFrom("personas")
        .where("tenant_id", "=", tenantId)
        .where("id", "=", id)
        .returning("id")
        .execute();
      return gone.length > 0;
    },
  };
}

export function models({ kysely, batch }: Database): Store["models"] {
  const owned = (tenantId: string) =>
    kysely.selectFrom("models").selectAll().where("tenant_id", "=", tenantId);
  return {
    async create(row) {
      await unique("model", () => kysely.insertInto("models").values(MODEL.toRow(row)).execute());
    },
    async get(tenantId, name) {
      const row = await owned(tenantId).where("name", "=", name).executeTakeFirst();
      return row ? MODEL.fromRow(row) : null;
    },
    async list(tenantId) {
      const rows = await owned(tenantId).orderBy("position").orderBy("name").execute();
      return rows.map(MODEL.fromRow);
    },
    async update(tenantId, name, change) {
      const [row] = await kysely
        .updateTable("models")
        .set(MODEL.toChange(change))
        .where("tenant_id", "=", tenantId)
        .where("name", "=", name)
        .returningAll()
        .execute();
      return row ? MODEL.fromRow(row) : null;
    },
    async remove(tenantId, name) {
      const gone = await kysely
        .deleteFrom("models")
        .where("tenant_id", "=", tenantId)
        .where("name", "=", name)
        .returning("name")
        .execute();
      return gone.length > 0;
    },
    async replaceSettings(rows) {
      await batch([
        kysely.deleteFrom("models").where("source", "=", "settings"),
        ...rows.map((row) => kysely.insertInto("models").values(MODEL.toRow(row))),
      ]);
    },
  };
}
