// A foreign PostgreSQL database: every statement in its own transaction, with limits and a role.
import pg from "pg";
import type { Json } from "../../../contract/call.ts";
import type { QueryResult } from "../../../contract/powers/database.ts";
import type { Children } from "../children.ts";
import type {
  ConnectionConfig,
  Database,
  DatabasesSettings,
  Limits,
  QueryRequest,
} from "../database.ts";
import { tooManyRows } from "../faults.ts";
import { requireHarmless } from "../guard/functions.ts";
import type { Inspected } from "../guard/postgres.ts";
import { findTable, functionsNamed, shapeOf, tablesOf, typeNames } from "./catalogue.ts";
import { previewRows } from "./preview.ts";
import { transactions, type DatabaseSession } from "./transaction.ts";
import { changeStatements, insertStatement, type Dialect } from "../statements.ts";
import { cellOf, Rows } from "../values.ts";

const MAX_CONNECTIONS = 4;
const CONNECT_MS = 5_000;
const FETCH_ROWS = 100;
const CURSOR = "DECLARE ostiary_rows NO SCROLL CURSOR FOR ";
const EXPLAIN = "EXPLAIN (FORMAT JSON) ";

export function openPostgres(
  name: string,
  config: ConnectionConfig,
  settings: DatabasesSettings,
  children: Children,
): Database {
  if (sameDatabase(config.url, settings.store))
    throw new Error(`databases.${name}: leads to Ostiary's own store; name another database`);
  const address: pg.ClientConfig = {
    connectionString: config.url,
    application_name: "ostiary-tools",
    connectionTimeoutMillis: CONNECT_MS,
    keepAlive: true,
    types: { getTypeParser },
  };
  const pool = new pg.Pool({
    ...address,
    max: MAX_CONNECTIONS,
    idleTimeoutMillis: 30_000,
    allowExitOnIdle: true,
  });
  pool.on("error", () => undefined);

  const transaction = transactions({
    name,
    config,
    pool,
    cancel: (running) => cancel(address, running),
  });
  const read = <T>(
    limits: Limits,
    work: (session: DatabaseSession) => Promise<T>,
    shift = 0,
  ): Promise<T> =>
    transaction("READ ONLY", limits, shift, async (session) => ({
      keep: false,
      value: await work(session),
    }));

  return {
    kind: "postgres",
    async query(request, limits) {
      const began = performance.now();
      const inspected = (await children.run(
        { kind: "parse", sql: request.sql },
        limits,
      )) as Inspected;
      const shift =
        inspected.kind !== "select" ? 0 : request.explain ? EXPLAIN.length : CURSOR.length;
      const result = await read(limits, (session) => run(session, request, inspected), shift);
      return { ...result, elapsedMs: Math.round(performance.now() - began) };
    },
    tables: (schema, limits) => read(limits, ({ ask }) => tablesOf(ask, schema)),
    describe: (table, schema, limits) => read(limits, ({ ask }) => shapeOf(ask, table, schema)),
    insert: (request, limits) =>
      transaction("READ WRITE", limits, 0, async ({ ask, query }) => {
        const { sql, params } = insertStatement(
          await findTable(ask, request.table),
          request,
          dialect,
        );
        const { rows, rowCount } = await query(sql, params);
        const inserted = rowCount ?? 0;
        const returned =
          request.returning.length === 0
            ? []
            : rows.map((row) =>
                Object.fromEntries(Object.entries(row).map(([key, value]) => [key, cellOf(value)])),
              );
        return {
          keep: true,
          value: { inserted, skipped: request.rows.length - inserted, returned: returned },
        };
      }),
    change: (request, limits) =>
      transaction("READ WRITE", limits, 0, async ({ ask, query }) => {
        const { count, change } = changeStatements(
          await findTable(ask, request.table),
          request,
          dialect,
        );
        const [counted] = await ask(count.sql, count.params);
        if (Number(counted?.["count"]) > request.maxRows) throw tooManyRows(request.maxRows);
        // Rows may have come since they were counted.
        const matched = (await query(change.sql, change.params)).rowCount ?? 0;
        if (matched > request.maxRows) throw tooManyRows(request.maxRows);
        return { keep: !request.dryRun, value: { matched, changed: request.dryRun ? 0 : matched } };
      }),
    preview: (request, limits) =>
      transaction("READ WRITE", limits, 0, async (session) => ({
        keep: false,
        value: await previewRows(session, request, dialect),
      })),
    close: () => pool.end(),
  };
}

