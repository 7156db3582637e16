// One group of the log as the arguments of `append_group`, the procedure that writes it (migrations/013-append.ts).
import { ledgerParts } from "../../../util/record/ledger-line.ts";
import { bucketOf } from "../buckets.ts";
import type { Flat } from "../group.ts";
import { readItems } from "../message.ts";
import type { ErrorTextIndex } from "../error-texts.ts";
import {
  COLUMNS,
  END_COLUMNS,
  type EndedExecution,
  type StartedExecution,
} from "../execution-fields.ts";
import { apply, type ExecutionChange, type ExecutionChanges } from "../projection.ts";
import { rollupStatus } from "../rollups.ts";
import { DAY_HOURS, dayRow, HOUR_MS } from "../tables/tables.ts";
import { settles, usesOf } from "../tally.ts";

const ARGUMENTS = 18;

/** The first is what it answers: the number before the first event of the group. */
export const APPEND_GROUP = `call append_group(null, ${Array.from({ length: ARGUMENTS }, (_, i) => `$${i + 1}`).join(", ")})`;

export interface WriteGroup {
  readonly events: number;
  /** From `assumed` on, in the order of the procedure. */
  readonly values: readonly unknown[];
}

/** Events are numbered from `assumed` on; the database moves them to where the log really ends. */
export function groupOf(
  flat: readonly Flat[],
  assumed: number,
  instanceId: string,
  errorTexts: Pick<ErrorTextIndex, "seqOf">,
): WriteGroup {
  const columns: (string | number | null)[][] = Array.from({ length: 8 }, () => []);
  const changes: ExecutionChanges = new Map();
  let events = 0;
  readItems(flat, {
    event(event, effect) {
      const { tenantId, at, action, actor, executionId, body } = event;
      const { before, after } = ledgerParts({ ...event, instanceId });
      [tenantId, at, action, actor, executionId, body, before, after].forEach((value, i) =>
        columns[i]?.push(value),
      );
      events++;
      if (effect && executionId !== null) apply(effect, executionId, assumed + events, changes);
    },
    batch: () => undefined,
  });
  return { events, values: [assumed, ...columns, ...effectsOf(changes.values(), errorTexts)] };
}

function effectsOf(
  changes: Iterable<ExecutionChange>,
  errorTexts: Pick<ErrorTextIndex, "seqOf">,
): unknown[] {
  const [starts, ends, counted, budgets]: object[][] = [[], [], [], []];
  const settled: string[] = [];
  for (const change of changes) {
    const { id, start, end } = change;
    if (end) end.errorSeq = errorTexts.seqOf(end);
    if (start) starts?.push(startRow(id, start, end));
    else if (end) ends?.push(endRow(id, end));
    if (end) counted?.push(countedRow(id, end));
    for (const use of usesOf(change)) budgets?.push({ id, ...use });
    if (settles(change)) settled.push(id);
  }
  return [...[starts, ends, counted, budgets].map(jsonOf), settled];
}

const jsonOf = (rows: object[] | undefined): string | null =>
  rows === undefined || rows.length === 0 ? null : JSON.stringify(rows);

/** The procedure sets `start_seq` from `seq`. */
const SENT = COLUMNS.filter(({ name }) => name !== "start_seq");

function startRow(id: string, start: StartedExecution, end: EndedExecution | null): object {
  const row: Record<string, unknown> = { id };
  for (const { name, start: key } of SENT) if (key !== null) row[name] = start[key];
  return end ? Object.assign(row, endRow(id, end)) : row;
}

function endRow(id: string, end: EndedExecution): object {
  const row: Record<string, unknown> = { id };
  for (const { name, end: key } of END_COLUMNS) if (key !== null) row[name] = end[key];
  return row;
}

function countedRow(id: string, end: EndedExecution) {
  const hour = Math.floor(end.startMs / HOUR_MS);
  return {
    id,
    tenant_id: end.tenantId,
    user_id: end.userId,
    hour,
    day: dayRow(Math.floor(hour / DAY_HOURS)),
    tool_name: end.toolName,
    category: end.category,
    status: rollupStatus(end.status, end.cancelReason),
    duration_ms: end.durationMs,
    start_ms: end.startMs,
    bucket: bucketOf(end.durationMs),
  };
}
