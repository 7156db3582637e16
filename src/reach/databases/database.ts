// The port to databases of others: named connections, PostgreSQL or SQLite, never the engine's own store.
import { z } from "zod";
import type { Json } from "../../contract/call.ts";
import type {
  QueryResult,
  TableEntry,
  TableShape,
  WhereOptions,
} from "../../contract/powers/database.ts";

const ADDRESS = /^(sqlite:\/.+|postgres(ql)?:\/\/.+)$/;
const NAME = /^[A-Za-z][A-Za-z0-9_-]{0,62}$/;

const connectionConfig = z.strictObject({
  url: z
    .string()
    .max(4_096)
    .regex(ADDRESS, "expected postgres://user@host/database or sqlite:/absolute/path")
    .meta({ writeOnly: true }),
  /** Writing tools are refused. */
  readOnly: z.boolean().default(true),
  /** Used when a call names none. */
  default: z.boolean().default(false),
  /** PostgreSQL: every transaction runs as this role. */
  role: z.string().min(1).max(63).optional(),
  statementTimeoutMs: z.int().min(100).max(300_000).default(30_000),
  /** Tenants that may use it; absent: all. */
  tenants: z.array(z.string().min(1).max(128)).max(1_000).optional(),
});

export type ConnectionConfig = Readonly<Omit<z.output<typeof connectionConfig>, "tenants">> & {
  readonly tenants?: readonly string[] | undefined;
};

export const databasesConfig = z
  .record(z.string().regex(NAME, "expected a name of letters, digits, _ and -"), connectionConfig)
  .describe(
    "Databases the database tools may use, by name: `url` (postgres://… or sqlite:/absolute/path), `readOnly` (default true), `default`, `role` (PostgreSQL), `statementTimeoutMs` (default 30000), `tenants` (default: all).",
  );

/** How long a statement may take and wait, and who may end it sooner. */
export interface Limits {
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

export interface QueryRequest {
  readonly sql: string;
  readonly params: readonly Json[];
  readonly limit: number;
  readonly offset: number;
  readonly explain: boolean;
}

export type RowValues = Readonly<Record<string, Json>>;
export type Where = WhereOptions["where"];

export interface InsertRequest {
  readonly table: string;
  readonly rows: readonly RowValues[];
  readonly onConflict: "error" | "ignore";
  readonly returning: readonly string[];
}

export interface ChangeRequest {
  readonly table: string;
  /** Absent: the rows are deleted. */
  readonly set?: RowValues;
  readonly where: Where;
  readonly maxRows: number;
  readonly dryRun: boolean;
}

export type WriteRequest =
  ({ readonly op: "insert" } & InsertRequest) | ({ readonly op: "change" } & ChangeRequest);

/** How many rows of a preview are shown. */
export const PREVIEWED_ROWS = 10;

/** What a writing statement would do: it was run, looked at and rolled back. */
export interface RowsPreview {
  /** Inserted, changed or deleted. */
  readonly rows: number;
  /** Of an insert: rows that exist already. */
  readonly skipped: number;
  /** What triggers and foreign keys would change besides, where that is counted. */
  readonly otherRows?: number;
  readonly columns: readonly string[];
  readonly before: readonly (readonly Json[])[];
  readonly after: readonly (readonly Json[])[];
  readonly cut: boolean;
}

/** One database. Every method rejects with a typed error, at once when the signal fires. */
export interface Database {
  readonly kind: "postgres" | "sqlite";
  query(request: QueryRequest, limits: Limits): Promise<QueryResult>;
  tables(schema: string, limits: Limits): Promise<TableEntry[]>;
  describe(table: string, schema: string, limits: Limits): Promise<TableShape>;
  insert(
    request: InsertRequest,
    limits: Limits,
  ): Promise<{ inserted: number; skipped: number; returned: Json[] }>;
  change(request: ChangeRequest, limits: Limits): Promise<{ matched: number; changed: number }>;
  /** Leaves no trace. `refused`: why a rollback could not take it back, so that it was not run. */
  preview(
    request: WriteRequest,
    limits: Limits,
  ): Promise<RowsPreview | { readonly refused: string }>;
  close(): Promise<void>;
}

export interface DatabaseConnection {
  readonly name: string;
  readonly config: ConnectionConfig;
  readonly database: Database;
}

export interface Databases {
  readonly all: readonly DatabaseConnection[];
  close(): Promise<void>;
}

export interface DatabasesSettings {
  readonly connections: Readonly<Record<string, ConnectionConfig>>;
  /** The engine's own store, as configured, and its folder: nothing there can be a connection. */
  readonly store: string;
  readonly dataDir: string;
  /** Excepted from `dataDir`. */
  readonly workspace: string;
}

/** Throws when a connection is the engine's own store: that must not start. Nothing is connected to yet. */
export async function openDatabases(settings: DatabasesSettings): Promise<Databases> {
  const all: DatabaseConnection[] = [];
  const names = Object.entries(settings.connections);
  if (names.length === 0) return { all, close: () => Promise.resolve() };
  const defaults = names.filter(([, config]) => config.default);
  if (defaults.length > 1)
    throw new Error(
      `databases: only one connection can be the default, got ${defaults.map(([name]) => name).join(", ")}`,
    );
  const [{ openPostgres }, { openSqlite }, { createChildren }] = await Promise.all([
    import("./postgres/postgres.ts"),
    import("./sqlite/sqlite.ts"),
    import("./children.ts"),
  ]);
  const children = createChildren();
  for (const [name, config] of names) {
    const database = config.url.startsWith("sqlite:")
      ? openSqlite(name, config, settings, children)
      : openPostgres(name, config, settings, children);
    all.push({ name, config, database });
  }
  return {
    all,
    async close() {
      await Promise.all(all.map(({ database }) => database.close()));
      children.close();
    },
  };
}
