// What one group of events means for the tenants' budgets: one sum per tenant, month and metric, whatever the number of calls.
import type { Amounts, Change } from "./projection.ts";
import type { UsageTable } from "./tables.ts";

export interface Tally {
  /** Takes in a change that the executions table took. */
  add(change: Change): void;
  /** In key order; `used` is what is added. */
  readonly sums: () => UsageTable[];
  /** Executions whose reservations go: they started, or ended without having been run. */
  readonly settled: string[];
}

export function tally(): Tally {
  const sums = new Map<string, UsageTable>();
  const settled: string[] = [];

  function count(tenantId: string, startMs: number, budget: Amounts): void {
    const period = periodOf(startMs);
    for (const metric in budget) {
      const key = `${tenantId}\0${period}\0${metric}`;
      const row = sums.get(key);
      const amount = budget[metric] ?? 0;
      if (row) row.used += amount;
      else sums.set(key, { tenant_id: tenantId, period, metric, used: amount });
    }
  }

  return {
    add({ id, start, end }) {
      if (start?.budget) count(start.tenantId, start.startMs, start.budget);
      if (end?.budget) count(end.tenantId, end.startMs, end.budget);
      // Whatever succeeded has started, and that settled it.
      if (start?.reserved || (end && end.status !== "success")) settled.push(id);
    },
    sums: () => [...sums.entries()].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, row]) => row),
    settled,
  };
}

/** Month in UTC: `2026-11`. */
function periodOf(ms: number): string {
  const date = new Date(ms);
  const month = date.getUTCMonth() + 1;
  return `${date.getUTCFullYear()}-${month < 10 ? "0" : ""}${month}`;
}
