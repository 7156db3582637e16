// Notices that a budget is nearly used up. A warning only: it never refuses, and its own failure changes nothing.
import type { CounterLine } from "./budget-lines.ts";
import type { Metric } from "./budget.ts";
import type { BudgetsPowers } from "./budgets.ts";

/** How often the store is read again, since other processes reserve, too. In between this process adds up its own. */
const READ_EVERY_MS = 5_000;
/** Callers watched at once; one that is dropped may be warned a second time. */
const MAX_WATCHES = 10_000;

interface Watch {
  readonly period: string;
  /** What was taken of each counter when it was last read, and what this caller has taken since. */
  readonly taken: Map<string, number>;
  readAt: number;
  reading: boolean;
}

type Limited = CounterLine & { readonly limit: number };

export function createLowBudgetWatch(p: BudgetsPowers) {
  /** By the narrowest counter that is taken from. */
  const watches = new Map<string, Watch>();
  const warned = new Set<string>();

  const watchOf = (name: string, period: string): Watch => {
    let watch = watches.get(name);
    if (watch?.period !== period) {
      if (watches.size >= MAX_WATCHES) watches.clear();
      watch = { period, taken: new Map(), readAt: -Infinity, reading: false };
      watches.set(name, watch);
    }
    return watch;
  };

  return {
    /** Metrics that this call brings close to their limit and no warning was given for yet. */
    async check(
      tenantId: string,
      period: string,
      lines: readonly CounterLine[],
    ): Promise<Metric[]> {
      const watch = watchOf(`${tenantId} ${lines[0]?.counter ?? ""}`, period);
      const part = p.governance().lowWarning;
      const taken = (counter: string): number => watch.taken.get(counter) ?? 0;
      const nameOf = ({ counter }: CounterLine): string => `${tenantId} ${period} ${counter}`;
      const isClose = (line: CounterLine): line is Limited =>
        line.limit !== null &&
        !warned.has(nameOf(line)) &&
        taken(line.counter) + line.amount >= line.limit * part;
      const now = p.now();
      // Calls during a read of the store leave the warning to the call that reads.
      if (watch.reading) return [];
      if (lines.some(isClose) || now - watch.readAt >= READ_EVERY_MS) {
        watch.readAt = now;
        watch.reading = true;
        const counters = lines.map(({ counter }) => counter);
        const rows = await p.usage.of(tenantId, period, counters).catch(() => null);
        watch.reading = false;
        if (rows === null) return [];
        watch.taken.clear();
        for (const { metric, used, reserved } of rows) watch.taken.set(metric, used + reserved);
      }
      const close = lines.filter(isClose);
      for (const { counter, amount } of lines) watch.taken.set(counter, taken(counter) + amount);
      for (const line of close) {
        const { counter, owner, metric, limit } = line;
        if (warned.size >= MAX_WATCHES) warned.clear();
        warned.add(nameOf(line));
        const used = Math.min(taken(counter), limit);
        p.onLow?.({ tenantId, period, metric, owner: owner.kind, ownerId: owner.id, used, limit });
      }
      return [...new Set(close.map(({ metric }) => metric))];
    },
  };
}
