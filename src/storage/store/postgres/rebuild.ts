// The steps of a rebuild on PostgreSQL, on a connection of their own.
import type { Client } from "pg";
import { RebuildUnderWay } from "../rows/history.ts";
import { TURN } from "./log.ts";
import { postgresProjection } from "./projection.ts";
import {
  ARCHIVED_MEANWHILE,
  changesOf,
  EVENT_COLUMNS,
  STRETCH,
  type EventRow,
  type RebuildSteps,
  type RebuildStep,
} from "../rebuild.ts";

/** Held by the connection: one rebuild at a time, of all instances. */
const ONE_REBUILD = 0x6f737472;
const TABLES = ["executions", "rollups"] as const;
const CLEAR = "drop table if exists executions_next, rollups_next";
/** Appends wait meanwhile, and give up after two seconds. */
const LOCK_MS = 1_200;
/** An instance that freezes while others wait loses its lock. */
const IDLE_MS = 1_500;

export async function postgresRebuild(connect: () => Promise<Client>): Promise<RebuildSteps> {
  const on = await connect();
  const copies = postgresProjection({ executions: "executions_next", rollups: "rollups_next" });
  const { rows } = await on.query<{ mine: boolean }>("select pg_try_advisory_lock($1) as mine", [
    ONE_REBUILD,
  ]);
  if (rows[0]?.mine !== true) {
    await on.end();
    throw new RebuildUnderWay("history is being rebuilt by another instance");
  }

  async function transaction<T>(work: () => Promise<T>): Promise<T> {
    await on.query("begin");
    try {
      const result = await work();
      await on.query("commit");
      return result;
    } catch (cause) {
      await on.query("rollback").catch(() => undefined);
      throw cause;
    }
  }

  async function ends(): Promise<{ oldest: number; head: number }> {
    const found = await on.query<{ oldest: number | null; head: number | null }>(
      "select min(seq) as oldest, max(seq) as head from events",
    );
    return { oldest: found.rows[0]?.oldest ?? 0, head: found.rows[0]?.head ?? 0 };
  }

  async function stretch(after: number): Promise<RebuildStep> {
    const { head } = await ends();
    const found = await on.query<EventRow>(
      `select ${EVENT_COLUMNS} from events where seq > $1 and seq <= $2 and execution_id is not null order by seq limit $3`,
      [after, head, STRETCH],
    );
    await copies.write(on, changesOf(found.rows));
    const last = found.rows.at(-1)?.seq ?? head;
    return { seq: found.rows.length < STRETCH ? head : last, events: found.rows.length, head };
  }

  return {
    begin: () =>
      transaction(async () => {
        await on.query(CLEAR);
        for (const table of TABLES)
          await on.query(`create table ${table}_next (like ${table} including all)`);
        await on.query("insert into rollups_next select * from rollups_archived");
        return (await ends()).oldest;
      }),
    stretch: (after) => transaction(() => stretch(after)),
    finish: async (after, oldest) => {
      const step = await transaction(async () => {
        await on.query(
          `set local lock_timeout = ${LOCK_MS}; set local idle_in_transaction_session_timeout = ${IDLE_MS}`,
        );
        await on.query(`select pg_advisory_xact_lock(${TURN})`);
        if ((await ends()).oldest !== oldest) throw new Error(ARCHIVED_MEANWHILE);
        let [seq, events] = [after, 0];
        for (;;) {
          const read = await stretch(seq);
          events += read.events;
          seq = read.seq;
          if (seq >= read.head) break;
        }
        for (const table of TABLES) await changePlaces(on, table);
        return { seq, events, head: seq };
      });
      await on.end();
      return step;
    },
    async abandon() {
      await on.query(CLEAR).finally(() => on.end());
    },
  };
}

/** The copy's indexes were named by the database; each takes the name of the one it was made after. */
async function changePlaces(on: Client, table: string): Promise<void> {
  const names = await indexes(on, table);
  const copies = await indexes(on, `${table}_next`);
  await on.query(`drop table ${table}`);
  await on.query(`alter table ${table}_next rename to ${table}`);
  for (const [definition, name] of copies) {
    const old = names.get(definition);
    if (old !== undefined) await on.query(`alter index ${name} rename to ${old}`);
  }
}

/** What each index says, without its name and its table's, and its name. */
async function indexes(on: Client, table: string): Promise<Map<string, string>> {
  const { rows } = await on.query<{ indexname: string; indexdef: string }>(
    "select indexname, indexdef from pg_indexes where schemaname = current_schema() and tablename = $1",
    [table],
  );
  return new Map(
    rows.map(({ indexname, indexdef }) => [indexdef.replace(/ INDEX \S+ ON \S+ /, " "), indexname]),
  );
}
