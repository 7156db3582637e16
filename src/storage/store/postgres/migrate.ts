// Brings a PostgreSQL database up to the newest schema. All that is missing goes as one message, one transaction: a
// start that freezes keeps no other from starting.
import type pg from "pg";
import { migrationsFor, pending, type Applied, type Migration } from "../migrations/index.ts";
import { inOneMessage } from "./message.ts";

const MIGRATING = 0x6f737470;
/** So long a start waits for another one that is migrating. */
const WAIT_MS = 60_000;
const MIGRATE_MS = 600_000;
const TABLE = `create table if not exists migrations
  (id integer primary key, name text not null, checksum text not null, applied_at bigint not null)`;
/** Another start was faster: look again. */
const OVERTAKEN = "40001";
const UNDEFINED_TABLE = "42P01";

export async function migrate(pool: pg.Pool): Promise<void> {
  const known = migrationsFor("postgres");
  for (;;) {
    const applied = await appliedTo(pool);
    const missing = pending(known, applied);
    if (missing.length === 0) return;
    try {
      const query = { text: messageOf(applied.length, missing), query_timeout: MIGRATE_MS };
      await pool.query(query);
      return;
    } catch (cause) {
      if ((cause as { code?: unknown }).code !== OVERTAKEN) throw cause;
    }
  }
}

async function appliedTo(pool: pg.Pool): Promise<Applied[]> {
  try {
    return (await pool.query<Applied>("select id, name, checksum from migrations order by id"))
      .rows;
  } catch (cause) {
    if ((cause as { code?: unknown }).code === UNDEFINED_TABLE) return [];
    throw cause;
  }
}

function messageOf(applied: number, missing: readonly Migration[]): string {
  const plain = [
    `set local lock_timeout = ${WAIT_MS}`,
    `set local statement_timeout = ${MIGRATE_MS}`,
    `select pg_advisory_xact_lock(${MIGRATING})`,
    TABLE,
    `do $do$ begin
      if (select count(*) from migrations) <> ${applied} then
        raise exception 'another start has migrated this database' using errcode = '${OVERTAKEN}';
      end if;
    end $do$`,
    ...missing.flatMap(({ statements }) => statements),
  ];
  const recorded = missing.map(({ id, name, checksum }) => ({
    sql: "insert into migrations values ($1, $2, $3, $4)",
    parameters: [id, name, checksum, Date.now()],
  }));
  // Our own text, taken as it stands: the bodies of functions have signs that look like parameters.
  return ["begin", ...plain, inOneMessage(recorded), "commit"].join(";\n");
}
