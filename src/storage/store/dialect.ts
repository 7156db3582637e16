// Kysely as a query builder only: it compiles, we execute. Neither database gets a connection to hold on to.
import {
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
  type CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type Driver,
  type QueryResult,
} from "kysely";

export type Execute = (query: CompiledQuery) => Promise<unknown[]>;

export function sqliteDialect(execute: Execute): Dialect {
  return {
    createAdapter: () => new SqliteAdapter(),
    createQueryCompiler: () => new SqliteQueryCompiler(),
    createIntrospector: (db) => new SqliteIntrospector(db),
    createDriver: () => driver(execute),
  };
}

export function postgresDialect(execute: Execute): Dialect {
  return {
    createAdapter: () => new PostgresAdapter(),
    createQueryCompiler: () => new PostgresQueryCompiler(),
    createIntrospector: (db) => new PostgresIntrospector(db),
    createDriver: () => driver(execute),
  };
}

function driver(execute: Execute): Driver {
  const connection: DatabaseConnection = {
    async executeQuery<R>(query: CompiledQuery): Promise<QueryResult<R>> {
      return { rows: (await execute(query)) as R[] };
    },
    // eslint-disable-next-line require-yield -- nothing here streams; pages are bounded
    async *streamQuery() {
      throw new Error("streaming is not offered: read in pages");
    },
  };
  return {
    init: async () => {},
    acquireConnection: async () => connection,
    releaseConnection: async () => {},
    destroy: async () => {},
    beginTransaction: refuse,
    commitTransaction: refuse,
    rollbackTransaction: refuse,
  };
}

/** A transaction that waits for its caller would hold up every group behind it. */
async function refuse(): Promise<void> {
  throw new Error("interactive transactions are not offered: write conditional SQL, or a batch");
}
