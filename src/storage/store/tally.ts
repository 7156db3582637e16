// What one group of events means for the tenants' budgets: one sum per tenant, month and metric, whatever the number
// of calls.
import type { Amounts } from "./execution-fields.ts";
import type { ExecutionChange } from "./projection.ts";
import type { UsageTable } from "./tables/tables.ts";

export interface UsageTally {
  /** Takes in a change that the executions table took. */
  add(change: ExecutionChange): void;
  /** In key order; `used` is what is added. */
  readonly sums: () => UsageTable[];
  /** Executions whose reservations go: they started, or ended without having been run. */
  readonly settled: string[];
}

export interface UsageChange {
  readonly tenant_id: string;
  /** Month in UTC: `2026-11`. */
  readonly period: string;
  readonly metric: string;
  readonly amount: number;
}

export function tally(): UsageTally {
  const sums = new Map<string, UsageTable>();
  const settled: string[] = [];
  return {
    add(change) {
      for (const { tenant_id, period, metric, amount } of usesOf(change)) {
        const key = `${tenant_id}\0${period}\0${metric}`;
        const row = sums.get(key);
        if (row) row.used += amount;
        else sums.set(key, { tenant_id, period, metric, used: amount });
      }
      if (settles(change)) settled.push(change.id);
    },
    sums: () => [...sums.entries()].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, row]) => row),
    settled,
  };
}

/** What a change adds to the use of its tenant. */
export function usesOf({ start, end }: ExecutionChange): UsageChange[] {
  const uses: UsageChange[] = [];
  if (start?.budget) addUses(uses, start.tenantId, start.startMs, start.budget);
  if (end?.budget) addUses(uses, end.tenantId, end.startMs, end.budget);
  return uses;
}

/** Whether its reservation goes. Whatever succeeded has started, and that settled it. */
export const settles = ({ start, end }: ExecutionChange): boolean =>
  start?.reserved === true || (end !== null && end.status !== "success");

function addUses(uses: UsageChange[], tenantId: string, startMs: number, budget: Amounts): void {
  const period = periodOf(startMs);
  for (const metric in budget)
    uses.push({ tenant_id: tenantId, period, metric, amount: budget[metric] ?? 0 });
}

function periodOf(ms: number): string {
  const date = new Date(ms);
  const month = date.getUTCMonth() + 1;
  return `${date.getUTCFullYear()}-${month < 10 ? "0" : ""}${month}`;
}
