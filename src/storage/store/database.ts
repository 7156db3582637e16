// What the queries are written against; SQLite and PostgreSQL each provide it.
import { sql, type Compilable, type Expression, type Kysely, type SqlBool } from "kysely";
import type { Rebuild } from "./rebuild.ts";
import type { Row } from "./sqlite/writer-client.ts";
import { AlreadyExists } from "./store.ts";
import type { HistoryTables, Tables } from "./tables/tables.ts";

export interface Database {
  /** Only full-text search needs different SQL. */
  readonly kind: "sqlite" | "postgres";
  readonly kysely: Kysely<Tables>;
  /** Knows the tables of history as well; what it asks waits until they show all that was acknowledged. */
  readonly history: Kysely<HistoryTables>;
  /**
   * One transaction, all or nothing; answers the rows of each statement. Batches that name the same turn run one after
   * the other, whichever instance they come from; on SQLite all do.
   */
  readonly batch: (queries: readonly Compilable[], turn?: string) => Promise<Row[][]>;
  readonly rebuild: Rebuild;
}

/** Changes nothing, yet must be written: shows whether a log that failed can be written again. */
export const PROBE = "update migrations set applied_at = applied_at where id = 1";

const SQLITE_CONSTRAINTS: readonly unknown[] = [1555, 2067]; // primary key, unique
const POSTGRES_UNIQUE = "23505";
const SQLITE_CHECK = 275;
const POSTGRES_CHECK = "23514";

export function isDuplicate(cause: unknown): boolean {
  if (!(cause instanceof Error)) return false;
  if ("errcode" in cause) return SQLITE_CONSTRAINTS.includes(cause.errcode);
  return "code" in cause && cause.code === POSTGRES_UNIQUE;
}

/** Ends its batch, and undoes it, where `broken` holds: conditions and writes become one step. */
export function guard(
  on: Kysely<Tables> | Kysely<HistoryTables>,
  broken: Expression<SqlBool>,
): Compilable {
  const kysely = on as Kysely<Tables>;
  return kysely
    .insertInto("guards")
    .columns(["holds"])
    .expression(kysely.selectNoFrom(sql.lit(0).as("holds")).where(broken));
}

export function isGuarded(cause: unknown): boolean {
  if (!(cause instanceof Error)) return false;
  if ("errcode" in cause) return cause.errcode === SQLITE_CHECK;
  return "code" in cause && cause.code === POSTGRES_CHECK;
}

/** Turns the databases' words for a broken uniqueness into ours. */
export async function unique<T>(what: string, write: () => Promise<T>): Promise<T> {
  try {
    return await write();
  } catch (cause) {
    throw isDuplicate(cause) ? new AlreadyExists(what) : cause;
  }
}
