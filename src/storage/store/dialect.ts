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
  type TableNode,
} from "kysely";
import type { Statement } from "./message.ts";
import { PROJECTED } from "./tables/tables.ts";

export type Execute = (
  query: CompiledQuery & Pick<Statement, "readsHistory">,
) => Promise<unknown[]>;

/** Marks what it compiles, so that it waits for the projection. */
class HistoryCompiler extends SqliteQueryCompiler {
  override compileQuery(
    ...of: Parameters<SqliteQueryCompiler["compileQuery"]>
  ): CompiledQuery & Pick<Statement, "readsHistory"> {
    return { ...super.compileQuery(...of), readsHistory: true };
  }
}

/** Its queries do not wait. Types keep them from tables of history; this does where types do not reach. */
class PlainCompiler extends SqliteQueryCompiler {
  protected override visitTable(node: TableNode): void {
    const { name } = node.table.identifier;
    if (Object.hasOwn(PROJECTED, name))
      throw new TypeError(`${name} belongs to history: ask for it through database.history`);
    super.visitTable(node);
  }
}

export function sqliteDialect(execute: Execute, tables: "plain" | "history"): Dialect {
  return {
    createAdapter: () => new SqliteAdapter(),
    createQueryCompiler: () => (tables === "history" ? new HistoryCompiler() : new PlainCompiler()),
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
