// What a writing statement would do to a PostgreSQL database: run inside a transaction that its caller rolls back,
// unless something of it would stay.
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
  type Dialect,
  type KnownTable,
  type Statement,
} from "../statements.ts";
import { Rows } from "../values.ts";
import { findTable, shapeOf, type Row } from "./catalogue.ts";
import type { DatabaseSession } from "./transaction.ts";

interface Keyed extends KnownTable {
  readonly order: string;
}

export async function previewRows(
  session: DatabaseSession,
  write: WriteRequest,
  dialect: Dialect,
): Promise<RowsPreview | { readonly refused: string }> {
  const found = await findTable(session.ask, write.table);
  const shape = await shapeOf(session.ask, found.name, found.schema);
  const table = { ...found, order: shape.primaryKey.map(quoted).join(", ") };
  const refused = await lastingEffect(session, table, write);
  if (refused !== null) return { refused };
  return write.op === "insert"
    ? previewInsert(session, table, write, dialect)
    : previewChange(session, table, write, dialect);
}

/** What a rollback does not take back: sequences move on, and triggers and foreign tables may reach anywhere. */
async function lastingEffect(
  { ask }: DatabaseSession,
  table: KnownTable,
  write: WriteRequest,
): Promise<string | null> {
  const reached = await ask(REACHED, [table.schema, table.name]);
  for (const row of reached) {
    const name = String(row["name"]);
    if (row["kind"] !== "r" && row["kind"] !== "p")
      return `${name} is a view or a foreign table, and what it does may not be taken back`;
    if (row["triggers"] === true || row["rules"] === true)
      return `${name} has triggers or rules, and what they do may not be taken back`;
  }
  if (write.op !== "insert") return null;
  const given = new Set(Object.keys(write.rows[0] ?? {}));
  const drawn = (await ask(DEFAULTS, [table.schema, table.name])).find(
    (row) => row["drawn"] === true && !given.has(String(row["name"])),
  );
  return drawn
    ? `the column ${String(drawn["name"])} draws its value from a sequence or a function, which no rollback takes back`
    : null;
}

/** The table, and those that its foreign keys change with it. */
const REACHED = `with recursive reached(oid) as (
    select c.oid from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
    where n.nspname = $1 and c.relname = $2
    union
    select e.below from reached r join (
      select k.confrelid as above, k.conrelid as below from pg_catalog.pg_constraint k
      where k.contype = 'f' and (k.confdeltype in ('c', 'n', 'd') or k.confupdtype in ('c', 'n', 'd'))
      union all
      select i.inhparent, i.inhrelid from pg_catalog.pg_inherits i
    ) e on e.above = r.oid
  )
  select c.relname as name, c.relkind as kind,
    exists (select from pg_catalog.pg_trigger t where t.tgrelid = c.oid and not t.tgisinternal) as triggers,
    exists (select from pg_catalog.pg_rewrite w where w.ev_class = c.oid) as rules
  from pg_catalog.pg_class c join reached r on r.oid = c.oid`;

const DEFAULTS = `select a.attname as name, (a.attidentity <> '' or exists (
    select from pg_catalog.pg_depend d join pg_catalog.pg_proc p on d.refclassid = 'pg_catalog.pg_proc'::regclass and p.oid = d.refobjid
    where d.classid = 'pg_catalog.pg_attrdef'::regclass and d.objid = f.oid and p.provolatile = 'v'
  ) or pg_catalog.pg_get_expr(f.adbin, f.adrelid) ~ 'nextval|setval') as drawn
  from pg_catalog.pg_attribute a join pg_catalog.pg_class c on c.oid = a.attrelid
    join pg_catalog.pg_namespace n on n.oid = c.relnamespace
    left join pg_catalog.pg_attrdef f on f.adrelid = a.attrelid and f.adnum = a.attnum
  where n.nspname = $1 and c.relname = $2 and a.attnum > 0 and not a.attisdropped`;

async function previewInsert(
  session: DatabaseSession,
  table: Keyed,
  request: InsertRequest,
  dialect: Dialect,
): Promise<RowsPreview> {
  insertStatement(table, request, dialect);
  const statement = insertStatement(table, { ...request, returning: [] }, dialect);
  const { rows, shown } = await runAndShow(session, table, statement);
  return {
    rows,
    skipped: request.rows.length - rows,
    columns: namesOf(table),
    before: [],
    after: shown.rows,
    cut: shown.truncated || shown.rows.length < rows,
  };
}

async function previewChange(
  session: DatabaseSession,
  table: Keyed,
  request: ChangeRequest,
  dialect: Dialect,
): Promise<RowsPreview> {
  const { count, change } = changeStatements(table, request, dialect);
  const [counted] = await session.ask(count.sql, count.params);
  if (Number(counted?.["count"]) > request.maxRows) throw tooManyRows(request.maxRows);
  const columns = namesOf(table);
  const sample = { columns: selected(table), order: table.order, limit: PREVIEWED_ROWS };
  const now = rowsStatement(table, request, sample, dialect);
  const before = shownOf(table, await session.ask(now.sql, now.params));
  const { rows, shown } = await runAndShow(session, table, change);
  if (rows > request.maxRows) throw tooManyRows(request.maxRows);
  // It takes back what it did by itself.
  if (request.dryRun) return { rows: 0, skipped: 0, columns, before: [], after: [], cut: false };
  return {
    rows,
    skipped: 0,
    columns,
    before: before.rows,
    after: request.set === undefined ? [] : shown.rows,
    cut: before.truncated || shown.truncated || before.rows.length < rows,
  };
}

/** Runs the statement to its end; of its rows only the first come over the wire. */
async function runAndShow(
  { ask }: DatabaseSession,
  table: Keyed,
  { sql, params }: Statement,
): Promise<{ rows: number; shown: Rows }> {
  const order = table.order === "" ? "" : ` ORDER BY ${table.order}`;
  const found = await ask(
    `WITH touched AS (${sql} RETURNING *), shown AS (SELECT * FROM touched${order} LIMIT ${PREVIEWED_ROWS})
     SELECT (SELECT count(*) FROM touched) AS total, shown.* FROM (SELECT 1) AS one LEFT JOIN (SELECT ${selected(table)} FROM shown) AS shown ON true`,
    params,
  );
  const rows = Number(found[0]?.["total"] ?? 0);
  return { rows, shown: shownOf(table, rows === 0 ? [] : found) };
}

const namesOf = (table: { readonly columns: TableShape["columns"] }): string[] =>
  table.columns.map(({ name }) => name);

const selected = (table: KnownTable): string =>
  namesOf(table)
    .map((name, index) => `${quoted(name)} AS c${index}`)
    .join(", ");

function shownOf(table: KnownTable, found: readonly Row[]): Rows {
  const shown = new Rows(PREVIEWED_ROWS);
  for (const row of found) shown.add(table.columns.map((_column, index) => row[`c${index}`]));
  return shown;
}
