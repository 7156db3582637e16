// One request on a SQLite file, inside the process that may be killed: opened with every lock, closed at the end.
import { DatabaseSync, type StatementSync } from "node:sqlite";
import type { Json } from "../../../contract/call.ts";
import { AppError } from "../../../contract/errors.ts";
import type { QueryResult } from "../../../contract/powers/database.ts";
import type { ChangeRequest, InsertRequest, QueryRequest, WriteRequest } from "../database.ts";
import {
  columnNotFound,
  connectFailed,
  constraintViolation,
  lockTimeout,
  ownStore,
  resultTooLarge,
  sqlError,
  tableNotFound,
  tooManyRows,
} from "../faults.ts";
import { requireParameters, requireReading } from "../guard/sqlite.ts";
import { authorize, type Authorizer } from "./authorizer.ts";
import { columnsOf, isMain, isOwnStore, shapeOf, tablesOf } from "./catalogue.ts";
import { changeStatements, insertStatement } from "../statements.ts";
import { Rows, cellOf } from "../values.ts";
import { previewRows } from "./preview.ts";
import { bound, changesOf, dialect, runAll } from "./statement.ts";
import { Exhausted } from "../../../util/exhaustion.ts";

export interface SqliteJob {
  readonly name: string;
  readonly file: string;
  readonly busyMs: number;
  readonly work:
    | ({ readonly op: "query" } & QueryRequest)
    | { readonly op: "tables"; readonly schema: string }
    | { readonly op: "describe"; readonly schema: string; readonly table: string }
    | ({ readonly op: "insert" } & InsertRequest)
    | ({ readonly op: "change" } & ChangeRequest)
    | { readonly op: "preview"; readonly write: WriteRequest };
}

const MAX_VALUE_BYTES = 16_777_216;
const HEAP_BYTES = 268_435_456;
const WRITERS: ReadonlySet<SqliteJob["work"]["op"]> = new Set(["insert", "change", "preview"]);

export function runSqlite({ name, file, busyMs, work }: SqliteJob): unknown {
  if (work.op === "query") requireReading(work.sql);
  const access = WRITERS.has(work.op) ? "write" : "read";
  const db = open(name, file, access, busyMs);
  try {
    if (isOwnStore(db)) throw ownStore(name);
    switch (work.op) {
      case "query":
        return query(db, work);
      case "tables":
        return isMain(work.schema) ? tablesOf(db) : [];
      case "describe":
        if (!isMain(work.schema)) throw tableNotFound(`${work.schema}.${work.table}`, []);
        return shapeOf(db, work.table);
      case "insert":
        return insert(db, work);
      case "change":
        return change(db, work);
      case "preview":
        return preview(db, work.write);
    }
  } catch (cause) {
    throw translate(cause, name, null);
  } finally {
    db.close();
  }
}

function open(name: string, file: string, access: "read" | "write", busyMs: number): DatabaseSync {
  let db: DatabaseSync | null = null;
  try {
    db = new DatabaseSync(file, {
      readOnly: access === "read",
      allowExtension: false,
      defensive: true,
      enableDoubleQuotedStringLiterals: false,
      enableForeignKeyConstraints: true,
      timeout: busyMs,
      readBigInts: true,
      // Without attachable files a statement reaches this one alone.
      limits: {
        attach: 0,
        length: MAX_VALUE_BYTES,
        sqlLength: 1_000_000,
        exprDepth: 500,
        compoundSelect: 200,
        variableNumber: 32_766,
        triggerDepth: 50,
      },
    });
    db.exec(`pragma hard_heap_limit = ${HEAP_BYTES}`);
    db.exec("pragma trusted_schema = off");
    if (access === "read") db.exec("pragma query_only = on");
    // The first read shows whether it is a database at all.
    db.prepare("select count(*) from sqlite_schema").get();
    return db;
  } catch (cause) {
    db?.close();
    throw translate(cause, name, null);
  }
}

function query(db: DatabaseSync, request: QueryRequest): QueryResult {
  const began = performance.now();
  requireParameters(request.sql, request.params.length);
  const known = namesIn(db);
  const lock = authorize(db, "read");
  try {
    const sql = request.explain ? `EXPLAIN QUERY PLAN ${request.sql}` : request.sql;
    const statement = db.prepare(sql);
    statement.setReturnArrays(true);
    const params = request.params.map((value) => bound(value)) as never[];
    if (request.explain) {
      const plan = (statement.all(...params) as unknown as unknown[][]).map((row) =>
        cellOf(row[3]),
      );
      return {
        columns: [],
        rows: [],
        rowCount: 0,
        truncated: false,
        elapsedMs: elapsed(began),
        plan,
      };
    }
    const kept = new Rows(request.limit);
    let position = 0;
    for (const row of statement.iterate(...params) as unknown as Iterable<unknown[]>) {
      if (position++ < request.offset) continue;
      if (!kept.add(row)) break;
    }
    return {
      columns: columnTypes(statement, kept.rows),
      rows: kept.rows,
      rowCount: kept.rows.length,
      truncated: kept.truncated,
      elapsedMs: elapsed(began),
    };
  } catch (cause) {
    throw translate(cause, "", { sql: request.sql, lock, ...known });
  }
}

function columnTypes(statement: StatementSync, rows: readonly Json[][]): QueryResult["columns"] {
  return statement.columns().map(({ name, type }, index) => {
    const value = rows.find((row) => row[index] !== null)?.[index];
    const guess =
      typeof value === "number"
        ? Number.isInteger(value)
          ? "integer"
          : "real"
        : value === undefined
          ? "null"
          : "text";
    return { name, type: type === null ? guess : type.toLowerCase() };
  });
}

