// What a writing statement would do to a SQLite file: run inside a transaction that its caller rolls back.
import type { DatabaseSync } from "node:sqlite";
import type { TableShape } from "../../../contract/powers/database.ts";
import {
  PREVIEWED_ROWS,
  type ChangeRequest,
  type InsertRequest,
  type RowsPreview,
  type WriteRequest,
} from "../database.ts";
import { tooManyRows } from "../faults.ts";
import {
  changeStatements,
  insertStatement,
  quoted,
  rowsStatement,
  type KnownTable,
} from "../statements.ts";
import { Rows } from "../values.ts";
import { shapeOf } from "./catalogue.ts";
import { changesOf, dialect, runAll } from "./statement.ts";

type Row = Record<string, unknown>;

/** A table whose rows are known again by their keys; without keys (a view, a virtual table) only rows are counted. */
interface Keyed extends KnownTable {
  readonly keys: readonly string[];
}

/** Reads the catalogue at once, before the authorizer is set; the rest is to be run in the transaction. */
export function previewRows(db: DatabaseSync, write: WriteRequest): () => RowsPreview {
  const shape = shapeOf(db, write.table);
  const keys = keysOf(db, write.table, shape);
  const table = { schema: "main", name: write.table, columns: shape.columns, keys };
  return write.op === "insert"
    ? () => previewInsert(db, table, write)
    : () => previewChange(db, table, write);
}

function keysOf(db: DatabaseSync, name: string, { primaryKey }: TableShape): readonly string[] {
  if (primaryKey.length > 0) return primaryKey;
  const found = db.prepare("select type from pragma_table_list where schema = 'main' and name = ?");
  return found.get(name)?.["type"] === "table" ? ["rowid"] : [];
}

function previewInsert(db: DatabaseSync, table: Keyed, request: InsertRequest): RowsPreview {
  const { sql, params } = insertStatement(table, { ...request, returning: [] }, dialect);
  // The caller's own columns must exist, though others are looked at.
  insertStatement(table, request, dialect);
  const total = totalOf(db);
  const made = runAll(db, { sql: `${sql}${returningKeys(table)}`, params });
  const inserted = changesOf(db);
  const shown = new Rows(PREVIEWED_ROWS);
  for (const row of rowsAt(db, table, made.slice(0, PREVIEWED_ROWS))) shown.add(row);
  return {
    rows: inserted,
    skipped: request.rows.length - inserted,
    otherRows: totalOf(db) - total - inserted,
    columns: namesOf(table),
    before: [],
    after: shown.rows,
    cut: shown.truncated || shown.rows.length < inserted,
  };
}

function previewChange(db: DatabaseSync, table: Keyed, request: ChangeRequest): RowsPreview {
  const { count, change } = changeStatements(table, request, dialect);
  const matched = Number(Object.values(runAll(db, count)[0] ?? { count: 0 })[0]);
  if (matched > request.maxRows) throw tooManyRows(request.maxRows);
  const columns = namesOf(table);
  const now = runAll(
    db,
    rowsStatement(
      table,
      request,
      {
        columns: [...columns, ...table.keys.map((key) => key)].map(quotedAs).join(", "),
        order: table.keys.map(quoted).join(", "),
        limit: PREVIEWED_ROWS,
      },
      dialect,
    ),
  );
  const before = new Rows(PREVIEWED_ROWS);
  for (const row of now) before.add(columns.map((_name, index) => row[`c${index}`]));
  const total = totalOf(db);
  const { set } = request;
  const rekeyed = set !== undefined && table.keys.some((key) => Object.hasOwn(set, key));
  const changed = runAll(
    db,
    rekeyed ? { ...change, sql: `${change.sql}${returningKeys(table)}` } : change,
  );
  // It takes back what it did by itself.
  if (request.dryRun) return { rows: 0, skipped: 0, columns, before: [], after: [], cut: false };
  const keys = rekeyed
    ? changed.slice(0, PREVIEWED_ROWS)
    : now.map((row) =>
        Object.fromEntries(table.keys.map((key, at) => [key, row[`c${columns.length + at}`]])),
      );
  const after = new Rows(PREVIEWED_ROWS);
  if (set !== undefined) for (const row of rowsAt(db, table, keys)) after.add(row);
  return {
    rows: matched,
    skipped: 0,
    otherRows: Math.max(0, totalOf(db) - total - matched),
    columns,
    before: before.rows,
    after: after.rows,
    cut: before.truncated || after.truncated || before.rows.length < matched,
  };
}

const namesOf = (table: KnownTable): string[] => table.columns.map(({ name }) => name);
/** Names may be the same but for their case. */
const quotedAs = (name: string, index: number): string => `${quoted(name)} AS c${index}`;

const returningKeys = ({ keys }: Keyed): string =>
  keys.length === 0 ? "" : ` RETURNING ${keys.map(quoted).join(", ")}`;

/** The rows as they are now, with what triggers made of them. */
function* rowsAt(db: DatabaseSync, table: Keyed, keys: readonly Row[]): Generator<unknown[]> {
  if (table.keys.length === 0) return;
  const columns = namesOf(table).map(quotedAs).join(", ");
  const condition = table.keys.map((key, index) => `${quoted(key)} IS ?${index + 1}`).join(" AND ");
  const select = db.prepare(
    `SELECT ${columns} FROM "main".${quoted(table.name)} WHERE ${condition} LIMIT 1`,
  );
  for (const key of keys) {
    const row = select.get(...(table.keys.map((name) => key[name]) as never[])) as Row | undefined;
    if (row) yield table.columns.map((_column, index) => row[`c${index}`]);
  }
}

/** Since the file was opened, with what triggers and foreign keys did. */
function totalOf(db: DatabaseSync): number {
  const row = db.prepare("select total_changes() as total").get() as { total: bigint };
  return Number(row.total);
}
