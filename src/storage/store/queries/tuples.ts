// Relationships, with a log of what each write did so that other instances need not read them all again.
import { expressionBuilder, type Compilable, type Selectable } from "kysely";
import { guard, isDuplicate, isGuarded, type Database } from "../database.ts";
import {
  AlreadyExists,
  PreconditionFailed,
  type Store,
  type TupleChange,
  type TupleKey,
  type TupleRow,
} from "../store.ts";
import type { Tables } from "../tables/tables.ts";

/** Writes that a reader may be behind before it must read everything. */
const KEPT_WRITES = 10_000;
/** Few enough per statement for either database's limit of parameters. */
const ROWS_PER_INSERT = 500;

const KEY_COLUMNS: Record<
  keyof TupleKey,
  Exclude<keyof Tables["tuples"], "caveat" | "caveat_context" | "expires_at">
> = {
  resourceType: "resource_type",
  resourceId: "resource_id",
  relation: "relation",
  subjectType: "subject_type",
  subjectId: "subject_id",
  subjectRelation: "subject_relation",
};
const { exists, not } = expressionBuilder<Tables>();
const KEY_FIELDS = Object.keys(KEY_COLUMNS) as (keyof TupleKey)[];

export function tuples({ kysely, batch }: Database): Store["tuples"] {
  const matching = (filter: Partial<TupleKey>) => {
    let query = kysely.selectFrom("tuples").select("relation");
    for (const field of KEY_FIELDS) {
      const value = filter[field];
      if (value !== undefined) query = query.where(KEY_COLUMNS[field], "=", value);
    }
    return query;
  };

  const head = () =>
    kysely
      .selectFrom("tuple_changes")
      .select((of) => of.fn.coalesce(of.fn.max("revision"), of.lit(0)).as("revision"));

  return {
    async all() {
      // One statement, so that number and rows are of the same moment.
      const rows = await kysely
        .selectFrom(head().as("head"))
        .leftJoin("tuples", (join) => join.onTrue())
        .selectAll("tuples")
        .select("head.revision")
        .execute();
      const found = rows.filter((row) => row.relation !== null) as Selectable<Tables["tuples"]>[];
      return { revision: Number(rows[0]?.revision ?? 0), tuples: found.map(fromRow) };
    },
    async since(revision) {
      const rows = await kysely
        .selectFrom("tuple_changes")
        .selectAll()
        .where("revision", ">=", revision)
        .orderBy("revision")
        .execute();
      // The reader's own revision must still be there, else something between is gone. Nothing comes before the first.
      const first = rows[0]?.revision ?? 0;
      if (revision === 0 ? first > 1 : first !== revision) return null;
      const newer = rows.filter((row) => row.revision > revision);
      return {
        revision: rows.at(-1)?.revision ?? 0,
        changes: newer.flatMap((row) => JSON.parse(row.changes) as TupleChange[]),
      };
    },
    async write(changes, preconditions, now) {
      const sweep = kysely.deleteFrom("tuples").where("expires_at", "<=", now);
      const conditions = preconditions.map(({ matches, filter }) =>
        guard(kysely, matches ? not(exists(matching(filter))) : exists(matching(filter))),
      );
      const record = kysely
        .insertInto("tuple_changes")
        .columns(["revision", "changes"])
        .expression((of) =>
          of
            .selectFrom(head().as("head"))
            .select((is) => [
              is("head.revision", "+", is.lit(1)).as("revision"),
              is.cast<string>(is.val(JSON.stringify(changes)), "text").as("changes"),
            ]),
        );
      const prune = kysely
        .deleteFrom("tuple_changes")
        .where("revision", "<=", (of) =>
          of
            .selectFrom(head().as("head"))
            .select((is) => is("head.revision", "-", is.lit(KEPT_WRITES)).as("last")),
        );
      const recorded = changes.length > 0 ? [record, prune] : [];
      try {
        const results = await batch(
          [sweep, ...conditions, ...statementsOf(changes, kysely), ...recorded, head()],
          "tuples",
        );
        return Number(results.at(-1)?.[0]?.["revision"] ?? 0);
      } catch (cause) {
        if (isDuplicate(cause)) throw new AlreadyExists("relationship");
        if (isGuarded(cause))
          throw new PreconditionFailed("a precondition of the write does not hold");
        throw cause;
      }
    },
  };
}

/** The statements of a write, in its order; neighbouring creations share a statement. */
function statementsOf(changes: readonly TupleChange[], kysely: Database["kysely"]): Compilable[] {
  const insert = (rows: readonly TupleRow[]) => kysely.insertInto("tuples").values(rows.map(toRow));

  const touch = (tuple: TupleRow) =>
    insert([tuple]).onConflict((c) =>
      c.columns(Object.values(KEY_COLUMNS)).doUpdateSet((to) => ({
        caveat: to.ref("excluded.caveat"),
        caveat_context: to.ref("excluded.caveat_context"),
        expires_at: to.ref("excluded.expires_at"),
      })),
    );

  const remove = (tuple: TupleRow) => {
    let query = kysely.deleteFrom("tuples");
    for (const field of KEY_FIELDS) query = query.where(KEY_COLUMNS[field], "=", tuple[field]);
    return query;
  };

  const out: Compilable[] = [];
  let created: TupleRow[] = [];
  const flush = () => {
    if (created.length > 0) out.push(insert(created));
    created = [];
  };
  for (const { operation, tuple } of changes) {
    if (operation !== "create" || created.length === ROWS_PER_INSERT) flush();
    if (operation === "create") created.push(tuple);
    else out.push(operation === "touch" ? touch(tuple) : remove(tuple));
  }
  flush();
  return out;
}

function toRow(tuple: TupleRow): Tables["tuples"] {
  return {
    resource_type: tuple.resourceType,
    resource_id: tuple.resourceId,
    relation: tuple.relation,
    subject_type: tuple.subjectType,
    subject_id: tuple.subjectId,
    subject_relation: tuple.subjectRelation,
    caveat: tuple.caveat,
    caveat_context: tuple.caveatContext,
    expires_at: tuple.expiresAt,
  };
}

function fromRow(row: Selectable<Tables["tuples"]>): TupleRow {
  return {
    resourceType: row.resource_type,
    resourceId: row.resource_id,
    relation: row.relation,
    subjectType: row.subject_type,
    subjectId: row.subject_id,
    subjectRelation: row.subject_relation,
    caveat: row.caveat,
    caveatContext: row.caveat_context,
    expiresAt: row.expires_at,
  };
}
