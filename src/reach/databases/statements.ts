// Writing statements from data: names are checked against the catalogue and quoted, values are parameters. Pure.
import type { Json } from "../../contract/call.ts";
import { OPERATORS, type Operator, type TableShape } from "../../contract/powers/database.ts";
import { quote } from "../../util/text/quote.ts";
import type { ChangeRequest, InsertRequest, Where } from "./database.ts";
import { badArguments, columnNotFound, mixedColumns, whereEmpty } from "./faults.ts";

export interface Statement {
  readonly sql: string;
  readonly params: readonly unknown[];
}

/** A table as the catalogue knows it. */
export interface KnownTable {
  readonly schema: string;
  readonly name: string;
  readonly columns: TableShape["columns"];
}

export interface Dialect {
  placeholder(index: number): string;
  /** A value for a column of that type. */
  value(value: Json, type: string): unknown;
}

const MAX_PARAMETERS = 30_000;
const MAX_IN = 500;

export const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`;
const target = (table: KnownTable): string => `${quoted(table.schema)}.${quoted(table.name)}`;

export function insertStatement(
  table: KnownTable,
  request: InsertRequest,
  dialect: Dialect,
): Statement {
  const columns = Object.keys(request.rows[0] ?? {});
  if (columns.length === 0)
    throw badArguments(
      "/rows/0",
      "a row needs at least one column",
      "give each row its values as {column: value}",
    );
  const known = columns.map((name) => columnOf(table, name));
  const returning = request.returning.map((name) => quoted(columnOf(table, name).name));
  const params: unknown[] = [];
  const tuples = request.rows.map((row, index) => {
    requireSameColumns(columns, row, index);
    const cells = known.map(({ name, type }) => {
      params.push(dialect.value(row[name] ?? null, type));
      return dialect.placeholder(params.length);
    });
    return `(${cells.join(", ")})`;
  });
  if (params.length > MAX_PARAMETERS)
    throw badArguments(
      "/rows",
      `expected at most ${MAX_PARAMETERS} values, got ${params.length}`,
      "insert fewer rows at a time",
    );
  const names = known.map(({ name }) => quoted(name)).join(", ");
  const conflict = request.onConflict === "ignore" ? " ON CONFLICT DO NOTHING" : "";
  const tail = returning.length > 0 ? ` RETURNING ${returning.join(", ")}` : "";
  return {
    sql: `INSERT INTO ${target(table)} (${names}) VALUES ${tuples.join(", ")}${conflict}${tail}`,
    params,
  };
}

/** The first rows that a change concerns, as they are. */
export function rowsStatement(
  table: KnownTable,
  { where }: Pick<ChangeRequest, "where">,
  { columns, order, limit }: { columns: string; order: string; limit: number },
  dialect: Dialect,
): Statement {
  const params: unknown[] = [];
  const condition = whereClause(table, where, params, dialect);
  const sorted = order === "" ? "" : ` ORDER BY ${order}`;
  return {
    sql: `SELECT ${columns} FROM ${target(table)} WHERE ${condition}${sorted} LIMIT ${limit}`,
    params,
  };
}

export interface ChangeStatements {
  /** At most one row more than may match. */
  readonly count: Statement;
  readonly change: Statement;
}

export function changeStatements(
  table: KnownTable,
  request: ChangeRequest,
  dialect: Dialect,
): ChangeStatements {
  const counted: unknown[] = [];
  const condition = whereClause(table, request.where, counted, dialect);
  const count = {
    sql: `SELECT count(*) FROM (SELECT 1 FROM ${target(table)} WHERE ${condition} LIMIT ${request.maxRows + 1}) AS matched`,
    params: counted,
  };
  const params: unknown[] = [];
  if (request.set === undefined)
    return {
      count,
      change: {
        sql: `DELETE FROM ${target(table)} WHERE ${whereClause(table, request.where, params, dialect)}`,
        params,
      },
    };
  const names = Object.keys(request.set);
  if (names.length === 0)
    throw badArguments(
      "/set",
      "set needs at least one column",
      "name the columns to change as {column: value}",
    );
  const assignments = names.map((given) => {
    const { name, type } = columnOf(table, given);
    params.push(dialect.value(request.set?.[given] ?? null, type));
    return `${quoted(name)} = ${dialect.placeholder(params.length)}`;
  });
  const where = whereClause(table, request.where, params, dialect);
  return {
    count,
    change: { sql: `UPDATE ${target(table)} SET ${assignments.join(", ")} WHERE ${where}`, params },
  };
}

function columnOf(table: KnownTable, name: string): TableShape["columns"][number] {
  const column = table.columns.find((one) => one.name === name);
  if (column) return column;
  throw columnNotFound(
    name,
    table.name,
    table.columns.map((one) => one.name),
  );
}

function requireSameColumns(columns: readonly string[], row: object, index: number): void {
  const own = Object.keys(row);
  if (own.length === columns.length && columns.every((name) => Object.hasOwn(row, name))) return;
  throw mixedColumns(index, columns, own);
}

const SIGNS = { eq: "=", ne: "<>", lt: "<", lte: "<=", gt: ">", gte: ">=", like: "LIKE" } as const;

function whereClause(table: KnownTable, where: Where, params: unknown[], dialect: Dialect): string {
  const entries = Object.entries(where);
  if (entries.length === 0) throw whereEmpty();
  const conditions = entries.map(([given, wanted]) => {
    const column = columnOf(table, given);
    return condition(column, conditionOf(given, wanted), params, dialect);
  });
  return conditions.join(" AND ");
}

interface Condition {
  readonly name: string;
  readonly op: Operator;
  readonly value: Json | undefined;
}

function conditionOf(name: string, wanted: Where[string]): Condition {
  if (typeof wanted !== "object" || wanted === null) return { name, op: "eq", value: wanted };
  const { op, value } = wanted as { op?: unknown; value?: Json };
  if (Array.isArray(wanted) || !OPERATORS.includes(op as Operator)) {
    const got = Array.isArray(wanted)
      ? "a list"
      : op === undefined
        ? "no op"
        : quote(JSON.stringify(op));
    throw badArguments(
      `/where/${name}`,
      `expected a value, or {op, value} with op one of ${OPERATORS.join(", ")}; got ${got}`,
      'for several values use {op: "in", value: […]}',
    );
  }
  const extra = Object.keys(wanted).find((key) => key !== "op" && key !== "value");
  if (extra !== undefined)
    throw badArguments(
      `/where/${name}/${extra}`,
      `unknown key ${quote(extra)}`,
      "use op and value only",
    );
  return { name, op: op as Operator, value };
}

function condition(
  column: TableShape["columns"][number],
  { name, op, value }: Condition,
  params: unknown[],
  dialect: Dialect,
): string {
  const left = quoted(column.name);
  const bound = (one: Json): string => {
    params.push(dialect.value(one, op === "like" ? "text" : column.type));
    return dialect.placeholder(params.length);
  };
  if (op === "is_null") {
    if (value !== undefined && typeof value !== "boolean")
      throw badArguments(
        `/where/${name}/value`,
        `is_null takes true or false, got ${quote(JSON.stringify(value))}`,
        "leave value out for IS NULL, or say false for IS NOT NULL",
      );
    return `${left} IS ${value === false ? "NOT " : ""}NULL`;
  }
  if (op === "in") {
    if (!Array.isArray(value) || value.length === 0 || value.length > MAX_IN)
      throw badArguments(
        `/where/${name}/value`,
        `in takes a list of 1 to ${MAX_IN} values`,
        "give the values as a list",
      );
    return `${left} IN (${(value as readonly Json[]).map(bound).join(", ")})`;
  }
  if (value === undefined)
    throw badArguments(`/where/${name}/value`, `${op} needs a value`, "give one");
  if (value === null) {
    if (op === "eq" || op === "ne") return `${left} IS ${op === "ne" ? "NOT " : ""}NULL`;
    throw badArguments(`/where/${name}/value`, `nothing is ${op} null`, "use is_null");
  }
  if (op === "like" && typeof value !== "string")
    throw badArguments(`/where/${name}/value`, "like takes a text", "use % and _ as wildcards");
  return `${left} ${SIGNS[op]} ${bound(value)}`;
}
