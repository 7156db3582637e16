// One transaction on a foreign PostgreSQL database, under the limits and the role of its connection.
import type pg from "pg";
import { AppError } from "../../../contract/errors.ts";
import type { ConnectionConfig, Limits } from "../database.ts";
import { ownStore, resultTooLarge, timedOut } from "../faults.ts";
import { IS_OWN_STORE, namesOnPath, type Row } from "./catalogue.ts";
import { connectFault, statementFault } from "./faults.ts";

const MAX_LOCK_MS = 5_000;
/** What the server may send for one call before the connection is cut: values have no limit of their own. */
const MAX_WIRE_BYTES = 16_777_216;
/** The server's own timeout comes first; this one is for a server that does not answer at all. */
const GRACE_MS = 2_000;

type Mode = "READ ONLY" | "READ WRITE";

export interface DatabaseSession {
  query(sql: string, params?: readonly unknown[], rowMode?: "array"): Promise<pg.QueryResult<Row>>;
  readonly ask: (sql: string, params?: readonly unknown[]) => Promise<Row[]>;
}

/** Runs `work` in a transaction that is rolled back unless its answer has `keep`. */
export type RunTransaction = <T>(
  mode: Mode,
  limits: Limits,
  /** Characters put before the caller's statement, for positions in messages. */
  shift: number,
  work: (session: DatabaseSession) => Promise<{ keep: boolean; value: T }>,
) => Promise<T>;

export function transactions(database: {
  readonly name: string;
  readonly config: ConnectionConfig;
  readonly pool: pg.Pool;
  /** Ends the statement that runs on a connection. */
  readonly cancel: (running: pg.PoolClient) => Promise<void>;
}): RunTransaction {
  const { name, config, pool, cancel } = database;
  return async (mode, limits, shift, work) => {
    if (limits.signal.aborted) throw ended();
    const client = await connected(pool, name, limits.signal);
    const watch = watchOver(client, limits, () => cancel(client).catch(() => undefined));
    let broken = false;
    const session = sessionOn(client, watch);
    try {
      await session.query(`BEGIN TRANSACTION ${mode}`);
      await prepare(session.ask, name, config, limits);
      const { keep, value } = await work(session);
      await session.query(keep ? "COMMIT" : "ROLLBACK");
      return value;
    } catch (cause) {
      broken = watch.cut() || !(await rolledBack(client));
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
}

function sessionOn(client: pg.PoolClient, watch: Watch): DatabaseSession {
  const query: DatabaseSession["query"] = (sql, params = [], rowMode) =>
    watch.race(
      client.query({
        text: sql,
        values: [...params],
        ...(rowMode && { rowMode }),
        queryMode: "extended",
      } as pg.QueryConfig),
    );
  return { query, ask: async (sql, params) => (await query(sql, params)).rows };
}

const rolledBack = (client: pg.PoolClient): Promise<boolean> =>
  client.query("ROLLBACK").then(
    () => true,
    () => false,
  );

/** Limits and role hold until the transaction ends; no statement of a tool can change them. */
async function prepare(
  ask: DatabaseSession["ask"],
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

/**
 * Ends the wait at an abort, a flood of bytes or a silent server; the statement is then cancelled over a second
 * connection.
 */
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

const ended = () =>
  new AppError("CANCELLED", "user", "the call was ended before the database answered");
