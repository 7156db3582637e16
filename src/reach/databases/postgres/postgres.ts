// A foreign PostgreSQL database: every statement in its own transaction, with limits and a role.
import pg from "pg";
import type { Json } from "../../../contract/call.ts";
import { AppError } from "../../../contract/errors.ts";
import type { QueryResult } from "../../../contract/powers/database.ts";
import type { Children } from "../children.ts";
import type {
  ConnectionConfig,
  Database,
  DatabasesSettings,
  Limits,
  QueryRequest,
} from "../database.ts";
import { ownStore, resultTooLarge, timedOut, tooManyRows } from "../faults.ts";
import { requireHarmless } from "../guard/functions.ts";
import type { Inspected } from "../guard/postgres.ts";
import {
  findTable,
  functionsNamed,
  IS_OWN_STORE,
  namesOnPath,
  shapeOf,
  tablesOf,
  typeNames,
  type Row,
} from "./catalogue.ts";
import { connectFault, statementFault } from "./faults.ts";
import { previewRows } from "./preview.ts";
import { changeStatements, insertStatement, type Dialect } from "../statements.ts";
import { cellOf, Rows } from "../values.ts";

const MAX_CONNECTIONS = 4;
const CONNECT_MS = 5_000;
const MAX_LOCK_MS = 5_000;
/** What the server may send for one call before the connection is cut: values have no limit of their own. */
const MAX_WIRE_BYTES = 16_777_216;
const FETCH_ROWS = 100;
/** The server's own timeout comes first; this one is for a server that does not answer at all. */
const GRACE_MS = 2_000;
const CURSOR = "DECLARE ostiary_rows NO SCROLL CURSOR FOR ";
const EXPLAIN = "EXPLAIN (FORMAT JSON) ";

type Mode = "READ ONLY" | "READ WRITE";

export interface Session {
  query(sql: string, params?: readonly unknown[], rowMode?: "array"): Promise<pg.QueryResult<Row>>;
  readonly ask: (sql: string, params?: readonly unknown[]) => Promise<Row[]>;
}

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

  /** Runs `work` in a transaction that is rolled back unless it says `keep`. */
  const transaction = async <T>(
    mode: Mode,
    limits: Limits,
    shift: number,
    work: (session: Session) => Promise<{ keep: boolean; value: T }>,
  ): Promise<T> => {
    if (limits.signal.aborted) throw ended();
    const client = await connected(pool, name, limits.signal);
    const watch = watchOver(client, limits, () => cancel(address, client).catch(() => undefined));
    let broken = false;
    const query: Session["query"] = (sql, params = [], rowMode) =>
      watch.race(
        client.query({
          text: sql,
          values: [...params],
          ...(rowMode && { rowMode }),
          queryMode: "extended",
        } as pg.QueryConfig),
      );
    const ask: Session["ask"] = async (sql, params) => (await query(sql, params)).rows;
    try {
      await query(`BEGIN TRANSACTION ${mode}`);
      await prepare(ask, name, config, limits);
      const { keep, value } = await work({ query, ask });
      await query(keep ? "COMMIT" : "ROLLBACK");
      return value;
    } catch (cause) {
      broken =
        watch.cut() ||
        !(await client.query("ROLLBACK").then(
          () => true,
          () => false,
        ));
      const tables = () =>
        broken
          ? Promise.resolve([])
          : namesOnPath(async (sql) => (await client.query<Row>(sql)).rows).catch(() => []);
      throw await statementFault(cause, { name, timeoutMs: limits.timeoutMs, shift, tables });
    } finally {
      watch.end();
      client.release(broken);
    }
  };
  const read = <T>(limits: Limits, work: (session: Session) => Promise<T>, shift = 0): Promise<T> =>
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

/** Limits and role hold until the transaction ends; no statement of a tool can change them. */
async function prepare(
  ask: Session["ask"],
  name: string,
  config: ConnectionConfig,
  limits: Limits,
): Promise<void> {
  const [state] = await ask(
    `select set_config('statement_timeout', $1, true), set_config('lock_timeout', $2, true), ${IS_OWN_STORE} as own`,
    [String(limits.timeoutMs), String(Math.min(MAX_LOCK_MS, limits.timeoutMs))],
  );
  if (state?.["own"] === true) throw ownStore(name);
  if (config.role === undefined) return;
  await ask("select set_config('role', $1, true)", [config.role]).catch((cause: unknown) => {
    throw cause instanceof AppError ? cause : connectFault(cause, name);
  });
}

async function run(
  session: Session,
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
  session: Session,
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
  session: Session,
  request: QueryRequest,
  kept: Rows,
): Promise<pg.FieldDef[]> {
  const { rows, fields } = await session.query(request.sql, request.params, "array");
  (rows as unknown as unknown[][]).slice(request.offset).some((row) => !kept.add(row));
  return fields;
}

/** A connection, unless the call ends first; one that comes too late goes back unused. */
async function connected(pool: pg.Pool, name: string, signal: AbortSignal): Promise<pg.PoolClient> {
  const coming = pool.connect();
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const onAbort = (): void => reject(ended());
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    return await Promise.race([coming, aborted]);
  } catch (cause) {
    void coming.then(
      (client) => client.release(),
      () => undefined,
    );
    throw connectFault(cause, name);
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}

interface Watch {
  race<T>(work: Promise<T>): Promise<T>;
  /** True when the connection was given up. */
  cut(): boolean;
  end(): void;
}

/** Ends the wait at an abort, a flood of bytes or a silent server; the statement is then cancelled behind our back. */
function watchOver(
  client: pg.PoolClient,
  { signal, timeoutMs }: Limits,
  giveUp: () => unknown,
): Watch {
  const { promise, reject } = Promise.withResolvers<never>();
  promise.catch(() => undefined);
  let bytes = 0;
  let gone = false;
  const cutWith = (cause: unknown): void => {
    if (gone) return;
    gone = true;
    giveUp();
    reject(cause);
  };
  const onAbort = (): void => cutWith(ended());
  const onData = (chunk: Uint8Array): void => {
    bytes += chunk.byteLength;
    if (bytes > MAX_WIRE_BYTES) cutWith(resultTooLarge(MAX_WIRE_BYTES));
  };
  const onError = (cause: Error): void => reject(cause);
  const timer = setTimeout(() => cutWith(timedOut(timeoutMs)), timeoutMs + GRACE_MS);
  const { stream } = (client as unknown as { connection: { stream: NodeJS.ReadableStream } })
    .connection;
  stream.on("data", onData);
  client.on("error", onError);
  signal.addEventListener("abort", onAbort, { once: true });
  return {
    race: (work) => {
      work.catch(() => undefined);
      return Promise.race([work, promise]);
    },
    cut: () => gone,
    end() {
      clearTimeout(timer);
      stream.removeListener("data", onData);
      client.removeListener("error", onError);
      // What comes after a lost connection has no listener any more, and must not end the process.
      if (gone) client.on("error", () => undefined);
      signal.removeEventListener("abort", onAbort);
    },
  };
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

const ended = () =>
  new AppError("CANCELLED", "user", "the call was ended before the database answered");

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

/** By address; another name of the same server is found out by the tables, on every call. */
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
