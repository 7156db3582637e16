// Notices that a budget is nearly used up. A warning only: it never refuses, and its own failure changes nothing.
import type { BudgetLine, Metric } from "./budget.ts";
import type { BudgetsPowers } from "./budgets.ts";

/** How often the store is looked at again, since others take too. In between this process adds up its own. */
const LOOK_EVERY_MS = 5_000;
/** Tenants watched at once; the one forgotten is warned a second time at most. */
const MAX_TENANTS = 10_000;

interface Watch {
  readonly period: string;
  readonly told: Set<Metric>;
  /** What was taken when it was last looked up, and what this process has taken since. */
  readonly taken: Map<string, number>;
  lookedAt: number;
  looking: boolean;
}

type Line = Omit<BudgetLine, "used">;
type Limited = Line & { readonly limit: number };

export function createLowWatch(p: BudgetsPowers) {
  const watches = new Map<string, Watch>();

  const watchOf = (tenantId: string, period: string): Watch => {
    let watch = watches.get(tenantId);
    if (watch?.period !== period) {
      if (watches.size >= MAX_TENANTS) watches.clear();
      watch = { period, told: new Set(), taken: new Map(), lookedAt: -Infinity, looking: false };
      watches.set(tenantId, watch);
    }
    return watch;
  };

  return {
    /** Metrics that this call brings close to their limit and nobody was told of yet. */
    async look(tenantId: string, period: string, lines: readonly Line[]): Promise<Metric[]> {
      const watch = watchOf(tenantId, period);
      const part = p.governance().lowWarning;
      const taken = (metric: Metric): number => watch.taken.get(metric) ?? 0;
      const isClose = (line: Line): line is Limited =>
        line.limit !== null &&
        !watch.told.has(line.metric) &&
        taken(line.metric) + line.amount >= line.limit * part;
      const now = p.now();
      // Whoever comes while one looks leaves the warning to that one.
      if (watch.looking) return [];
      if (lines.some(isClose) || now - watch.lookedAt >= LOOK_EVERY_MS) {
        watch.lookedAt = now;
        watch.looking = true;
        const rows = await p.usage.of(tenantId, period).catch(() => null);
        watch.looking = false;
        if (rows === null) return [];
        watch.taken.clear();
        for (const { metric, used, reserved } of rows) watch.taken.set(metric, used + reserved);
      }
      const close = lines.filter(isClose);
      for (const { metric, amount } of lines) watch.taken.set(metric, taken(metric) + amount);
      for (const { metric, limit } of close) {
        watch.told.add(metric);
        p.onLow?.({ tenantId, period, metric, used: Math.min(taken(metric), limit), limit });
      }
      return close.map(({ metric }) => metric);
    },
  };
}
