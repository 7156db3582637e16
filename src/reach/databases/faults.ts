// What can go wrong with a database, in one place, so that both kinds say it alike.
import { AppError } from "../../contract/errors.ts";
import { nearest } from "../../util/text/nearest.ts";
import { quote } from "../../util/text/quote.ts";

const failed = (reason: string, message: string, remedy: string) =>
  new AppError("EXECUTION_FAILED", reason, message, { remedy });
const forbidden = (reason: string, message: string, remedy: string) =>
  new AppError("FORBIDDEN", reason, message, { remedy });

export const severalStatements = (count: number) =>
  forbidden(
    "several_statements",
    `expected one statement, got ${count}`,
    "send one statement per call",
  );

export const notReadOnly = (what: string) =>
  forbidden(
    "not_read_only",
    `expected SELECT, WITH … SELECT, VALUES, SHOW or EXPLAIN, got ${what}`,
    "read with database/query; write with database/insert, database/update or database/delete",
  );

export const functionDenied = (name: string) =>
  forbidden(
    "function_denied",
    `the function ${quote(name)} may not be used here: it is not known to be harmless`,
    "leave it out; functions that reach files, programs, other servers or settings, or that wait, are refused",
  );

export const relationDenied = (name: string) =>
  forbidden(
    "relation_denied",
    `${quote(name)} holds credentials or settings of the server and is not read here`,
    "read tables of your own data",
  );

export const ownStore = (name: string) =>
  forbidden(
    "connection_forbidden",
    `connection ${quote(name)} leads to a store of Ostiary itself`,
    "the administrator must name another database",
  );

export function tableNotFound(table: string, known: readonly string[]): AppError {
  const near = nearest(table, known);
  const remedy =
    near === null
      ? "list the tables with database/tables"
      : `did you mean ${quote(near)}? database/tables lists all`;
  return failed("table_not_found", `there is no table ${quote(table)}`, remedy);
}

export function columnNotFound(
  column: string,
  table: string | null,
  known: readonly string[],
): AppError {
  const near = nearest(column, known);
  const remedy =
    near === null
      ? "see the columns with database/schema"
      : `did you mean ${quote(near)}? database/schema shows all`;
  return failed(
    "column_not_found",
    `there is no column ${quote(column)}${table === null ? "" : ` in ${quote(table)}`}`,
    remedy,
  );
}

export const constraintViolation = (constraint: string, detail: string) =>
  failed(
    "constraint_violation",
    `the constraint ${quote(constraint)} refuses it${detail === "" ? "" : `: ${detail}`}`,
    "change the values so that they fit; nothing was written",
  );

/** Position counts characters from 1. */
export function sqlError(code: string, message: string, position: number | null): AppError {
  const place = position === null ? "" : ` at character ${position}`;
  return failed(
    "sql_error",
    `${clean(message)} (${code}${place})`,
    "correct the statement; database/schema shows tables and columns",
  );
}

export const lockTimeout = () =>
  failed(
    "lock_timeout",
    "another connection holds a lock on this data",
    "repeat the call in a while",
  );

export const connectFailed = (name: string, why: string) =>
  failed(
    "connect_failed",
    `connection ${quote(name)} cannot be opened: ${why}`,
    "check that the database runs and its address is right; database/connections lists the others",
  );

export const permissionDenied = (message: string) =>
  failed(
    "permission_denied",
    clean(message),
    "use a table this connection's role may reach, or ask the administrator for the right",
  );

export const tooManyRows = (maxRows: number) =>
  failed(
    "too_many_rows",
    `more than ${maxRows} rows match; nothing was changed`,
    "narrow the condition, or raise maxRows",
  );

export const resultTooLarge = (bytes: number) =>
  failed(
    "size_exceeded",
    `the result is larger than ${bytes} bytes`,
    "select fewer or shorter columns, or cut them with substr",
  );

export const timedOut = (ms: number) =>
  new AppError("TIMEOUT", "timeout", `the statement took longer than ${ms} ms and was stopped`, {
    remedy: "ask for less, or add an index; the administrator can raise statementTimeoutMs",
  });

export const badArguments = (path: string, message: string, remedy: string) =>
  new AppError("BAD_REQUEST", "invalid_arguments", message, {
    remedy,
    errors: [{ path, message }],
  });

export const whereEmpty = () =>
  new AppError("BAD_REQUEST", "where_empty", "where names no column", {
    remedy: "name at least one condition; a change of every row is not offered",
    errors: [{ path: "/where", message: "expected at least one condition, got none" }],
  });

export const mixedColumns = (index: number, columns: readonly string[], own: readonly string[]) =>
  new AppError(
    "EXECUTION_FAILED",
    "mixed_columns",
    `row ${index + 1}: expected the columns of the first row (${columns.join(", ")}), got ${own.join(", ") || "none"}`,
    {
      remedy: "give every row the same columns; use null where there is no value",
      errors: [
        { path: `/rows/${index}`, message: "its columns differ from those of the first row" },
      ],
    },
  );

/** Texts of an engine may repeat what it was sent: one short line. */
function clean(message: string): string {
  const line = message.replace(/\s+/g, " ").trim();
  return line.length > 300 ? `${line.slice(0, 299)}…` : line;
}
