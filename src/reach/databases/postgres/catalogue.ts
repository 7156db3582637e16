// What a PostgreSQL database says about itself: our own statements, every name a parameter.
import type { TableEntry, TableShape } from "../../../contract/powers/database.ts";
import { tableNotFound } from "../faults.ts";
import type { KnownFunction } from "../guard/functions.ts";
import type { KnownTable } from "../statements.ts";

export type Row = Record<string, unknown>;
/** One statement in the transaction at hand. */
export type QueryRows = (sql: string, params?: readonly unknown[]) => Promise<Row[]>;

const RELATIONS = "c.relkind in ('r', 'p', 'v', 'm', 'f')";

export async function tablesOf(ask: QueryRows, schema: string): Promise<TableEntry[]> {
  const rows = await ask(
    `select n.nspname as schema, c.relname as name, c.relkind as kind, c.reltuples as estimate,
       pg_catalog.obj_description(c.oid, 'pg_class') as comment
     from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
     where ${RELATIONS} and not c.relispartition and n.nspname = $1 order by c.relname limit 10000`,
    [schema],
  );
  return rows.map(({ schema: place, name, kind, estimate, comment }) => ({
    schema: String(place),
    name: String(name),
    type: kind === "v" || kind === "m" ? "view" : "table",
    ...(kind !== "v" && Number(estimate) >= 0 && { rowsEstimate: Number(estimate) }),
    ...(typeof comment === "string" && { comment }),
  }));
}

/** As a writing tool names it: a table on the search path, or `schema.table`. */
export async function findTable(ask: QueryRows, table: string): Promise<KnownTable> {
  const [found] = await ask(
    `select c.oid::text as oid, n.nspname as schema, c.relname as name
     from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
     where ${RELATIONS} and ((c.relname = $1 and n.nspname = any(pg_catalog.current_schemas(false)))
       or n.nspname || '.' || c.relname = $1)
     order by pg_catalog.array_position(pg_catalog.current_schemas(false), n.nspname) nulls last limit 1`,
    [table],
  );
  if (!found) throw tableNotFound(table, await namesOnPath(ask));
  const columns = await columnsOf(ask, String(found["oid"]));
  return { schema: String(found["schema"]), name: String(found["name"]), columns };
}

export async function namesOnPath(ask: QueryRows): Promise<string[]> {
  const rows = await ask(
    `select c.relname as name from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
     where ${RELATIONS} and n.nspname = any(pg_catalog.current_schemas(false)) order by 1 limit 5000`,
  );
  return rows.map(({ name }) => String(name));
}

export async function shapeOf(ask: QueryRows, table: string, schema: string): Promise<TableShape> {
  const [found] = await ask(
    `select c.oid::text as oid from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
     where ${RELATIONS} and c.relname = $1 and n.nspname = $2`,
    [table, schema],
  );
  if (!found)
    throw tableNotFound(
      table,
      (await tablesOf(ask, schema)).map(({ name }) => name),
    );
  const oid = String(found["oid"]);
  const indexes = await ask(
    `select c.relname as name, i.indisunique as only, i.indisprimary as prime,
       to_json(array(select pg_catalog.pg_get_indexdef(i.indexrelid, k, true) from generate_series(1, i.indnkeyatts) k)) as columns
     from pg_catalog.pg_index i join pg_catalog.pg_class c on c.oid = i.indexrelid
     where i.indrelid = $1::oid order by c.relname`,
    [oid],
  );
  const keys = await ask(
    `select f.relname as other,
       to_json(array(select a.attname::text from unnest(k.conkey) with ordinality u(n, o) join pg_catalog.pg_attribute a on a.attrelid = k.conrelid and a.attnum = u.n order by u.o)) as own,
       to_json(array(select a.attname::text from unnest(k.confkey) with ordinality u(n, o) join pg_catalog.pg_attribute a on a.attrelid = k.confrelid and a.attnum = u.n order by u.o)) as theirs
     from pg_catalog.pg_constraint k join pg_catalog.pg_class f on f.oid = k.confrelid
     where k.contype = 'f' and k.conrelid = $1::oid order by k.conname`,
    [oid],
  );
  return {
    columns: await columnsOf(ask, oid),
    primaryKey: indexes
      .filter(({ prime }) => prime === true)
      .flatMap(({ columns }) => columns as string[]),
    foreignKeys: keys.map(({ other, own, theirs }) => ({
      columns: own as string[],
      table: String(other),
      references: theirs as string[],
    })),
    indexes: indexes.map(({ name, only, columns }) => ({
      name: String(name),
      columns: columns as string[],
      unique: only === true,
    })),
  };
}

async function columnsOf(ask: QueryRows, oid: string): Promise<TableShape["columns"]> {
  const rows = await ask(
    `select a.attname as name, pg_catalog.format_type(a.atttypid, a.atttypmod) as type, not a.attnotnull as nullable,
       pg_catalog.pg_get_expr(d.adbin, d.adrelid) as value, pg_catalog.col_description(a.attrelid, a.attnum) as comment
     from pg_catalog.pg_attribute a left join pg_catalog.pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
     where a.attrelid = $1::oid and a.attnum > 0 and not a.attisdropped order by a.attnum`,
    [oid],
  );
  return rows.map(({ name, type, nullable, value, comment }) => ({
    name: String(name),
    type: String(type),
    nullable: nullable === true,
    ...(typeof value === "string" && { default: value }),
    ...(typeof comment === "string" && { comment }),
  }));
}

export async function functionsNamed(
  ask: QueryRows,
  names: readonly string[],
): Promise<KnownFunction[]> {
  if (names.length === 0) return [];
  const rows = await ask(
    `select n.nspname as schema, p.proname as name, p.provolatile as volatility, p.prosecdef as definer
     from pg_catalog.pg_proc p join pg_catalog.pg_namespace n on n.oid = p.pronamespace where p.proname = any($1::text[])`,
    [names],
  );
  return rows.map(({ schema, name, volatility, definer }) => ({
    schema: String(schema),
    name: String(name),
    volatility: String(volatility),
    definer: definer === true,
  }));
}

export async function typeNames(
  ask: QueryRows,
  oids: readonly number[],
): Promise<Map<number, string>> {
  const rows = await ask(
    "select o as oid, pg_catalog.format_type(o, null) as name from unnest($1::oid[]) o",
    [[...new Set(oids)]],
  );
  return new Map(rows.map(({ oid, name }) => [Number(oid), String(name)]));
}

/** Only a store of Ostiary has both. */
export const IS_OWN_STORE = `(select count(distinct c.relname) = 2 from pg_catalog.pg_class c join pg_catalog.pg_attribute a on a.attrelid = c.oid
  where c.relkind = 'r' and ((c.relname = 'events' and a.attname = 'prev_hash') or (c.relname = 'migrations' and a.attname = 'checksum')))`;
