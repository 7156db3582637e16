// Counters of API requests by month: looked up in the store once, counted in memory, written back together.
import type { Store } from "../../storage/store/store.ts";
import { periodEnd, periodOf } from "./period.ts";

export interface Counter {
  readonly tenantId: string;
  readonly name: string;
  /** Of the month, as far as it is known here. */
  used: number;
  unsaved: number;
  /** What the store has is part of `used`. */
  known: boolean;
  looking: Promise<void> | null;
  isLowReported: boolean;
}

export interface Month {
  readonly period: string;
  readonly end: number;
  readonly counters: Map<string, Counter>;
}

export interface RequestMonths {
  /** The month it is now. */
  current(): Month;
  /** The month of the last request; it may have ended since. */
  latest(): Month;
  /** Reads what the store has of a counter. */
  lookUp(counter: Counter): Promise<void>;
  flush(): Promise<void>;
}

/** Counters kept at once; beyond them those of before are looked up anew. */
const MAX_COUNTERS = 50_000;

export function createRequestMonths(p: {
  readonly usage: Pick<Store["usage"], "add" | "of">;
  readonly shared: boolean;
  readonly now: () => number;
}): RequestMonths {
  let month = monthOf(periodOf(p.now()));
  /** Months that are over and not written yet. */
  let past: Month[] = [];
  let writing: Promise<void> = Promise.resolve();

  const thisMonth = (): Month => {
    const now = p.now();
    if (now < month.end) return month;
    past.push(month);
    return (month = monthOf(periodOf(now)));
  };

  /** Reads and writes go one after the other: what is unsaved is then not in the store, and the rest is. */
  const inTurn = (work: () => Promise<void>): Promise<void> => {
    const done = writing.then(work);
    writing = done.catch(() => undefined);
    return done;
  };

  const lookUp = (counter: Counter, { period }: Month): Promise<void> =>
    (counter.looking ??= inTurn(async () => {
      const [row] = await p.usage.of(counter.tenantId, period, [counter.name]);
      counter.used = (row?.used ?? 0) + counter.unsaved;
      counter.known = true;
    }).finally(() => (counter.looking = null)));

  const write = async (): Promise<void> => {
    const months = [...past, thisMonth()];
    const counted = months.flatMap(({ period, counters }) =>
      [...counters.values()]
        .filter(({ unsaved }) => unsaved > 0)
        .map((counter) => ({ counter, period, amount: counter.unsaved })),
    );
    if (counted.length === 0) return;
    await p.usage.add(
      counted.map(({ counter: { tenantId, name }, period, amount }) => {
        return { tenantId, period, metric: name, amount };
      }),
    );
    for (const { counter, amount } of counted) counter.unsaved -= amount;
    past = past.filter(({ counters }) => [...counters.values()].some(({ unsaved }) => unsaved > 0));
    if (p.shared) await learn(month);
    if (month.counters.size > MAX_COUNTERS) {
      past.push(month);
      month = monthOf(month.period);
    }
  };

  /** What other instances have counted meanwhile. */
  const learn = async ({ period, counters }: Month): Promise<void> => {
    const looked = [...counters.values()].filter((counter) => counter.known);
    for (const tenantId of new Set(looked.map((counter) => counter.tenantId))) {
      const own = looked.filter((counter) => counter.tenantId === tenantId);
      const rows = await p.usage.of(
        tenantId,
        period,
        own.map(({ name }) => name),
      );
      for (const counter of own) {
        const row = rows.find(({ metric }) => metric === counter.name);
        counter.used = (row?.used ?? 0) + counter.unsaved;
      }
    }
  };

  return {
    current: thisMonth,
    latest: () => month,
    lookUp: (counter) => lookUp(counter, month),
    flush: () => inTurn(write),
  };
}

const monthOf = (period: string): Month => ({
  period,
  end: periodEnd(period),
  counters: new Map(),
});

export function counterIn({ counters }: Month, tenantId: string, name: string): Counter {
  const key = `${tenantId} ${name}`;
  let counter = counters.get(key);
  if (!counter) {
    counter = {
      tenantId,
      name,
      used: 0,
      unsaved: 0,
      known: false,
      looking: null,
      isLowReported: false,
    };
    counters.set(key, counter);
  }
  return counter;
}
