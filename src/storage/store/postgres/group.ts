// One group of the log as the arguments of `append_group`, the procedure that writes it (migrations/013-append.ts).
import { ledgerParts } from "../../../util/record/ledger-line.ts";
import { bucketOf } from "../buckets.ts";
import type { Flat } from "../group.ts";
import { readItems } from "../message.ts";
import { apply, type Change, type Changes, type Ended, type Started } from "../projection.ts";
import { rollupStatus } from "../rollups.ts";
import type { Sayings } from "../error-texts.ts";
import { DAY_HOURS, dayRow, HOUR_MS } from "../tables/tables.ts";
import { settles, usesOf } from "../tally.ts";

const ARGUMENTS = 18;

/** The first is what it answers: the number before the first event of the group. */
export const APPEND_GROUP = `call append_group(null, ${Array.from({ length: ARGUMENTS }, (_, i) => `$${i + 1}`).join(", ")})`;

export interface Group {
  readonly events: number;
  /** From `assumed` on, in the order of the procedure. */
  readonly values: readonly unknown[];
}

/** Events are numbered from `assumed` on; the database moves them to where the log really ends. */
export function groupOf(
  flat: readonly Flat[],
  assumed: number,
  instanceId: string,
  said: Pick<Sayings, "seqOf">,
): Group {
  const columns: (string | number | null)[][] = Array.from({ length: 8 }, () => []);
  const changes: Changes = new Map();
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
  return { events, values: [assumed, ...columns, ...effectsOf(changes.values(), said)] };
}

function effectsOf(changes: Iterable<Change>, said: Pick<Sayings, "seqOf">): unknown[] {
  const [starts, ends, counted, budgets]: object[][] = [[], [], [], []];
  const settled: string[] = [];
  for (const change of changes) {
    const { id, start, end } = change;
    if (start) starts?.push(startRow(id, start, end, said));
    else if (end) ends?.push({ id, ...endColumns(end, said) });
    if (end) counted?.push(countedRow(id, end));
    for (const use of usesOf(change)) budgets?.push({ id, ...use });
    if (settles(change)) settled.push(id);
  }
  return [...[starts, ends, counted, budgets].map(jsonOf), settled];
}

const jsonOf = (rows: object[] | undefined): string | null =>
  rows === undefined || rows.length === 0 ? null : JSON.stringify(rows);

function startRow(id: string, start: Started, end: Ended | null, said: Pick<Sayings, "seqOf">) {
  return {
    seq: start.seq,
    id,
    tenant_id: start.tenantId,
    user_id: start.userId,
    tool_name: start.toolName,
    category: start.category,
    status: start.status,
    start_ms: start.startMs,
    timeout_ms: start.timeoutMs,
    instance_id: start.instanceId,
    approval_id: start.approvalId,
    session_id: start.sessionId,
    trace_key: start.traceKey,
    ...(end ? endColumns(end, said) : {}),
  };
}

function endColumns(end: Ended, said: Pick<Sayings, "seqOf">) {
  return {
    status: end.status,
    cancel_reason: end.cancelReason,
    end_ms: end.endMs,
    duration_ms: end.durationMs,
    end_seq: end.seq,
    error_code: end.errorCode,
    error_seq: said.seqOf(end),
  };
}

function countedRow(id: string, end: Ended) {
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
