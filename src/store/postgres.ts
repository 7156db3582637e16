// The store of many machines.
import { Kysely } from "kysely";
import pg from "pg";
import { bind } from "./bind.ts";
import { PROBE, type Database } from "./database.ts";
import { postgresDialect } from "./dialect.ts";
import { migrationsFor, pending, type Applied } from "./migrations/index.ts";
import { postgresLog } from "./postgres-log.ts";
import { queries } from "./queries/index.ts";
import { postgresRebuild } from "./rebuild-postgres.ts";
import { rebuilding } from "./rebuild.ts";
import type { Store, StoreOptions } from "./store.ts";
import type { Tables } from "./tables.ts";
import type { Row } from "./writer-client.ts";

const INT8 = 20;
const MIGRATING = 0x6f737470;
const TURNS = 0x6f737471;
const MAX_CONNECTIONS = 10;
const CONNECT_MS = 1_500;
/** A group of the log is small: one that takes longer counts as not written, and nothing runs (threats §6). */
const LOG_MS = 2_000;
/** Deadlock and serialization failure: the same statements may succeed at once. */
const RETRY: readonly unknown[] = ["40P01", "40001"];

export async function openPostgres(address: string, options: StoreOptions): Promise<Store> {
  const settings: pg.PoolConfig = {
    connectionString: address,
    application_name: "ostiary",
    max: MAX_CONNECTIONS,
    connectionTimeoutMillis: CONNECT_MS,
    statement_timeout: 30_000,
    query_timeout: 35_000,
    keepAlive: true,
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
  const log = postgresLog(() => connect({ query_timeout: LOG_MS }), options);
  let closed = false;
  const database: Database = {
    kind: "postgres",
    kysely: new Kysely<Tables>({
      dialect: postgresDialect(async ({ sql, parameters }) => {
        const { rows } = await pool.query<Row>(sql, parameters.map(bind));
        return rows;
      }),
    }),
    rebuild: rebuilding(() => postgresRebuild(() => connect({}))),
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
    async ping() {
      await pool.query("select max(seq) from events");
      if (log.failing()) await pool.query(PROBE);
    },
    async close() {
      if (closed) return;
      closed = true;
      await log.close();
      await pool.end();
    },
  };
}

function parserOf(...[oid, format]: Parameters<typeof pg.types.getTypeParser>): unknown {
  return Number(oid) === INT8 ? Number : pg.types.getTypeParser(oid, format);
}

type Statements = readonly { sql: string; parameters: readonly unknown[] }[];

async function transaction(pool: pg.Pool, statements: Statements, turn?: string): Promise<Row[][]> {
  for (let attempt = 1; ; attempt++) {
    const client = await pool.connect();
    client.on("error", lost);
    let broken: Error | undefined;
    try {
      await client.query("begin");
      // Held until the end; the statements after it see what the one before it committed.
      if (turn !== undefined)
        await client.query("select pg_advisory_xact_lock($1, hashtext($2))", [TURNS, turn]);
      const results: Row[][] = [];
      for (const { sql, parameters } of statements)
        results.push((await client.query<Row>(sql, parameters.map(bind))).rows);
      await client.query("commit");
      return results;
    } catch (cause) {
      await client.query("rollback").catch((fault: Error) => (broken = fault));
      if (attempt > 5 || !RETRY.includes((cause as { code?: unknown }).code)) throw cause;
    } finally {
      client.removeListener("error", lost);
      client.release(broken);
    }
  }
}

/** Without a listener a connection that is lost between two queries would end the process; the next query tells. */
const lost = (): void => undefined;

async function migrate(pool: pg.Pool): Promise<void> {
  const known = migrationsFor("postgres");
  const client = await pool.connect();
  client.on("error", lost);
  try {
    await client.query("begin");
    // Held until the commit: a second start waits here, then finds nothing to do.
    await client.query(`select pg_advisory_xact_lock(${MIGRATING})`);
    await client.query(`create table if not exists migrations
      (id integer primary key, name text not null, checksum text not null, applied_at bigint not null)`);
    const applied = await client.query<Applied>(
      "select id, name, checksum from migrations order by id",
    );
    for (const { id, name, checksum, statements } of pending(known, applied.rows)) {
      for (const statement of statements) await client.query(statement);
      await client.query("insert into migrations values ($1, $2, $3, $4)", [
        id,
        name,
        checksum,
        Date.now(),
      ]);
    }
    await client.query("commit");
  } finally {
    // A failed start ends the pool; nothing of this connection is used again.
    client.removeListener("error", lost);
    client.release();
  }
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
