// Capsules and their versions. A row of `capsules` is the version that acts; `capsule_versions` keeps each body.
import { sql, type Compilable, type Selectable } from "kysely";
import { CAPSULE_DEFAULTS, type CapsuleSettings } from "../../../contract/agent-config.ts";
import { guard, isDuplicate, isGuarded, unique, type Database } from "../database.ts";
import type { CapsuleBody, CapsuleRow, CapsuleVersionRow, Store } from "../store.ts";
import type { CapsuleVersionsTable } from "../tables/agent.ts";
import type { Tables } from "../tables/tables.ts";
import { columns } from "./columns.ts";

const VERSION = columns<CapsuleVersionRow, CapsuleVersionsTable>(
  ["capsuleId", "version", "status", "parent", "author", "createdAt", "body"],
  { json: ["body"] },
);

interface Edited<T> {
  readonly statements: readonly Compilable[];
  readonly result: T;
}

export function capsules(database: Database): Store["capsules"] {
  const { kysely, batch } = database;
  const { get, select, withCapabilities, first } = reads(database);
  const write = writes(database);

  const versionRows = (id: string) =>
    kysely.selectFrom("capsule_versions").selectAll().where("capsule_id", "=", id);

  const version = async (id: string, number: number): Promise<CapsuleVersionRow | null> => {
    const row = await versionRows(id).where("version", "=", number).executeTakeFirst();
    if (row) return VERSION.fromRow(row);
    const acting = await get(id); // of an earlier release, which kept none
    return acting?.version === number ? versionOf(acting, null) : null;
  };

  const newest = async ({ id, version: acting }: CapsuleRow): Promise<number> => {
    const row = await kysely
      .selectFrom("capsule_versions")
      .select((of) => of.fn.max("version").as("version"))
      .where("capsule_id", "=", id)
      .executeTakeFirst();
    return Math.max(acting, Number(row?.version ?? 0));
  };

  /** Two edits at the same moment take the same number; the later one then begins again with what the other left. */
  const edit = async <T>(
    id: string,
    make: (now: CapsuleRow, next: number) => Edited<T> | null,
  ): Promise<T | null> =>
    again(async () => {
      const now = await get(id);
      const edited = now && make(now, (await newest(now)) + 1);
      if (!edited) return null;
      const { statements, result } = edited;
      const first = [write.requireVersion(now), write.keep(versionOf(now, null))];
      await batch([...first, ...statements], `capsule ${id}`);
      return result;
    });

  return {
    async create(capsule) {
      const statements = [
        ...(capsule.isDefault ? [write.dethrone(capsule)] : []),
        write.insert(capsule),
        ...write.link(capsule),
        write.insertVersion(versionOf(capsule, null)),
      ];
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
    update: (id, { author, ...change }) =>
      edit(id, (now, next) => {
        const result: CapsuleRow = { ...now, ...change, version: next, parent: now.version };
        const statements = [
          ...(change.isDefault ? [write.dethrone(now)] : []),
          write.archive(id),
          write.insertVersion(versionOf(result, author ?? null)),
          ...write.act(result),
        ];
        return { statements, result };
      }),
    draft: (id, { author, updatedAt, ...change }) =>
      edit(id, (now, next) => {
        const drafted = { ...now, ...change, version: next, parent: now.version, updatedAt };
        const result = versionOf({ ...drafted, status: "draft" }, author ?? null);
        return { statements: [write.insertVersion(result)], result };
      }),
    async versions(id, { limit, before }) {
      let rows = versionRows(id);
      if (before !== undefined) rows = rows.where("version", "<", before);
      const found = await rows.orderBy("version", "desc").limit(limit).execute();
      if (found.length > 0 || before !== undefined) return found.map(VERSION.fromRow);
      const acting = await get(id);
      return acting ? [versionOf(acting, null)] : [];
    },
    version,
    async activate(id, number, { author, updatedAt }) {
      const chosen = await version(id, number);
      if (!chosen) return null;
      return edit(id, (now, next) => {
        const isNext = chosen.status === "draft" && number >= now.version;
        const result: CapsuleRow = {
          ...now,
          ...chosen.body,
          status: "active",
          version: isNext ? number : next,
          parent: isNext ? chosen.parent : number,
          updatedAt,
        };
        const statements = [
          write.archive(id, number),
          isNext
            ? write.promote(id, number)
            : write.insertVersion(versionOf(result, author ?? null)),
          ...write.act(result),
        ];
        return { statements, result };
      });
    },
  };
}

function reads({ kysely }: Database) {
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

  return {
    select,
    withCapabilities,
    first,
    get: (id: string) => first(select().where("id", "=", id)),
  };
}

function writes({ kysely }: Database) {
  const link = ({ id, capabilities }: CapsuleRow): Compilable[] => {
    const rows = capabilities.map((name, position) => ({ capsule_id: id, position, name }));
    // Few enough per statement for either database's limit of parameters.
    return chunks(rows, 500).map((some) => kysely.insertInto("capsule_capabilities").values(some));
  };
  const insertVersion = (row: CapsuleVersionRow) =>
    kysely.insertInto("capsule_versions").values(VERSION.toRow(row));
  return {
    link,
    insertVersion,
    dethrone: ({ id, tenantId }: CapsuleRow): Compilable =>
      kysely
        .updateTable("capsules")
        .set({ is_default: 0 })
        .where("tenant_id", "=", tenantId)
        .where("is_default", "=", 1)
        .where("id", "<>", id),
    insert: (row: CapsuleRow): Compilable => kysely.insertInto("capsules").values(toRow(row)),
    /** Ends the batch when the capsule was edited since it was read. */
    requireVersion: ({ id, version }: CapsuleRow): Compilable =>
      guard(
        kysely,
        sql<boolean>`exists (select 1 from capsules where id = ${id} and version <> ${version})`,
      ),
    /** The body that acts, where an earlier release has not kept it. */
    keep: (row: CapsuleVersionRow): Compilable =>
      insertVersion(row).onConflict((c) => c.doNothing()),
    /** What acted until now, and the body that is chosen in its place. */
    archive: (id: string, chosen = 0): Compilable =>
      kysely
        .updateTable("capsule_versions")
        .set({ status: "archived" })
        .where("capsule_id", "=", id)
        .where((is) =>
          is.or([
            is("status", "=", "active"),
            is("version", "=", chosen),
            is(
              "version",
              "=",
              kysely.selectFrom("capsules").select("version").where("id", "=", id),
            ),
          ]),
        ),
    promote: (id: string, number: number): Compilable =>
      kysely
        .updateTable("capsule_versions")
        .set({ status: "active" })
        .where("capsule_id", "=", id)
        .where("version", "=", number),
    /** Makes the row the one that acts. */
    act: (row: CapsuleRow): Compilable[] => {
      const { id: _id, created_at: _created, ...change } = toRow(row);
      return [
        kysely.updateTable("capsules").set(change).where("id", "=", row.id),
        kysely.deleteFrom("capsule_capabilities").where("capsule_id", "=", row.id),
        ...link(row),
      ];
    },
  };
}

/** Each attempt that fails means that another write succeeded. */
async function again<T>(write: () => Promise<T>): Promise<T> {
  for (let attempt = 0; attempt < 100; attempt++) {
    try {
      return await write();
    } catch (cause) {
      if (!isDuplicate(cause) && !isGuarded(cause)) throw cause;
    }
  }
  return write();
}

function chunks<T>(items: readonly T[], size: number): T[][] {
  const out: T[][] = [];
  for (let at = 0; at < items.length; at += size) out.push(items.slice(at, at + size));
  return out;
}

function settingsOf(body: CapsuleSettings): CapsuleSettings {
  const { systemPrompt, agentConfig, imageModel, voiceModel, transcriptionModel } = body;
  const { visionModel, embeddingModel, diagram } = body;
  const models = { imageModel, voiceModel, transcriptionModel, visionModel, embeddingModel };
  return { systemPrompt, agentConfig, ...models, diagram };
}

function versionOf(row: CapsuleRow, author: string | null): CapsuleVersionRow {
  const { id, version, status, parent, updatedAt, name, capabilities, listing } = row;
  const body: CapsuleBody = { name, capabilities, listing, ...settingsOf(row) };
  return { capsuleId: id, version, status, parent, author, createdAt: updatedAt, body };
}

function toRow(row: CapsuleRow): Tables["capsules"] {
  return {
    id: row.id,
    tenant_id: row.tenantId,
    name: row.name,
    version: row.version,
    status: row.status,
    is_default: row.isDefault ? 1 : 0,
    listing: row.listing,
    settings: JSON.stringify(settingsOf(row)),
    parent: row.parent,
    created_at: row.createdAt,
    updated_at: row.updatedAt,
  };
}

function fromRow(row: Selectable<Tables["capsules"]>, capabilities: string[]): CapsuleRow {
  const settings =
    row.settings === null ? CAPSULE_DEFAULTS : (JSON.parse(row.settings) as CapsuleSettings);
  return {
    id: row.id,
    tenantId: row.tenant_id,
    name: row.name,
    version: row.version,
    parent: row.parent,
    status: row.status,
    isDefault: row.is_default === 1,
    capabilities,
    listing: row.listing,
    ...settings,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}
