// What the writer thread does with one message: a group is one transaction, and its rows of history are written in
// another.
import type { DatabaseSync } from "node:sqlite";
import { Chains } from "../chain.ts";
import type { Flat, Result } from "../group.ts";
import { readItems } from "../message.ts";
import type { ExecutionChanges } from "../projection.ts";
import { ProjectionBacklog } from "./projection-backlog.ts";
import { rebuilder } from "./rebuild.ts";
import { createBatchWriter } from "./write-batch.ts";
import { createEventWriter } from "./write-events.ts";

/** With a larger backlog a group is taken only if history can be written, too. */
const MAX_BACKLOG = 10_000;

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
  const [begin, commit] = [db.prepare("begin immediate"), db.prepare("commit")];
  const events = createEventWriter(db, instanceId);
  const batches = createBatchWriter(db);
  const takeStep = rebuilder(db);

  /** Inside a group, before statements that read history. */
  function catchUp(): void {
    backlog.write(true, performance.now());
  }

  function write(flat: readonly Flat[]): Result[] {
    if (backlog.size >= MAX_BACKLOG) settle(true);
    begin.run();
    try {
      const results: Result[] = [];
      const changes: ExecutionChanges = new Map();
      const chains = new Chains(instanceId, events.headOf);
      const before = events.lastSeq();
      let seq = before;
      readItems(flat, {
        event(event, effect) {
          const result = events.write(event, effect, seq + 1, changes, chains);
          if (typeof result === "number") seq = result;
          results.push(result);
        },
        batch(readsHistory, statements) {
          if (readsHistory) catchUp();
          results.push(batches.write(statements));
        },
        step(name, after, oldest) {
          catchUp();
          results.push(batches.allOrNothing(() => [[takeStep(name, after, oldest, before)]]));
        },
      });
      events.moveHeads(chains);
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