function insert(db: DatabaseSync, request: InsertRequest) {
  const table = { schema: "main", name: request.table, columns: columnsOf(db, request.table) };
  const statement = insertStatement(table, request, dialect);
  const lock = authorize(db, "write");
  return transaction(db, lock, () => {
    const rows = runAll(db, statement);
    const inserted = changesOf(db);
    const returned =
      request.returning.length === 0
        ? []
        : rows.map((row) =>
            Object.fromEntries(request.returning.map((name) => [name, cellOf(row[name])])),
          );
    return { keep: true, value: { inserted, skipped: request.rows.length - inserted, returned } };
  });
}

function change(db: DatabaseSync, request: ChangeRequest) {
  const table = { schema: "main", name: request.table, columns: columnsOf(db, request.table) };
  const { count, change: statement } = changeStatements(table, request, dialect);
  const lock = authorize(db, "write");
  return transaction(db, lock, () => {
    const matched = Number(Object.values(runAll(db, count)[0] ?? { count: 0 })[0]);
    if (matched > request.maxRows) throw tooManyRows(request.maxRows);
    runAll(db, statement);
    return { keep: !request.dryRun, value: { matched, changed: request.dryRun ? 0 : matched } };
  });
}

/** What it writes stays in memory, so that neither the file nor a journal beside it is touched, even by a kill. */
function preview(db: DatabaseSync, write: WriteRequest) {
  db.exec("pragma cache_spill = off");
  const { journal_mode: mode } = db.prepare("pragma journal_mode").get() as {
    journal_mode: string;
  };
  // Of a database with a write-ahead log that would change the file; there nothing is written before the commit.
  if (mode !== "wal") db.exec("pragma journal_mode = memory");
  const work = previewRows(db, write);
  const lock = authorize(db, "write");
  return transaction(db, lock, () => ({ keep: false, value: work() }));
}

/** Holds the write lock from the start, so that what was counted is what is changed. */
function transaction<T>(
  db: DatabaseSync,
  lock: Authorizer,
  work: () => { keep: boolean; value: T },
): T {
  try {
    db.exec("BEGIN IMMEDIATE");
    const { keep, value } = work();
    db.exec(keep ? "COMMIT" : "ROLLBACK");
    return value;
  } catch (cause) {
    if (db.isTransaction) db.exec("ROLLBACK");
    throw translate(cause, "", { sql: "", lock, tables: [], columns: [] });
  }
}

function namesIn(db: DatabaseSync): { tables: string[]; columns: string[] } {
  const tables = tablesOf(db).map(({ name }) => name);
  const rows = db
    .prepare(
      `select distinct c.name as name from sqlite_schema t, pragma_table_info(t.name) c where t.type in ('table', 'view') limit 5000`,
    )
    .all();
  return { tables, columns: rows.map(({ name }) => String(name)) };
}

const elapsed = (began: number): number => Math.round(performance.now() - began);

interface Ground {
  readonly sql: string;
  readonly lock: Authorizer;
  readonly tables: readonly string[];
  readonly columns: readonly string[];
}

/** Errors of the engine become ours; by number where SQLite has one, by its fixed wording where it has not. */
function translate(cause: unknown, name: string, ground: Ground | null): unknown {
  if (cause instanceof AppError || !(cause instanceof Error)) return cause;
  const refusal = ground?.lock.refusal();
  if (refusal) return refusal;
  const code = "errcode" in cause ? Number(cause.errcode) : 0;
  switch (code & 0xff) {
    case 5: // busy
    case 6: // locked
      return lockTimeout();
    case 19: {
      const named = /constraint failed: (.+)$/.exec(cause.message)?.[1];
      return constraintViolation(named ?? cause.message, cause.message);
    }
    case 18: // too big
      return resultTooLarge(MAX_VALUE_BYTES);
    case 7: // no memory
      return new AppError(
        "UNAVAILABLE",
        "resource_exhausted",
        "the statement needs more memory than it may have",
        { remedy: "ask for less", cause: new Exhausted("call_memory") },
      );
    case 13: // full
      return new AppError("UNAVAILABLE", "resource_exhausted", "the database's disk is full", {
        remedy: "free some space, then repeat the call",
        cause,
      });
    case 14:
      return connectFailed(name, "the file cannot be opened");
    case 26:
    case 11:
      return connectFailed(name, "the file is not a SQLite database, or it is damaged");
    case 8:
      return connectFailed(name, "the file cannot be written");
  }
  const table = /no such table: (?:main\.)?(.+)$/.exec(cause.message)?.[1];
  if (table !== undefined) return tableNotFound(table, ground?.tables ?? []);
  const column = /no such column: (.+?)(?: - |$)/.exec(cause.message)?.[1];
  if (column !== undefined) return columnNotFound(column, null, ground?.columns ?? []);
  if (code === 0) return cause;
  return sqlError(`SQLite ${code}`, cause.message, positionOf(cause.message, ground?.sql ?? ""));
}

/** SQLite names the token it stumbled over; where that stands only once, it is the place. */
function positionOf(message: string, sql: string): number | null {
  const token = /near "(.+)": syntax error/s.exec(message)?.[1];
  if (token === undefined) return null;
  const at = sql.indexOf(token);
  return at >= 0 && sql.indexOf(token, at + 1) < 0 ? at + 1 : null;
}
