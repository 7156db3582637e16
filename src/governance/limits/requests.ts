// Requests of the API, whatever they ask for (api_calls): counted in memory on the counters of key, user and tenant,
// and written to the store a moment later. A request costs no write, and reads the store only for an owner not met
// before.
import type { Caller } from "../../contract/call.ts";
import { AppError } from "../../contract/errors.ts";
import type { Governance } from "../rules/governance.ts";
import type { Store } from "../../storage/store/store.ts";
import type { LowBudget } from "./budgets.ts";
import { exhaustedText } from "./exhausted.ts";
import { counterOf, ownersOf, type Owner } from "./owners.ts";
import { periodEnd, periodOf } from "./period.ts";

export interface Requests {
  /**
   * Counts one, or answers why it is refused: then nothing is counted. `spared`: counted, and never refused. A promise
   * only while an owner's use is being looked up.
   */
  count(caller: Caller, spared?: boolean): AppError | null | Promise<AppError | null>;
  /** Writes what was counted. What is not written when the process dies is lost: at most what a second brings. */
  flush(): Promise<void>;
}

export interface RequestsPowers {
  readonly usage: Pick<Store["usage"], "add" | "of">;
  /** Others count on the same database. */
  readonly shared: boolean;
  readonly governance: () => Pick<Governance, "version" | "budget" | "lowWarning">;
  readonly now: () => number;
  readonly onLow?: (low: LowBudget) => void;
}

interface Counter {
  readonly tenantId: string;
  readonly name: string;
  /** Of the month, as far as it is known here. */
  used: number;
  unsaved: number;
  /** What the store has is part of `used`. */
  known: boolean;
  looking: Promise<void> | null;
  isToldLow: boolean;
}

interface Month {
  readonly period: string;
  readonly end: number;
  readonly counters: Map<string, Counter>;
}

interface Line {
  readonly owner: Owner;
  readonly counter: Counter;
  readonly limit: number | null;
}

/** What is counted for a caller stays until one of these changes. */
interface Known {
  readonly month: Month;
  readonly version: string;
  readonly lines: readonly Line[];
}

const METRIC = "api_calls";
/** Counters kept at once; beyond them those of before are looked up anew. */
const MAX_COUNTERS = 50_000;

export function createRequests(p: RequestsPowers): Requests {
  const known = new WeakMap<Caller, Known>();
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

  const linesOf = (caller: Caller): readonly Line[] => {
    const { version, budget } = p.governance();
    const current = thisMonth();
    const entry = known.get(caller);
    if (entry?.month === current && entry.version === version) return entry.lines;
    const lines = ownersOf(caller).map((owner): Line => {
      const counter = counterIn(current, caller.tenantId, counterOf(METRIC, owner));
      return { owner, counter, limit: budget(owner.plan, METRIC) };
    });
    known.set(caller, { month: current, version, lines });
    return lines;
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

  const take = (lines: readonly Line[], spared: boolean): AppError | null => {
    const full = spared
      ? undefined
      : lines.find(({ counter, limit }) => limit !== null && counter.used >= limit);
    if (full) return refusal(full, month.end);
    for (const line of lines) {
      line.counter.used++;
      line.counter.unsaved++;
      noteLow(line);
    }
    return null;
  };

  const noteLow = ({ owner, counter, limit }: Line): void => {
    if (limit === null || counter.isToldLow) return;
    if (counter.used < limit * p.governance().lowWarning) return;
    counter.isToldLow = true;
    const { tenantId, used } = counter;
    const whose = { owner: owner.kind, ownerId: owner.id };
    p.onLow?.({ tenantId, period: month.period, metric: METRIC, ...whose, used, limit });
  };

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
    count(caller, spared = false) {
      const lines = linesOf(caller);
      const strangers = lines.filter(({ counter, limit }) => limit !== null && !counter.known);
      if (strangers.length === 0) return take(lines, spared);
      return Promise.all(strangers.map(({ counter }) => lookUp(counter, month))).then(
        () => take(lines, spared),
        unavailable,
      );
    },
    flush: () => inTurn(write),
  };
}

const monthOf = (period: string): Month => ({
  period,
  end: periodEnd(period),
  counters: new Map(),
});

function counterIn({ counters }: Month, tenantId: string, name: string): Counter {
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
      isToldLow: false,
    };
    counters.set(key, counter);
  }
  return counter;
}

function refusal({ owner, counter: { used }, limit }: Line, resetsAt: number): AppError {
  const told = { ok: false, owner, metric: METRIC, used, limit: limit ?? 0, resetsAt } as const;
  const { reason, message, remedy } = exhaustedText(told, "this request");
  return new AppError("BUDGET_EXHAUSTED", reason, message, { remedy });
}

function unavailable(cause: unknown): never {
  const message = "the store does not answer, so that requests cannot be counted";
  const remedy = "try again; see /readyz";
  throw new AppError("UNAVAILABLE", "engine_unavailable", message, {
    remedy,
    retryAfterSeconds: 5,
    cause,
  });
}
