// The log on PostgreSQL: the same group commit as on SQLite, on one connection of its own. A group is one message and
// one transaction that ends on the server: an instance that freezes or is cut off never keeps the lock from the others.
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { Client, QueryConfig, QueryResult } from "pg";
import { PROBE } from "../database.ts";
import { groups, type Flat, type Pace, type Result } from "../group.ts";
import { appender } from "../message.ts";
import { APPEND_GROUP, groupOf, type WriteGroup } from "./group.ts";
import { createErrorTextIndex } from "../error-texts.ts";
import { LogUnwritable, NO_INSTANCE, type Store, type StoreOptions } from "../store.ts";

/**
 * Instances take turns: a number is given out only after the group before it is committed. So no reader that follows
 * the log by number can pass over an event that becomes visible later.
 */
export const TURN = 0x6f737469;
/** A group of the log is small: one that takes longer counts as not written, and nothing runs. */
export const LOG_MS = 2_000;
/** The server gives up first, so that its answer says what happened. */
export const LOG_LOCK_MS = 1_500;
export const LOG_STATEMENT_MS = 1_800;
/** Larger ones could take longer than that on a busy machine, and many calls would be refused although all is well. */
const PACE: Pace = { ahead: 1, fullAt: Infinity, most: 500 };
/** A group that was written so lately shows that one can be written. */
const PROVEN_MS = 1_000;
/** This much late, a time limit says that this process stood still, not that the database did. */
const STOOD_STILL_MS = 250;
const AGAIN_AFTER_MS = 50;

/** One message: takes the turn and writes, as a group does. */
const PROBE_TURN = `select pg_advisory_xact_lock(${TURN}); ${PROBE}`;
/** Earlier starts of this server write no more. */
const FORGET_WRITERS = "delete from log_writers where instance_id = $1 and writer_id <> $2";

export interface PostgresLog {
  readonly append: Store["log"]["append"];
  /** Rejects with LogUnwritable when a group could not be written now. */
  probe(): Promise<void>;
  close(): Promise<void>;
}

export function postgresLog(connect: () => Promise<Client>, options: StoreOptions): PostgresLog {
  const instanceId = options.instanceId ?? NO_INSTANCE;
  const writerId = randomUUID();
  const errorTexts = createErrorTextIndex();
  let client: Client | null = null;
  let groupNo = 0;
  /** Where the log ended when this server last wrote: the numbers of the next group are counted from there. */
  let head = 0;
  let provenAt = -Infinity;
  let working: Promise<unknown> | null = null;

  async function live(): Promise<Client> {
    if (client) return client;
    const opened = await connect();
    // Without a listener a lost connection would end the process; the next group opens a new one.
    opened.on("error", () => drop(opened));
    opened.on("end", () => drop(opened));
    client = opened;
    if (groupNo <= 1 && instanceId !== NO_INSTANCE)
      await opened.query(FORGET_WRITERS, [instanceId, writerId]);
    return opened;
  }

  function drop(which: Client): void {
    if (client === which) client = null;
  }

  async function send(query: QueryConfig | string): Promise<QueryResult> {
    const on = await live();
    try {
      return await on.query(query as QueryConfig);
    } catch (cause) {
      // Its state is unknown after a failure, so it is not used again; a dead one is not waited for.
      drop(on);
      void on.end().catch(() => undefined);
      throw cause;
    }
  }

  /**
   * Sent again where the connection was lost, and so was the answer: the group's number keeps it from being written
   * twice.
   */
  async function write(group: WriteGroup): Promise<number> {
    const values = [TURN, writerId, groupNo, instanceId, ...group.values];
    for (const began = performance.now(); ; await sleep(AGAIN_AFTER_MS)) {
      const sentAt = performance.now();
      try {
        const { rows } = await send({ text: APPEND_GROUP, values });
        const { base } = rows[0] as { base: number | null };
        if (base === null) throw new Error("a later group of this server was written before it");
        return base;
      } catch (cause) {
        const now = performance.now();
        const stoodStill = isTimeout(cause) && now - sentAt > LOG_MS + STOOD_STILL_MS;
        if (!stoodStill && !(isLost(cause) && now - began < LOG_MS)) throw cause;
      }
    }
  }

  async function commit(flat: Flat[]): Promise<Result[]> {
    while (working) await working.catch(() => undefined);
    const assumed = head;
    groupNo++;
    const group = groupOf(flat, assumed, instanceId, errorTexts);
    try {
      const base = await (working = write(group));
      errorTexts.renumber(assumed, base - assumed);
      head = base + group.events;
      provenAt = performance.now();
      return Array.from({ length: group.events }, (_, i) => base + i + 1);
    } catch (cause) {
      errorTexts.clear();
      throw cause;
    } finally {
      working = null;
    }
  }

  async function probe(): Promise<void> {
    if (performance.now() - provenAt < PROVEN_MS) return;
    try {
      // A group that is under way, or the check of another caller, shows it as well.
      await (working ??= send(PROBE_TURN).finally(() => (working = null)));
    } catch (cause) {
      throw new LogUnwritable(reasonOf(cause), { cause });
    }
    provenAt = performance.now();
  }

  const queue = groups(commit, PACE, options.onCommit, options.files);
  return {
    append: appender(queue),
    probe,
    async close() {
      await queue.drain();
      await working?.catch(() => undefined);
      const last = client;
      client = null;
      await last?.end();
    },
  };
}

const LOCK_NOT_AVAILABLE = "55P03";
/** The server, or an administrator, ended the connection; or the server is not up yet. */
const ENDED: readonly string[] = ["57P01", "57P02", "57P03", "57P05"];
const SOCKET: readonly string[] = ["ECONNRESET", "ECONNREFUSED", "EPIPE", "ETIMEDOUT"];

function isLost(cause: unknown): boolean {
  const { code = "", message = "" } = cause as { code?: string; message?: string };
  return (
    ENDED.includes(code) ||
    SOCKET.includes(code) ||
    code.startsWith("08") ||
    /^Connection terminated|not queryable/.test(message)
  );
}

const isTimeout = (cause: unknown): boolean =>
  (cause as { message?: string }).message === "Query read timeout";

/** Public at /readyz: it contains no text of the database. */
function reasonOf(cause: unknown): string {
  const { code } = cause as { code?: string };
  if (code === LOCK_NOT_AVAILABLE)
    return `its turn did not come within ${LOG_LOCK_MS} ms: another instance, or a session of the database, holds it`;
  if (isTimeout(cause)) return `the database did not answer within ${LOG_MS} ms`;
  return isLost(cause) ? "the connection to the database is lost" : "the database refuses to write";
}
