// What a group of events does to the executions and the rollups of PostgreSQL; also of the copies that a rebuild makes.
import type { ClientBase } from "pg";
import { addPacked } from "../buckets.ts";
import { createErrorTextIndex } from "../error-texts.ts";
import {
  COLUMNS,
  END_COLUMNS,
  putEndValues,
  putStartValues,
  restartAssignments,
  type Column,
} from "../execution-fields.ts";
import type { Flat } from "../group.ts";
import type { ExecutionChange, ExecutionChanges } from "../projection.ts";
import { rollupsOf } from "../rollups.ts";
import type { RollupsTable } from "../tables/tables.ts";

const names = (columns: readonly Column[]): string => columns.map(({ name }) => name).join(", ");
/** One array per column, `id` first. */
const arrays = (columns: readonly Column[]): string =>
  ["$1::text[]", ...columns.map(({ type }, i) => `$${i + 2}::${type}[]`)].join(", ");

const upsert = (table: string) => `insert into ${table} (id, ${names(COLUMNS)})
  select * from unnest(${arrays(COLUMNS)})
  on conflict (id) do update set ${restartAssignments(table)}
  where ${table}.end_seq is null
  returning id`;
const update = (table: string) => `update ${table} e
  set ${END_COLUMNS.map(({ name }) => `${name} = u.${name}`).join(", ")}
  from unnest(${arrays(END_COLUMNS)}) as u (id, ${names(END_COLUMNS)})
  where e.id = u.id and e.end_seq is null
  returning e.id`;
const KEY = "tenant_id, user_id, hour, tool_name, category, status";
const KEY_TYPES = "$1::text[], $2::text[], $3::bigint[], $4::text[], $5::text[], $6::text[]";
const bucketsOf = (table: string) => `select k.i, r.buckets
  from unnest(${KEY_TYPES}) with ordinality as k (${KEY}, i) join ${table} r using (${KEY})`;
/**
 * Only one session writes the table (that holds the log's lock, or a copy), so buckets are read, added, written back.
 */
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
  write(on: ClientBase, changes: ExecutionChanges): Promise<ExecutionChange[]>;
  /** The transaction of what was written has failed. */
  undone(): void;
}

export function postgresProjection(tables: {
  executions: string;
  rollups: string;
}): PostgresProjection {
  const { executions, rollups } = tables;
  const errorTexts = createErrorTextIndex();

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
        if (end) end.errorSeq = errorTexts.seqOf(end);
        if (start) starts.push([id, ...putStartValues([], start, end)]);
        else if (end) ends.push([id, ...putEndValues([], end)]);
      }
      const changed: { id: string }[] = [];
      if (starts.length > 0)
        changed.push(...(await on.query<{ id: string }>(upsert(executions), columns(starts))).rows);
      if (ends.length > 0)
        changed.push(...(await on.query<{ id: string }>(update(executions), columns(ends))).rows);
      const taken = changed.flatMap(({ id }) => changes.get(id) ?? []);
      await addRollups(on, rollupsOf(taken.flatMap((change) => change.end ?? [])));
      return taken;
    },
    undone: errorTexts.clear,
  };
}

/** Rows to columns: one array per parameter, whatever the number of rows. */
export function columns(rows: readonly Flat[][]): Flat[][] {
  return (rows[0] ?? []).map((_, column) => rows.map((row) => row[column] ?? null));
}
