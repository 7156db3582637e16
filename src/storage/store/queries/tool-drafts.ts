import { sql, type SqlBool } from "kysely";
import { guard, isGuarded, unique, type Database } from "../database.ts";
import type { Store, ToolDraftRow } from "../store.ts";
import type { ToolDraftsTable } from "../tables/tool-drafts.ts";
import { columns } from "./columns.ts";

const DRAFT = columns<ToolDraftRow, ToolDraftsTable>(
  [
    "id",
    "name",
    "number",
    "version",
    "replaces",
    "tenantId",
    "userId",
    "state",
    "hash",
    "definition",
    "program",
    "tests",
    "results",
    "testedAt",
    "findings",
    "proposedRisk",
    "terms",
    "reason",
    "createdAt",
    "decidedAt",
    "decidedBy",
  ],
  { json: ["definition", "program", "tests", "results", "findings", "terms"] },
);
/** More than a reader needs; the newest are returned. */
const MAX_VERSIONS = 200;

export function toolDrafts({ kysely, batch }: Database): Store["toolDrafts"] {
  const all = kysely.selectFrom("drafted_tools").selectAll();
  const first = (rows: readonly ToolDraftsTable[]): ToolDraftRow | null =>
    rows[0] ? DRAFT.fromRow(rows[0]) : null;
  return {
    async create(row) {
      await unique("tool", () =>
        kysely.insertInto("drafted_tools").values(DRAFT.toRow(row)).execute(),
      );
    },
    async get(tenantId, id) {
      return first(await all.where("tenant_id", "=", tenantId).where("id", "=", id).execute());
    },
    async versions(name) {
      const rows = await all
        .where("name", "=", name)
        .orderBy("number", "desc")
        .limit(MAX_VERSIONS)
        .execute();
      return rows.map(DRAFT.fromRow);
    },
    async version(name, version) {
      return first(await all.where("name", "=", name).where("version", "=", version).execute());
    },
    async list({ tenantId, state, name }, { limit, before }) {
      let query = all.where("tenant_id", "=", tenantId);
      if (state !== undefined) query = query.where("state", "=", state);
      if (name !== undefined) query = query.where("name", "=", name);
      if (before !== undefined) query = query.where("id", "<", before);
      return (await query.orderBy("id", "desc").limit(limit).execute()).map(DRAFT.fromRow);
    },
    async linked() {
      const rows = await all.where("state", "=", "linked").orderBy("name").execute();
      return rows.map(DRAFT.fromRow);
    },
    async tested(id, results, at) {
      await kysely
        .updateTable("drafted_tools")
        .set(DRAFT.toChange({ results, testedAt: at }))
        .where("id", "=", id)
        .execute();
    },
    async decide(id, { from, state, reason, at, by }) {
      return first(
        await kysely
          .updateTable("drafted_tools")
          .set({ state, reason, decided_at: at, decided_by: by })
          .where("id", "=", id)
          .where("state", "in", from)
          .returningAll()
          .execute(),
      );
    },
    async link({ id, name }, { from, terms, at, by }) {
      const isLost = sql<SqlBool>`not exists (select 1 from drafted_tools where id = ${id} and state in (${sql.join(from)}))`;
      const decided = { decided_at: at, decided_by: by };
      const statements = [
        guard(kysely, isLost),
        kysely
          .updateTable("drafted_tools")
          .set({ state: "retired", ...decided })
          .where("name", "=", name)
          .where("state", "=", "linked")
          .where("id", "<>", id),
        kysely
          .updateTable("drafted_tools")
          .set({ state: "linked", terms: JSON.stringify(terms), reason: null, ...decided })
          .where("id", "=", id),
      ];
      try {
        await batch(statements, `drafted tool ${name}`);
      } catch (cause) {
        if (isGuarded(cause)) return null;
        throw cause;
      }
      return first(await all.where("id", "=", id).execute());
    },
  };
}
