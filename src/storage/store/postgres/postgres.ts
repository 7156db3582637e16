// The store of many machines.
import { Kysely } from "kysely";
import pg from "pg";
import { bind } from "../bind.ts";
import type { Database } from "../database.ts";
import { postgresDialect } from "../dialect.ts";
import { migrate } from "./migrate.ts";
import { LOG_LOCK_MS, LOG_MS, LOG_STATEMENT_MS, postgresLog } from "./log.ts";
import { inOneMessage, type PostgresStatement } from "./message.ts";
import { queries } from "../queries/index.ts";
import { postgresRebuild } from "./rebuild.ts";
import { rebuilding } from "../rebuild.ts";
import type { Store, StoreOptions } from "../store.ts";
import type { HistoryTables, Tables } from "../tables/tables.ts";
import type { Row } from "../sqlite/writer-client.ts";

const INT8 = 20;
const TURNS = 0x6f737471;
const STARTING = 0x6f737473;
const START_MS = 30_000;
const MAX_CONNECTIONS = 10;
const CONNECT_MS = 1_500;
/** A statement that waits for another session's lock is refused in time; reading a large history may take longer. */
const LOCK_MS = 2_000;
const STATEMENT_MS = 30_000;
/** Transactions are sent as a whole: none is ever left waiting for us. One that is all the same is ended. */
const IDLE_MS = 2_000;
/** A rebuild writes copies that nothing else reads; its last step, which others wait for, has a limit of its own. */
const REBUILD_IDLE_MS = 30_000;
const PING_MS = 2_000;
/** The server finds out by itself, within seconds, that nobody is at the other end any more. */
const KEEP_ALIVE =
  "-c tcp_keepalives_idle=2 -c tcp_keepalives_interval=1 -c tcp_keepalives_count=2 -c tcp_user_timeout=4000";
/** Deadlock and serialization failure: the same statements may succeed at once. */
const RETRY: readonly unknown[] = ["40P01", "40001"];

export async function openPostgres(address: string, options: StoreOptions): Promise<Store> {
  const settings: pg.PoolConfig = {
    ...addressOf(address),
    application_name: "ostiary",
    max: MAX_CONNECTIONS,
    connectionTimeoutMillis: CONNECT_MS,
    lock_timeout: LOCK_MS,
    statement_timeout: STATEMENT_MS,
    idle_in_transaction_session_timeout: IDLE_MS,
    query_timeout: STATEMENT_MS + 5_000,
    keepAlive: true,
    keepAliveInitialDelayMillis: 2_000,
    // Epoch ms and counts fit a double; pg would give them as text.
    types: { getTypeParser: parserOf },
  };
  const pool = new pg.Pool(settings);
  // Idle connections die with the server; the next query opens new ones.
  pool.on("error", () => {});
  try {
    await migrate(pool);
  } catch (cause) {
    await pool.end();
    throw new Error(`cannot open the store ${shown(address)}: ${reasonOf(cause)}`, { cause });
  }
  const connect = async (own: pg.ClientConfig): Promise<pg.Client> => {
    const client = new pg.Client({ ...settings, ...own });
    client.on("error", lost);
    await client.connect();
    return client;
  };
  const log = postgresLog(
    () =>
      connect({
        query_timeout: LOG_MS,
        lock_timeout: LOG_LOCK_MS,
        statement_timeout: LOG_STATEMENT_MS,
      }),
    options,
  );
  let closed = false;
  const dialect = postgresDialect(async ({ sql, parameters }) => {
    const { rows } = await pool.query<Row>(sql, parameters.map(bind));
    return rows;
  });
  const database: Database = {
    kind: "postgres",
    kysely: new Kysely<Tables>({ dialect }),
    // Written with the log, in one transaction: there is nothing to wait for.
    history: new Kysely<HistoryTables>({ dialect }),
    rebuild: rebuilding(() =>
      postgresRebuild(() => connect({ idle_in_transaction_session_timeout: REBUILD_IDLE_MS })),
    ),
    batch: (list, turn) =>
      transaction(
        pool,
        list.map((query) => query.compile()),
        turn,
      ),
  };
  return {
    kind: "postgres",
    shared: true,
    ...queries(database, log.append),
    async alone(start) {
      const turn = await connect({ lock_timeout: START_MS, statement_timeout: START_MS + 1_000 });
      try {
        await turn.query(`select pg_advisory_lock(${STARTING})`).catch(waitedLongEnough);
        return await start();
      } finally {
        // Its lock goes with it.
        void turn.end().catch(lost);
      }
    },
    async ping() {
      const lost = options.files?.check();
      if (lost) throw lost;
      await pool.query(LOOK);
      await log.probe();
    },
    async close() {
      if (closed) return;
      closed = true;
      await log.close();
      await pool.end();
    },
  };
}

