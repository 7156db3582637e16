// The sums that counts, averages and percentiles come from: per user, tool and end, by the hour, by the day and of
// all time.
import type { CancelReason } from "../../contract/call.ts";
import { bucketOf, count, pack, type Counts } from "./buckets.ts";
import type { EndedExecution } from "./execution-fields.ts";
import {
  ALL_TIME,
  DAY_HOURS,
  dayRow,
  HOUR_MS,
  WHOLE_TENANT,
  type RollupsTable,
  type RollupStatus,
} from "./tables/tables.ts";

/** All that the sums need of an execution that ended. */
export type Countable = Pick<
  EndedExecution,
  | "tenantId"
  | "userId"
  | "toolName"
  | "category"
  | "status"
  | "cancelReason"
  | "startMs"
  | "durationMs"
>;

interface Sum extends Omit<RollupsTable, "buckets"> {
  readonly counts: Counts;
}
type Sums = Map<string, Sum>;

/** Sums of what ended, in key order so that two writers lock rows alike. */
export function rollupsOf(ends: Iterable<Countable>): RollupsTable[] {
  const hours: Sums = new Map();
  let last: Sum | null = null;
  for (const end of ends) last = addEnd(hours, end, last);
  const sums: Sums = new Map();
  for (const sum of hours.values()) {
    addSum(sums, sum);
    addSum(sums, { ...sum, hour: dayRow(Math.floor(sum.hour / DAY_HOURS)) });
    addSum(sums, { ...sum, hour: ALL_TIME });
    addSum(sums, { ...sum, user_id: WHOLE_TENANT, hour: ALL_TIME });
  }
  return [...sums.entries()]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([, { counts, ...row }]) => ({ ...row, buckets: pack(counts) }));
}

export function rollupStatus(
  status: EndedExecution["status"],
  reason: CancelReason | null,
): RollupStatus {
  return status === "cancelled" && reason === "timeout" ? "timeout" : status;
}

/** The one step that every call pays for; the rest is done once per group. Most are like the one before. */
function addEnd(hours: Sums, end: Countable, last: Sum | null): Sum {
  const status = rollupStatus(end.status, end.cancelReason);
  const hour = Math.floor(end.startMs / HOUR_MS);
  if (last && isOf(last, end, hour, status)) return take(last, end);
  const key = `${end.tenantId}\0${end.userId}\0${hour}\0${end.toolName}\0${end.category}\0${status}`;
  const known = hours.get(key);
  if (known) return take(known, end);
  const sum = {
    tenant_id: end.tenantId,
    user_id: end.userId,
    hour,
    tool_name: end.toolName,
    category: end.category,
    status,
    count: 0,
    total_ms: 0,
    last_start_ms: end.startMs,
    counts: new Map(),
  };
  hours.set(key, sum);
  return take(sum, end);
}

const isOf = (sum: Sum, end: Countable, hour: number, status: RollupStatus): boolean =>
  sum.user_id === end.userId &&
  sum.tool_name === end.toolName &&
  sum.hour === hour &&
  sum.tenant_id === end.tenantId &&
  sum.category === end.category &&
  sum.status === status;

function take(sum: Sum, { durationMs, startMs }: Countable): Sum {
  count(sum.counts, bucketOf(durationMs));
  sum.count += 1;
  sum.total_ms += durationMs;
  sum.last_start_ms = Math.max(sum.last_start_ms, startMs);
  return sum;
}

function addSum(sums: Sums, row: Sum): void {
  const key = `${row.tenant_id}\0${row.user_id}\0${row.hour}\0${row.tool_name}\0${row.category}\0${row.status}`;
  const sum = sums.get(key);
  if (!sum) {
    sums.set(key, { ...row, counts: new Map(row.counts) });
    return;
  }
  for (const [bucket, amount] of row.counts) count(sum.counts, bucket, amount);
  sum.count += row.count;
  sum.total_ms += row.total_ms;
  sum.last_start_ms = Math.max(sum.last_start_ms, row.last_start_ms);
}
