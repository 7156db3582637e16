import type { Selectable } from "kysely";
import type { DocumentKind, DocumentState, DocumentVersion } from "../../../contract/document.ts";
import type { Database } from "../database.ts";
import type { Store } from "../store.ts";
import type { Tables } from "../tables/tables.ts";

export function documents({ kysely, batch }: Database): Store["documents"] {
  const select = (kind: DocumentKind) =>
    kysely.selectFrom("documents").selectAll().where("kind", "=", kind);

  /** At most one version of a kind is enforced, and one on trial; the former holder of either retires. */
  const retire = (kind: DocumentKind, state: DocumentState) =>
    kysely
      .updateTable("documents")
      .set({ state: "retired" })
      .where("kind", "=", kind)
      .where("state", "=", state);

  return {
    async create(document) {
      const { kind, state, files, hash, note, createdBy, createdAt, enforcedAt } = document;
      const next = kysely
        .selectFrom("documents")
        .select((of) =>
          of(of.fn.coalesce(of.fn.max("version"), of.lit(0)), "+", of.lit(1)).as("version"),
        )
        .where("kind", "=", kind);
      const insert = kysely
        .insertInto("documents")
        .values({
          kind,
          version: next as unknown as number,
          state,
          files: JSON.stringify(files),
          hash,
          note,
          created_by: createdBy,
          created_at: createdAt,
          enforced_at: enforcedAt,
        })
        .returning("version");
      const former = holds(state) ? [retire(kind, state)] : [];
      const results = await batch([...former, insert], `documents ${kind}`);
      return { ...document, version: Number(results.at(-1)?.[0]?.["version"]) };
    },
    async get(kind, version) {
      const row = await select(kind).where("version", "=", version).executeTakeFirst();
      return row ? fromRow(row) : null;
    },
    async inState(kind, state) {
      const row = await select(kind).where("state", "=", state).executeTakeFirst();
      return row ? fromRow(row) : null;
    },
    async list(kind, { limit, before }) {
      let query = select(kind);
      if (before !== undefined) query = query.where("version", "<", before);
      return (await query.orderBy("version", "desc").limit(limit).execute()).map(fromRow);
    },
    async setState(kind, version, state, at) {
      const there = select(kind).where("version", "=", version);
      const former = retire(kind, state)
        .where("version", "<>", version)
        .where((is) => is.exists(there));
      const update = kysely
        .updateTable("documents")
        .set({ state, ...(state === "enforced" && { enforced_at: at }) })
        .where("kind", "=", kind)
        .where("version", "=", version);
      const results = await batch(
        [...(holds(state) ? [former] : []), update, there],
        `documents ${kind}`,
      );
      const [row] = (results.at(-1) ?? []) as unknown as Selectable<Tables["documents"]>[];
      return row ? fromRow(row) : null;
    },
  };
}

function holds(state: DocumentState): boolean {
  return state === "enforced" || state === "shadow";
}

function fromRow(row: Selectable<Tables["documents"]>): DocumentVersion {
  return {
    kind: row.kind,
    version: row.version,
    state: row.state,
    files: JSON.parse(row.files) as Record<string, string>,
    hash: row.hash,
    note: row.note,
    createdBy: row.created_by,
    createdAt: row.created_at,
    enforcedAt: row.enforced_at,
  };
}
