// What a SQLite file says about itself. Runs before the authorizer is set, with our own statements only.
import type { DatabaseSync } from "node:sqlite";
import type { TableEntry, TableShape } from "../../../contract/powers/database.ts";
import { tableNotFound } from "../faults.ts";

const MAX_TABLES = 10_000;

type Row = Record<string, string | bigint | null>;

export const isMain = (schema: string): boolean => schema === "main" || schema === "public";

export function tablesOf(db: DatabaseSync): TableEntry[] {
  const rows = all(
    db,
    `select name, type from sqlite_schema where type in ('table', 'view')
    and name not like 'sqlite\\_%' escape '\\' order by name limit ${MAX_TABLES}`,
  );
  return rows.map(({ name, type }) => ({
    schema: "main",
    name: String(name),
    type: type === "view" ? "view" : "table",
  }));
}

/** Throws table_not_found. */
export function shapeOf(db: DatabaseSync, table: string): TableShape {
  const columns = columnsOf(db, table);
  const keys = all(db, "select name from pragma_table_info(?) where pk > 0 order by pk", table);
  return {
    columns,
    primaryKey: keys.map(({ name }) => String(name)),
    foreignKeys: foreignKeysOf(db, table),
    indexes: indexesOf(db, table),
  };
}

export function columnsOf(db: DatabaseSync, table: string): TableShape["columns"] {
  const known = tablesOf(db).map(({ name }) => name);
  if (!known.includes(table)) throw tableNotFound(table, known);
  const rows = all(
    db,
    `select name, type, "notnull" as strict, dflt_value as value, pk from pragma_table_xinfo(?) where hidden <> 1`,
    table,
  );
  return rows.map(({ name, type, strict, value, pk }) => ({
    name: String(name),
    type: type === "" || type === null ? "any" : String(type).toLowerCase(),
    nullable: strict === 0n && pk === 0n,
    ...(value !== null && { default: String(value) }),
  }));
}

function foreignKeysOf(db: DatabaseSync, table: string): TableShape["foreignKeys"] {
  const keys = new Map<unknown, TableShape["foreignKeys"][number]>();
  for (const row of all(
    db,
    `select id, "table" as other, "from" as own, "to" as theirs from pragma_foreign_key_list(?) order by id, seq`,
    table,
  )) {
    const key = keys.get(row["id"]) ?? { columns: [], table: String(row["other"]), references: [] };
    key.columns.push(String(row["own"]));
    if (row["theirs"] !== null) key.references.push(String(row["theirs"]));
    keys.set(row["id"], key);
  }
  return [...keys.values()];
}

function indexesOf(db: DatabaseSync, table: string): TableShape["indexes"] {
  const indexes = all(
    db,
    `select name, "unique" as only from pragma_index_list(?) order by name`,
    table,
  );
  return indexes.map(({ name, only }) => ({
    name: String(name),
    unique: only === 1n,
    columns: all(db, "select name from pragma_index_info(?) order by seqno", String(name)).map(
      (part) => String(part["name"] ?? "<expression>"),
    ),
  }));
}

/** Only a store of Ostiary has both. */
export function isOwnStore(db: DatabaseSync): boolean {
  const [row] = all(
    db,
    `select count(*) as found from pragma_table_info('events') e, pragma_table_info('migrations') m
    where e.name = 'prev_hash' and m.name = 'checksum'`,
  );
  return row !== undefined && row["found"] !== 0n;
}

function all(db: DatabaseSync, sql: string, ...params: string[]): Row[] {
  return db.prepare(sql).all(...params) as Row[];
}
