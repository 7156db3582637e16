// What a group of events does to the executions and the rollups of PostgreSQL; also of the copies that a rebuild makes.
import type { ClientBase } from "pg";
import { addPacked } from "../buckets.ts";
import type { Flat } from "../group.ts";
import type { Change, Changes } from "../projection.ts";
import { rollupsOf } from "../rollups.ts";
import { sayings } from "../error-texts.ts";
import type { RollupsTable } from "../tables/tables.ts";

const upsert = (
  table: string,
) => `insert into ${table} (seq, start_seq, id, tenant_id, user_id, tool_name, category,
    status, cancel_reason, start_ms, end_ms, duration_ms, timeout_ms, instance_id, end_seq, approval_id, session_id,
    trace_key, error_code, error_seq)
  select * from unnest($1::bigint[], $1::bigint[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[],
    $7::text[], $8::text[], $9::bigint[], $10::bigint[], $11::float8[], $12::bigint[], $13::text[], $14::bigint[],
    $15::text[], $16::text[], $17::bigint[], $18::text[], $19::bigint[])
  on conflict (id) do update set status = excluded.status, cancel_reason = excluded.cancel_reason,
    start_ms = excluded.start_ms, approval_id = coalesce(excluded.approval_id, ${table}.approval_id),
    end_ms = excluded.end_ms, duration_ms = excluded.duration_ms, timeout_ms = excluded.timeout_ms,
    instance_id = excluded.instance_id, start_seq = excluded.start_seq, end_seq = excluded.end_seq,
    session_id = excluded.session_id, trace_key = excluded.trace_key, error_code = excluded.error_code,
    error_seq = excluded.error_seq
  where ${table}.end_seq is null
  returning id`;
const end = (
  table: string,
) => `update ${table} e set status = u.status, cancel_reason = u.cancel_reason,
    end_ms = u.end_ms, duration_ms = u.duration_ms, end_seq = u.end_seq, error_code = u.error_code,
    error_seq = u.error_seq
  from unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::float8[], $6::bigint[], $7::text[], $8::bigint[])
    as u (id, status, cancel_reason, end_ms, duration_ms, end_seq, error_code, error_seq)
  where e.id = u.id and e.end_seq is null
  returning e.id`;
const KEY = "tenant_id, user_id, hour, tool_name, category, status";
const KEY_TYPES = "$1::text[], $2::text[], $3::bigint[], $4::text[], $5::text[], $6::text[]";
const bucketsOf = (table: string) => `select k.i, r.buckets
  from unnest(${KEY_TYPES}) with ordinality as k (${KEY}, i) join ${table} r using (${KEY})`;
/** Whoever adds is alone with the table (the log's turn, or a copy), so buckets are read, added and written back. */
const addRollup = (table: string) => `insert into ${table}
    (${KEY}, count, total_ms, last_start_ms, buckets)
  select ${KEY}, count, total_ms, last_start_ms, decode(buckets, 'hex')
  from unnest(${KEY_TYPES}, $7::bigint[], $8::float8[], $9::bigint[], $10::text[])
    as u (${KEY}, count, total_ms, last_start_ms, buckets)
  on conflict (${KEY}) do update set
    count = ${table}.count + excluded.count, total_ms = ${table}.total_ms + excluded.total_ms,
    last_start_ms = greatest(${table}.last_start_ms, excluded.last_start_ms), buckets = excluded.buckets`;

export interface PostgresProjection {
  /** Answers the changes that were taken: not those of executions that had ended before. */
  write(on: ClientBase, changes: Changes): Promise<Change[]>;
  /** The transaction of what was written has failed. */
  undone(): void;
}

export function postgresProjection(tables: {
  executions: string;
  rollups: string;
}): PostgresProjection {
  const { executions, rollups } = tables;
  const said = sayings();

  async function addRollups(on: ClientBase, rows: readonly RollupsTable[]): Promise<void> {
    if (rows.length === 0) return;
    const keys = rows.map((r): Flat[] => [
      r.tenant_id,
      r.user_id,
      r.hour,
      r.tool_name,
      r.category,
      r.status,
    ]);
    const there = await on.query<{ i: number; buckets: Uint8Array | null }>(
      bucketsOf(rollups),
      columns(keys),
    );
    const before = new Map(there.rows.map(({ i, buckets }) => [Number(i) - 1, buckets]));
    const sums = rows.map((r, i): Flat[] => [
      ...(keys[i] ?? []),
      r.count,
      r.total_ms,
      r.last_start_ms,
      r.buckets && Buffer.from(addPacked(before.get(i) ?? null, r.buckets)).toString("hex"),
    ]);
    await on.query(addRollup(rollups), columns(sums));
  }

  return {
    async write(on, changes) {
      const starts: Flat[][] = [];
      const ends: Flat[][] = [];
      for (const { id, start, end } of changes.values()) {
        if (start) {
          starts.push([
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
            end?.seq ?? null,
            start.approvalId,
            start.sessionId,
            start.traceKey,
            end?.errorCode ?? null,
            end ? said.seqOf(end) : null,
          ]);
        } else if (end) {
          ends.push([
            id,
            end.status,
            end.cancelReason,
            end.endMs,
            end.durationMs,
            end.seq,
            end.errorCode,
            said.seqOf(end),
          ]);
        }
      }
      const changed: { id: string }[] = [];
      if (starts.length > 0)
        changed.push(...(await on.query<{ id: string }>(upsert(executions), columns(starts))).rows);
      if (ends.length > 0)
        changed.push(...(await on.query<{ id: string }>(end(executions), columns(ends))).rows);
      const taken = changed.flatMap(({ id }) => changes.get(id) ?? []);
      await addRollups(on, rollupsOf(taken.flatMap((change) => change.end ?? [])));
      return taken;
    },
    undone: said.forget,
  };
}

/** Rows to columns: one array per parameter, whatever the number of rows. */
export function columns(rows: readonly Flat[][]): Flat[][] {
  return (rows[0] ?? []).map((_, column) => rows.map((row) => row[column] ?? null));
}
