// Upstream servers, what they offer in all its versions, and their credentials.
import { sql } from "kysely";
import { unique, type Database } from "../database.ts";
import type {
  CredentialRow,
  ServerRow,
  ServerToolRow,
  ServerToolVersion,
  Store,
} from "../store.ts";
import type {
  CredentialsTable,
  ServersTable,
  ServerToolsTable,
  ServerToolVersionsTable,
} from "../tables/upstream.ts";
import { columns } from "./columns.ts";

const SERVER = columns<ServerRow, ServersTable>(
  [
    "name",
    "tenantId",
    "description",
    "transport",
    "settings",
    "enabled",
    "origin",
    "createdBy",
    "createdAt",
    "updatedAt",
  ],
  { json: ["transport", "settings"], flags: ["enabled"] },
);
const TOOL = columns<ServerToolRow, ServerToolsTable>(
  [
    "server",
    "name",
    "method",
    "upstreamName",
    "wireName",
    "state",
    "reason",
    "approvedPin",
    "seenPin",
    "terms",
    "findings",
    "firstSeenAt",
    "seenAt",
    "decidedBy",
    "decidedAt",
  ],
  { json: ["upstreamName", "terms", "findings"] },
);
const VERSION = columns<ServerToolVersion, ServerToolVersionsTable>(
  ["server", "name", "pin", "definition", "firstSeenAt", "approvedAt", "approvedBy"],
  { json: ["definition"] },
);
const CREDENTIAL = columns<CredentialRow, CredentialsTable>([
  "server",
  "userId",
  "name",
  "tenantId",
  "sealed",
  "updatedAt",
]);

const TOOL_CHANGES = [
  "method",
  "upstream_name",
  "wire_name",
  "state",
  "reason",
  "approved_pin",
  "seen_pin",
  "terms",
  "findings",
  "seen_at",
  "decided_by",
  "decided_at",
] as const;

export function servers({ kysely, batch }: Database): Store["servers"] {
  return {
    async create(row) {
      await unique("server", () =>
        kysely.insertInto("servers").values(SERVER.toRow(row)).execute(),
      );
    },
    async get(name) {
      const row = await kysely
        .selectFrom("servers")
        .selectAll()
        .where("name", "=", name)
        .executeTakeFirst();
      return row ? SERVER.fromRow(row) : null;
    },
    async list(tenantId) {
      let rows = kysely.selectFrom("servers").selectAll();
      if (tenantId !== undefined) rows = rows.where("tenant_id", "=", tenantId);
      return (await rows.orderBy("name").execute()).map(SERVER.fromRow);
    },
    async update(name, change) {
      const [row] = await kysely
        .updateTable("servers")
        .set(SERVER.toChange(change))
        .where("name", "=", name)
        .returningAll()
        .execute();
      return row ? SERVER.fromRow(row) : null;
    },
    async remove(name) {
      const [gone = []] = await batch([
        kysely.deleteFrom("servers").where("name", "=", name).returning("name"),
        kysely.deleteFrom("server_tools").where("server", "=", name),
        kysely.deleteFrom("server_tool_versions").where("server", "=", name),
        kysely.deleteFrom("credentials").where("server", "=", name),
      ]);
      return gone.length > 0;
    },
  };
}

export function serverTools({ kysely, batch }: Database): Store["serverTools"] {
  const tools = (server: string) =>
    kysely.selectFrom("server_tools").selectAll().where("server", "=", server);
  const versions = (server: string, name: string) =>
    kysely
      .selectFrom("server_tool_versions")
      .selectAll()
      .where("server", "=", server)
      .where("name", "=", name);

  const keepTool = (row: ServerToolRow) =>
    kysely
      .insertInto("server_tools")
      .values(TOOL.toRow(row))
      .onConflict((c) =>
        c
          .columns(["server", "name"])
          .doUpdateSet((to) =>
            Object.fromEntries(TOOL_CHANGES.map((name) => [name, to.ref(`excluded.${name}`)])),
          )
          // A comparison that began before a decision does not undo it.
          .where(
            sql<boolean>`coalesce(excluded.decided_at, 0) >= coalesce(server_tools.decided_at, 0)`,
          ),
      );
  const keepVersion = (row: ServerToolVersion) =>
    kysely
      .insertInto("server_tool_versions")
      .values(VERSION.toRow(row))
      .onConflict((c) =>
        c.columns(["server", "name", "pin"]).doUpdateSet({
          approved_at: sql<number>`coalesce(excluded.approved_at, server_tool_versions.approved_at)`,
          approved_by: sql<string>`coalesce(excluded.approved_by, server_tool_versions.approved_by)`,
        }),
      );

  return {
    list: async (server) => (await tools(server).orderBy("name").execute()).map(TOOL.fromRow),
    async get(server, name) {
      const row = await tools(server).where("name", "=", name).executeTakeFirst();
      return row ? TOOL.fromRow(row) : null;
    },
    async save(rows, kept) {
      if (rows.length + kept.length === 0) return;
      // One row per statement: PostgreSQL refuses to touch the same row twice in one.
      await batch([...rows.map(keepTool), ...kept.map(keepVersion)]);
    },
    async versions(server, name) {
      const rows = await versions(server, name)
        .orderBy("first_seen_at", "desc")
        .orderBy("pin")
        .execute();
      return rows.map(VERSION.fromRow);
    },
    async version(server, name, pin) {
      const row = await versions(server, name).where("pin", "=", pin).executeTakeFirst();
      return row ? VERSION.fromRow(row) : null;
    },
  };
}

export function credentials({ kysely }: Database): Store["credentials"] {
  const of = (server: string, userId: string) =>
    kysely
      .selectFrom("credentials")
      .selectAll()
      .where("server", "=", server)
      .where("user_id", "=", userId);
  return {
    async put(row) {
      await kysely
        .insertInto("credentials")
        .values(CREDENTIAL.toRow(row))
        .onConflict((c) =>
          c.columns(["server", "user_id", "name"]).doUpdateSet((to) => ({
            tenant_id: to.ref("excluded.tenant_id"),
            sealed: to.ref("excluded.sealed"),
            updated_at: to.ref("excluded.updated_at"),
          })),
        )
        .execute();
    },
    async get(server, userId, name) {
      const row = await of(server, userId).where("name", "=", name).executeTakeFirst();
      return row ? CREDENTIAL.fromRow(row) : null;
    },
    list: async (server, userId) =>
      (await of(server, userId).orderBy("name").execute()).map(CREDENTIAL.fromRow),
    async remove(server, userId, name) {
      const rows = await kysely
        .deleteFrom("credentials")
        .where("server", "=", server)
        .where("user_id", "=", userId)
        .where("name", "=", name)
        .returning("name")
        .execute();
      return rows.length > 0;
    },
  };
}
