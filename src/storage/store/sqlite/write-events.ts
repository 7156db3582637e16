// Events: rows of the log, each linked to the one before it in its tenant's chain.
import type { DatabaseSync, StatementSync } from "node:sqlite";
import { bind } from "../bind.ts";
import type { Chains, Head } from "../chain.ts";
import { errcodeOf, failure, type Result } from "../group.ts";
import { apply, type ExecutionChanges, type EventEffect } from "../projection.ts";
import type { LogEvent } from "../store.ts";

const INSERT_EVENT = `insert into events
    (seq, tenant_id, at_ms, action, actor, execution_id, body, instance_id, n, prev_hash, hash)
  values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;
const CHAIN_HEAD = "select n, hash from chains where tenant_id = ? and instance_id = ?";
const MOVE_HEAD = `insert into chains (tenant_id, instance_id, n, seq, hash) values (?, ?, ?, ?, ?)
  on conflict do update set n = excluded.n, seq = excluded.seq, hash = excluded.hash`;
const LAST_SEQ = "select max(seq) as seq from events";

export interface EventWriter {
  /** The last event of a tenant's chain, as it is stored. */
  headOf(tenantId: string): Head | null;
  /** The last number of the log. */
  lastSeq(): number;
  /** Writes the event under this number, or says why it cannot be stored. */
  write(
    event: LogEvent,
    effect: EventEffect | null,
    seq: number,
    changes: ExecutionChanges,
    chains: Chains,
  ): Result;
  /** Stores where the chains end now. */
  moveHeads(chains: Chains): void;
}

export function createEventWriter(db: DatabaseSync, instanceId: string): EventWriter {
  // Used for every event or group: prepared once, and called without a list in between. The values were checked on
  // their way here, and their columns say which numbers are whole: they are bound as they are.
  const insertEvent = preparedOnUse(db, INSERT_EVENT);
  const chainHead = preparedOnUse(db, CHAIN_HEAD);
  const moveHead = preparedOnUse(db, MOVE_HEAD);
  const lastSeq = preparedOnUse(db, LAST_SEQ);

  return {
    headOf: (tenantId) =>
      (chainHead().get(bind(tenantId), bind(instanceId)) as Head | undefined) ?? null,
    lastSeq: () => Number(lastSeq().get()?.["seq"] ?? 0),
    write(event, effect, seq, changes, chains) {
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
    },
    moveHeads(chains) {
      for (const [tenantId, at] of chains.moved())
        moveHead().run(bind(tenantId), bind(instanceId), bind(at.n), bind(at.seq), bind(at.hash));
    },
  };
}

/** Prepared with the first use: the tables are not there before. */
function preparedOnUse(db: DatabaseSync, sql: string): () => StatementSync {
  let statement: StatementSync | undefined;
  return () => (statement ??= db.prepare(sql));
}