const LOOK = { text: "select max(seq) from events", query_timeout: PING_MS };

function parserOf(...[oid, format]: Parameters<typeof pg.types.getTypeParser>): unknown {
  return Number(oid) === INT8 ? Number : pg.types.getTypeParser(oid, format);
}

/** All of it in one message: locks are never held while we think, or freeze. */
async function transaction(
  pool: pg.Pool,
  statements: readonly PostgresStatement[],
  turn?: string,
): Promise<Row[][]> {
  // Held until the end; the statements after it see what the one before it committed.
  const taken =
    turn === undefined
      ? []
      : [{ sql: "select pg_advisory_xact_lock($1, hashtext($2))", parameters: [TURNS, turn] }];
  const text = inOneMessage([...taken, ...statements]);
  for (let attempt = 1; ; attempt++) {
    try {
      const results = [await sent(pool, text)].flat();
      return results.slice(taken.length).map(({ rows }) => rows);
    } catch (cause) {
      if (attempt > 5 || !RETRY.includes((cause as { code?: unknown }).code)) throw cause;
    }
  }
}

/** A statement that was refused leaves its connection whole; the pool itself would throw it away. */
async function sent(
  pool: pg.Pool,
  text: string,
): Promise<pg.QueryResult<Row> | pg.QueryResult<Row>[]> {
  const client = await pool.connect();
  client.on("error", lost);
  let broken: Error | undefined;
  try {
    return await client.query<Row>(text);
  } catch (cause) {
    if (!(cause instanceof pg.DatabaseError) || cause.severity !== "ERROR") broken = cause as Error;
    throw cause;
  } finally {
    client.removeListener("error", lost);
    client.release(broken);
  }
}

/**
 * Without a listener a connection that is lost between two queries would end the process; the next query reports it.
 */
const lost = (): void => undefined;

function waitedLongEnough(cause: { code?: string }): void {
  if (cause.code !== "55P03") throw cause as Error;
}

/** What an address says of further options stays, behind ours. */
function addressOf(address: string): { connectionString: string; options: string } {
  const url = URL.parse(address);
  const own = url?.searchParams.get("options");
  if (!url || !own) return { connectionString: address, options: KEEP_ALIVE };
  url.searchParams.delete("options");
  return { connectionString: url.href, options: `${KEEP_ALIVE} ${own}` };
}

function shown(address: string): string {
  const url = URL.parse(address);
  if (!url) return "postgres";
  url.password = "";
  url.search = "";
  return url.href;
}

const REASONS: Record<string, string> = {
  ECONNREFUSED: "nothing answers there; start PostgreSQL, or correct host and port",
  ENOTFOUND: "the host is not known; correct its name",
  "28P01": "the password is wrong; correct it",
  "28000": "this user may not connect; check pg_hba.conf and the address",
  "3D000": "the database does not exist; create it, or correct its name",
  "42501": "this user may not create tables here; grant it the right to",
};

function reasonOf(cause: unknown): string {
  if (!(cause instanceof Error)) return String(cause);
  const code = "code" in cause ? String(cause.code) : "";
  return REASONS[code] ?? (cause.message || code);
}
