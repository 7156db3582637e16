// What the writer thread does with one message: a group is one transaction, and its rows of history are written in
// another.
import type { DatabaseSync, StatementSync } from "node:sqlite";
import { ProjectionBacklog } from "./projection-backlog.ts";
import { bind } from "../bind.ts";
import { Chains, type Head } from "../chain.ts";
import { errcodeOf, failure, type Flat, type Result } from "../group.ts";
import { readItems, type Statement } from "../message.ts";
import { apply, type Changes, type Effect } from "../projection.ts";
import { rebuilder } from "./rebuild.ts";
import type { LogEvent } from "../store.ts";

const MAX_PREPARED = 500;

const INSERT_EVENT = `insert into events
    (seq, tenant_id, at_ms, action, actor, execution_id, body, instance_id, n, prev_hash, hash)
  values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;
const CHAIN_HEAD = "select n, hash from chains where tenant_id = ? and instance_id = ?";
const MOVE_HEAD = `insert into chains (tenant_id, instance_id, n, seq, hash) values (?, ?, ?, ?, ?)
  on conflict do update set n = excluded.n, seq = excluded.seq, hash = excluded.hash`;
/** With a larger backlog a group is taken only if history can be written, too. */
const MAX_BACKLOG = 10_000;

interface Prepared {
  readonly statement: StatementSync;
  readonly returns: boolean;
}

export interface GroupWriter {
  /** Durable when it returns: one result per item. */
  write(flat: readonly Flat[]): Result[];
  /** Brings history up to the log: what has ended, what has been running for a while, or all. Throws when it cannot. */
  settle(all: boolean): void;
  /** Calls whose events are durable and whose rows are not up to them. */
  readonly backlog: number;
  /** Those of them that have ended. */
  readonly ended: number;
}

export function groupWriter(db: DatabaseSync, instanceId: string): GroupWriter {
  const backlog = new ProjectionBacklog(db);
  backlog.catchUp();
  const prepared = new Map<string, Prepared>();

  function prepare(sql: string): Prepared {
    const known = prepared.get(sql);
    if (known) return known;
    if (prepared.size >= MAX_PREPARED) prepared.clear();
    const statement = db.prepare(sql);
    const made = { statement, returns: statement.columns().length > 0 };
    prepared.set(sql, made);
    return made;
  }

  function run(sql: string, ...values: unknown[]): void {
    prepare(sql).statement.run(...values.map(bind));
  }

  // One or two of each for every call: prepared once, and called without a list in between. Their values were looked
  // at on their way here, and their columns say which numbers are whole: they are bound as they are.
  const insertEvent = once(() => db.prepare(INSERT_EVENT));
  const [begin, commit] = [db.prepare("begin immediate"), db.prepare("commit")];
  const takeStep = rebuilder(db);
  const chainHead = once(() => db.prepare(CHAIN_HEAD));
  const headOf = (tenantId: string): Head | null =>
    (chainHead().get(bind(tenantId), bind(instanceId)) as Head | undefined) ?? null;

  const writeBatch = (statements: readonly Statement[]): Result =>
    allOrNothing(() =>
      statements.map(({ sql, parameters }) => {
        const { statement, returns } = prepare(sql);
        const values = parameters.map(bind);
        if (returns) return statement.all(...values);
        statement.run(...values);
        return [];
      }),
    );

  function allOrNothing(work: () => Result): Result {
    db.exec("savepoint batch");
    try {
      const result = work();
      db.exec("release batch");
      return result;
    } catch (cause) {
      // A full disk ends the whole transaction; then the group is lost, not only this batch.
      if (!db.isTransaction) throw cause;
      db.exec("rollback to batch; release batch");
      return failure(cause);
    }
  }

  function writeEvent(
    event: LogEvent,
    effect: Effect | null,
    seq: number,
    changes: Changes,
    chains: Chains,
  ): Result {
    try {
      const link = chains.link(event, seq);
      insertEvent().run(
        seq,
        event.tenantId,
        event.at,
        event.action,
        event.actor,
        event.executionId,
        event.body,
        instanceId,
        link.n,
        link.prevHash,
        link.hash,
      );
      chains.take(event.tenantId, seq, link);
      if (effect && event.executionId !== null) apply(effect, event.executionId, seq, changes);
      return seq;
    } catch (cause) {
      // A value that cannot be stored is the fault of its author; anything from the database concerns all.
      if (errcodeOf(cause) !== null || !db.isTransaction) throw cause;
      return failure(cause);
    }
  }

  function head(): number {
    const row = prepare("select max(seq) as seq from events").statement.get();
    return Number(row?.["seq"] ?? 0);
  }

  /** Inside a group, before statements that read history. */
  function catchUp(): void {
    backlog.write(true, performance.now());
  }

  function write(flat: readonly Flat[]): Result[] {
    if (backlog.size >= MAX_BACKLOG) settle(true);
    begin.run();
    try {
      const results: Result[] = [];
      const changes: Changes = new Map();
      const chains = new Chains(instanceId, headOf);
      const before = head();
      let seq = before;
      readItems(flat, {
        event(event, effect) {
          const result = writeEvent(event, effect, seq + 1, changes, chains);
          if (typeof result === "number") seq = result;
          results.push(result);
        },
        batch(readsHistory, statements) {
          if (readsHistory) catchUp();
          results.push(writeBatch(statements));
        },
        step(name, after, oldest) {
          catchUp();
          results.push(allOrNothing(() => [[takeStep(name, after, oldest, before)]]));
        },
      });
      for (const [tenantId, at] of chains.moved())
        run(MOVE_HEAD, tenantId, instanceId, at.n, at.seq, at.hash);
      commit.run();
      backlog.done();
      backlog.add(changes, before, seq, performance.now());
      return results;
    } catch (cause) {
      backlog.undone();
      if (db.isTransaction) db.exec("rollback");
      throw cause;
    }
  }

  function settle(all: boolean): void {
    // What is lost with it is read from the log again, so this does not wait for the disk.
    db.exec("pragma synchronous = normal");
    try {
      begin.run();
      backlog.write(all, performance.now());
      commit.run();
      backlog.done();
    } catch (cause) {
      backlog.undone();
      if (db.isTransaction) db.exec("rollback");
      throw cause;
    } finally {
      db.exec("pragma synchronous = full");
    }
  }

  return {
    write,
    settle,
    get backlog() {
      return backlog.size;
    },
    get ended() {
      return backlog.ended;
    },
  };
}

/** Not before the tables are there. */
function once<T>(make: () => T): () => T {
  let made: T | undefined;
  return () => (made ??= make());
}