async function run(
  session: DatabaseSession,
  request: QueryRequest,
  { kind, functions }: Inspected,
): Promise<Omit<QueryResult, "elapsedMs">> {
  requireHarmless(
    functions,
    await functionsNamed(
      session.ask,
      functions.map((one) => one.name),
    ),
  );
  if (request.explain && kind === "select") {
    const [row] = await session.ask(`${EXPLAIN}${request.sql}`, request.params);
    return {
      columns: [],
      rows: [],
      rowCount: 0,
      truncated: false,
      plan: Object.values(row ?? {})[0] as Json,
    };
  }
  const kept = new Rows(request.limit);
  const fields =
    kind === "select"
      ? await fetchRows(session, request, kept)
      : await allRows(session, request, kept);
  const types = await typeNames(
    session.ask,
    fields.map((field) => field.dataTypeID),
  );
  const columns = fields.map((field) => ({
    name: field.name,
    type: types.get(field.dataTypeID) ?? "unknown",
  }));
  return { columns, rows: kept.rows, rowCount: kept.rows.length, truncated: kept.truncated };
}

/** Through a cursor, so that the server sends no more than is kept. */
async function fetchRows(
  session: DatabaseSession,
  request: QueryRequest,
  kept: Rows,
): Promise<pg.FieldDef[]> {
  await session.query(`${CURSOR}${request.sql}`, request.params);
  if (request.offset > 0) await session.query(`MOVE FORWARD ${request.offset} FROM ostiary_rows`);
  for (let wanted = request.limit + 1; ;) {
    const size = Math.min(FETCH_ROWS, wanted);
    const { rows, fields } = await session.query(
      `FETCH FORWARD ${size} FROM ostiary_rows`,
      [],
      "array",
    );
    wanted -= size;
    const full = (rows as unknown as unknown[][]).some((row) => !kept.add(row));
    if (full || rows.length < size || wanted <= 0) return fields;
  }
}

async function allRows(
  session: DatabaseSession,
  request: QueryRequest,
  kept: Rows,
): Promise<pg.FieldDef[]> {
  const { rows, fields } = await session.query(request.sql, request.params, "array");
  (rows as unknown as unknown[][]).slice(request.offset).some((row) => !kept.add(row));
  return fields;
}

/** From a second connection; its failure changes nothing, since the server's own timeout still holds. */
async function cancel(address: pg.ClientConfig, running: pg.PoolClient): Promise<void> {
  const { processID } = running as unknown as { processID: number | null };
  const client = new pg.Client(address);
  client.on("error", () => undefined);
  try {
    await client.connect();
    await client.query("select pg_cancel_backend($1)", [processID]);
  } catch {
    // nothing to do
  } finally {
    await client.end().catch(() => undefined);
  }
}

const dialect: Dialect = {
  placeholder: (index) => `$${index}`,
  value(value, type) {
    if (value === null) return null;
    if (/^jsonb?$/.test(type)) return JSON.stringify(value);
    if (typeof value !== "object" || type.endsWith("[]")) return value;
    return JSON.stringify(value);
  },
};

const number = (text: string): number => Number(text);
const PARSERS: Record<number, (text: string) => unknown> = {
  16: (text) => text === "t",
  17: (text) => (text.startsWith("\\x") ? Buffer.from(text.slice(2), "hex") : text),
  21: number,
  23: number,
  26: number,
  700: number,
  701: number,
  114: (text) => JSON.parse(text) as unknown,
  3802: (text) => JSON.parse(text) as unknown,
};

/** What JSON cannot hold without loss stays the text that PostgreSQL wrote. */
function getTypeParser(oid: number): (text: string) => unknown {
  return PARSERS[oid] ?? ((text) => text);
}

/** Compares addresses; each call finds another name of the same server by its tables. */
function sameDatabase(url: string, store: string): boolean {
  const [one, other] = [placeOf(url), placeOf(store)];
  return one !== null && one === other;
}

function placeOf(address: string): string | null {
  const url = /^postgres(ql)?:/.test(address) ? URL.parse(address) : null;
  if (url === null) return null;
  const host =
    url.hostname === "" || /^(localhost|127\.0\.0\.1|\[::1\])$/.test(url.hostname)
      ? "loopback"
      : url.hostname.toLowerCase();
  const database = url.pathname.slice(1) || url.username;
  return `${host}:${url.port || "5432"}/${decodeURIComponent(database)}`;
}
