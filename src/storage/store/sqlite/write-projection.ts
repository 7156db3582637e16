// What a group of events does to the executions and the rollups of SQLite; also of the copies that a rebuild makes.
import type { DatabaseSync, SQLInputValue } from "node:sqlite";
import { bind } from "../bind.ts";
import { addPacked } from "../buckets.ts";
import { createErrorTextIndex } from "../error-texts.ts";
import {
  COLUMNS,
  END_COLUMNS,
  putEndValues,
  putStartValues,
  restartAssignments,
  type Column,
  type EndedExecution,
} from "../execution-fields.ts";
import type { ExecutionChange } from "../projection.ts";
import type { Flat } from "../group.ts";
import { rollupsOf } from "../rollups.ts";
import type { RollupsTable } from "../tables/tables.ts";

const upsert = (table: string) => `insert into ${table} (id, ${namesOf(COLUMNS)})
  values (?, ${COLUMNS.map(() => "?").join(", ")})
  on conflict (id) do update set ${restartAssignments(table)}
  where ${table}.end_seq is null and ${table}.start_seq < excluded.start_seq`;
const update = (table: string) => `update ${table} set ${namesOf(END_COLUMNS, " = ?")}
  where id = ? and end_seq is null`;
const addRollup = (table: string) => `insert into ${table}
    (tenant_id, user_id, hour, tool_name, category, status, count, total_ms, last_start_ms, buckets)
  values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
  on conflict do update set count = count + excluded.count, total_ms = total_ms + excluded.total_ms,
    last_start_ms = max(last_start_ms, excluded.last_start_ms), buckets = add_packed(buckets, excluded.buckets)`;

export interface ProjectionWriter {
  /** Answers what was taken of the changes: no start that is there, no end of what had ended before. */
  write(changes: Iterable<ExecutionChange>): ExecutionChange[];
  /** The transaction of what was written has failed. */
  undone(): void;
}

/** Statements are prepared with their first use: the tables may not be there before. */
export function projectionWriter(
  db: DatabaseSync,
  { executions, rollups }: { executions: string; rollups: string },
): ProjectionWriter {
  const upsertExecution = once(() => db.prepare(upsert(executions)));
  const endExecution = once(() => db.prepare(update(executions)));
  const addToRollup = once(() => db.prepare(addRollup(rollups)));
  const errorTexts = createErrorTextIndex();
  // Filled anew for every row, so that a call allocates no list.
  const startValues: SQLInputValue[] = COLUMNS.map(() => null);
  const endValues: SQLInputValue[] = END_COLUMNS.map(() => null);
  db.function("add_packed", { deterministic: true }, (a, b) =>
    addPacked(a as Uint8Array | null, b as Uint8Array),
  );

  // The values were checked when the event was taken, and the columns have the types of the numbers: they are bound
  // as they are.
  function take(change: ExecutionChange): ExecutionChange | null {
    const { id, start, end } = change;
    if (end) end.errorSeq = errorTexts.seqOf(end);
    if (start) {
      putStartValues(startValues as Flat[], start, end);
      if (upsertExecution().run(id, ...startValues).changes !== 0) return change;
    }
    if (!end) return null;
    putEndValues(endValues as Flat[], end);
    if (endExecution().run(...endValues, id).changes === 0) return null;
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
      const taken: ExecutionChange[] = [];
      const ended: EndedExecution[] = [];
      for (const change of changes) {
        const part = take(change);
        if (!part) continue;
        taken.push(part);
        if (part.end) ended.push(part.end);
      }
      addRollups(rollupsOf(ended));
      return taken;
    },
    undone: errorTexts.clear,
  };
}

const namesOf = (columns: readonly Column[], suffix = ""): string =>
  columns.map(({ name }) => name + suffix).join(", ");

function once<T>(make: () => T): () => T {
  let made: T | undefined;
  return () => (made ??= make());
}
