// What the queries are written against; SQLite and PostgreSQL each provide it.
import type { Compilable, Kysely } from "kysely";
import type { Row } from "./writer-client.ts";
import { AlreadyExists } from "./store.ts";
import type { Tables } from "./tables.ts";

export interface Database {
  readonly kysely: Kysely<Tables>;
  /** One transaction, all or nothing; answers the rows of each statement. */
  readonly batch: (queries: readonly Compilable[]) => Promise<Row[][]>;
}

/** Changes nothing, yet must be written: tells whether a log that failed can be written again. */
export const PROBE = "update migrations set applied_at = applied_at where id = 1";

const SQLITE_CONSTRAINTS: readonly unknown[] = [1555, 2067]; // primary key, unique
const POSTGRES_UNIQUE = "23505";

export function isDuplicate(cause: unknown): boolean {
  if (!(cause instanceof Error)) return false;
  if ("errcode" in cause) return SQLITE_CONSTRAINTS.includes(cause.errcode);
  return "code" in cause && cause.code === POSTGRES_UNIQUE;
}

/** Turns the databases' words for a broken uniqueness into ours. */
export async function unique<T>(what: string, write: () => Promise<T>): Promise<T> {
  try {
    return await write();
  } catch (cause) {
    throw isDuplicate(cause) ? new AlreadyExists(what) : cause;
  }
}
