// Notices that a budget is nearly used up. A warning only: it never refuses, and its own failure changes nothing.
import type { BudgetLine, Metric } from "./budget.ts";
import type { BudgetsPowers } from "./budgets.ts";

/** It looks again after so much of a limit was taken here, or after this time (others take too). */
const LOOK_EVERY_PART = 0.01;
const LOOK_EVERY_MS = 5_000;
const DEFAULT_WARNING = 0.8;
/** Tenants watched at once; the one forgotten is warned a second time at most. */
const MAX_TENANTS = 10_000;

interface Watch {
  readonly period: string;
  readonly told: Set<Metric>;
  readonly since: Map<Metric, number>;
  lookedAt: number;
}

type Line = Omit<BudgetLine, "used">;

export function createLowWatch(p: BudgetsPowers) {
  const watches = new Map<string, Watch>();

  const watchOf = (tenantId: string, period: string): Watch => {
    let watch = watches.get(tenantId);
    if (watch?.period !== period) {
      if (watches.size >= MAX_TENANTS) watches.clear();
      watch = { period, told: new Set(), since: new Map(), lookedAt: -Infinity };
      watches.set(tenantId, watch);
    }
    return watch;
  };

  return {
    /** Metrics that this call brings close to their limit and nobody was told of yet. */
    async look(tenantId: string, period: string, lines: readonly Line[]): Promise<Metric[]> {
      const watch = watchOf(tenantId, period);
      const open = lines.filter(({ metric, limit }) => limit !== null && !watch.told.has(metric));
      if (!isDue(watch, open, p.now())) return [];
      const rows = await p.usage.of(tenantId, period).catch(() => []);
      const part = p.governance().lowWarning ?? DEFAULT_WARNING;
      const close: Metric[] = [];
      for (const { metric, amount, limit } of open) {
        const row = rows.find((each) => each.metric === metric);
        const used = (row ? row.used + row.reserved : 0) + amount;
        if (limit === null || used < limit * part || watch.told.has(metric)) continue;
        watch.told.add(metric);
        close.push(metric);
        p.onLow?.({ tenantId, period, metric, used: Math.min(used, limit), limit });
      }
      return close;
    },
  };
}

/** Counts what this call takes, and says whether it is time to look. */
function isDue(watch: Watch, open: readonly Line[], now: number): boolean {
  let due = open.length > 0 && now - watch.lookedAt >= LOOK_EVERY_MS;
  for (const { metric, amount, limit } of open) {
    const since = (watch.since.get(metric) ?? 0) + amount;
    watch.since.set(metric, since);
    if (since >= (limit ?? Infinity) * LOOK_EVERY_PART) due = true;
  }
  if (!due) return false;
  watch.lookedAt = now;
  watch.since.clear();
  return true;
}
