// What a group of events does to the executions and the rollups of SQLite; also of the copies that a rebuild makes.
import type { DatabaseSync } from "node:sqlite";
import { bind } from "../bind.ts";
import { addPacked } from "../buckets.ts";
import type { Change, Ended } from "../projection.ts";
import { rollupsOf } from "../rollups.ts";
import { sayings } from "../error-texts.ts";
import type { RollupsTable } from "../tables/tables.ts";

const upsert = (
  table: string,
) => `insert into ${table} (seq, id, tenant_id, user_id, tool_name, category, status,
    cancel_reason, start_ms, end_ms, duration_ms, timeout_ms, instance_id, start_seq, end_seq, approval_id, session_id,
    trace_key, error_code, error_seq)
  values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
  on conflict (id) do update set status = excluded.status, cancel_reason = excluded.cancel_reason,
    start_ms = excluded.start_ms, approval_id = coalesce(excluded.approval_id, approval_id), end_ms = excluded.end_ms,
    duration_ms = excluded.duration_ms, timeout_ms = excluded.timeout_ms, instance_id = excluded.instance_id,
    start_seq = excluded.start_seq, end_seq = excluded.end_seq, session_id = excluded.session_id,
    trace_key = excluded.trace_key, error_code = excluded.error_code, error_seq = excluded.error_seq
  where ${table}.end_seq is null and ${table}.start_seq < excluded.start_seq`;
const end = (
  table: string,
) => `update ${table} set status = ?, cancel_reason = ?, end_ms = ?, duration_ms = ?, end_seq = ?, error_code = ?,
    error_seq = ?
  where id = ? and end_seq is null`;
const addRollup = (table: string) => `insert into ${table}
    (tenant_id, user_id, hour, tool_name, category, status, count, total_ms, last_start_ms, buckets)
  values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
  on conflict do update set count = count + excluded.count, total_ms = total_ms + excluded.total_ms,
    last_start_ms = max(last_start_ms, excluded.last_start_ms), buckets = add_packed(buckets, excluded.buckets)`;

export interface ProjectionWriter {
  /** Answers what was taken of the changes: no start that is there, no end of what had ended before. */
  write(changes: Iterable<Change>): Change[];
  /** The transaction of what was written has failed. */
  undone(): void;
}

/** Statements are prepared with their first use: the tables may not be there before. */
export function projectionWriter(
  db: DatabaseSync,
  { executions, rollups }: { executions: string; rollups: string },
): ProjectionWriter {
  const upsertExecution = once(() => db.prepare(upsert(executions)));
  const endExecution = once(() => db.prepare(end(executions)));
  const addToRollup = once(() => db.prepare(addRollup(rollups)));
  const said = sayings();
  db.function("add_packed", { deterministic: true }, (a, b) =>
    addPacked(a as Uint8Array | null, b as Uint8Array),
  );

  // One or two of these for every call: called without a list in between. Their values were looked at when the event was
  // taken, and their columns say which numbers are whole: they are bound as they are.
  function take(change: Change): Change | null {
    const { id, start, end } = change;
    if (start) {
      const { changes } = upsertExecution().run(
        start.seq,
        id,
        start.tenantId,
        start.userId,
        start.toolName,
        start.category,
        end?.status ?? start.status,
        end?.cancelReason ?? null,
        start.startMs,
        end?.endMs ?? null,
        end?.durationMs ?? null,
        start.timeoutMs,
        start.instanceId,
        start.seq,
        end?.seq ?? null,
        start.approvalId,
        start.sessionId,
        start.traceKey,
        end?.errorCode ?? null,
        end ? said.seqOf(end) : null,
      );
      if (changes !== 0) return change;
    }
    if (!end) return null;
    const { changes } = endExecution().run(
      end.status,
      end.cancelReason,
      end.endMs,
      end.durationMs,
      end.seq,
      end.errorCode,
      said.seqOf(end),
      id,
    );
    if (changes === 0) return null;
    return start ? { id, start: null, end } : change;
  }

  function addRollups(rows: readonly RollupsTable[]): void {
    for (const r of rows)
      addToRollup().run(
        bind(r.tenant_id),
        bind(r.user_id),
        bind(r.hour),
        bind(r.tool_name),
        bind(r.category),
        bind(r.status),
        bind(r.count),
        bind(r.total_ms),
        bind(r.last_start_ms),
        bind(r.buckets),
      );
  }

  return {
    write(changes) {
      const taken: Change[] = [];
      const ended: Ended[] = [];
      for (const change of changes) {
        const part = take(change);
        if (!part) continue;
        taken.push(part);
        if (part.end) ended.push(part.end);
      }
      addRollups(rollupsOf(ended));
      return taken;
    },
    undone: said.forget,
  };
}

function once<T>(make: () => T): () => T {
  let made: T | undefined;
  return () => (made ??= make());
}
