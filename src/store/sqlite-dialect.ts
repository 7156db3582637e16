// Kysely on our two connections: selects on the reader, everything else in the writer thread.
import {
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
  type CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type QueryResult,
} from "kysely";

export interface Execute {
  read(query: CompiledQuery): unknown[];
  write(query: CompiledQuery): Promise<unknown[]>;
}

export function sqliteDialect(execute: Execute): Dialect {
  const connection: DatabaseConnection = {
    async executeQuery<R>(query: CompiledQuery): Promise<QueryResult<R>> {
      const rows = isRead(query) ? execute.read(query) : await execute.write(query);
      return { rows: rows as R[] };
    },
    // eslint-disable-next-line require-yield -- nothing here streams; pages are bounded
    async *streamQuery() {
      throw new Error("streaming is not offered: read in pages");
    },
  };
  return {
    createAdapter: () => new SqliteAdapter(),
    createQueryCompiler: () => new SqliteQueryCompiler(),
    createIntrospector: (db) => new SqliteIntrospector(db),
    createDriver: () => ({
      init: async () => {},
      acquireConnection: async () => connection,
      releaseConnection: async () => {},
      destroy: async () => {},
      beginTransaction: refuse,
      commitTransaction: refuse,
      rollbackTransaction: refuse,
    }),
  };
}

function isRead(query: CompiledQuery): boolean {
  return query.query.kind === "SelectQueryNode";
}

/** A transaction that waits for its caller would hold up every group behind it. */
async function refuse(): Promise<void> {
  throw new Error("interactive transactions are not offered: write conditional SQL, or a batch");
}
