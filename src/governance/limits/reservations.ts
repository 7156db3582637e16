// Takes what a call uses from its counters, durably: calls on the same counters together, in one transaction.
import type { Subject } from "../../contract/subject.ts";
import type { Store } from "../../storage/store/store.ts";
import { refusal, type CounterLine } from "./budget-lines.ts";
import type { Reserved } from "./budget.ts";
import type { BudgetsPowers } from "./budgets.ts";
import { createCoalescer } from "./coalesce.ts";
import { createLowBudgetWatch } from "./low.ts";
import { periodOf } from "./period.ts";

/** A refusal is answered from memory this long: many refused calls at once must not keep the store busy. */
const REFUSED_FOR_MS = 250;
const MAX_REFUSALS = 10_000;
/** Calls on the same counters that are reserved together, in one transaction. */
const AT_ONCE = 200;

type Answer = Awaited<ReturnType<Store["usage"]["reserve"]>>;

interface Month {
  readonly tenantId: string;
  readonly period: string;
}

/** One of each of these counters is taken for every call of a group. */
interface GroupKey extends Month {
  readonly counters: readonly { readonly metric: string; readonly limit: number }[];
}

export type Reserve = (subject: Subject, lines: readonly CounterLine[]) => Promise<Reserved>;

export function createReservations(p: BudgetsPowers): Reserve {
  const low = createLowBudgetWatch(p);
  const refusals = new Map<string, { readonly until: number; readonly used: number }>();

  /** The refusal that is remembered for this counter, if it applies to this amount. */
  const knownFull = (month: Month, counter: string, amount: number, limit: number | null) => {
    const known = refusals.get(`${month.tenantId} ${month.period} ${counter}`);
    const isFull = known && known.until > p.now() && limit !== null && known.used + amount > limit;
    return isFull ? known : null;
  };

  const groups = createCoalescer<Answer>(async (key, ids) => {
    const { counters, ...month } = JSON.parse(key) as GroupKey;
    const refuseAll = (metric: string, used: number): Map<string, Answer> =>
      new Map(ids.map((id) => [id, { ok: false, metric, used }]));
    // The group before this one may have been refused meanwhile.
    for (const { metric, limit } of counters) {
      const known = knownFull(month, metric, 1, limit);
      if (known) return refuseAll(metric, known.used);
    }
    const row = { instanceId: p.instanceId, ...month, at: p.now(), counters };
    const { taken, used } = await p.usage.reserveOnes(ids, row);
    const full = counters.findIndex(({ limit }, i) => (used[i] ?? 0) + 1 > limit);
    const { metric } = counters[Math.max(0, full)] ?? { metric: "" };
    const refused: Answer = { ok: false, metric, used: used[Math.max(0, full)] ?? 0 };
    return new Map(ids.map((id) => [id, taken.has(id) ? { ok: true } : refused]));
  }, AT_ONCE);

  /**
   * Plain calls on the same counters are reserved together; each metered one, and each that goes on after an approval,
   * on its own.
   */
  const take = (
    executionId: string,
    month: Month,
    lines: readonly CounterLine[],
    again: boolean,
  ): Promise<Answer> => {
    const counters = lines.flatMap(({ counter, limit }) =>
      limit === null ? [] : [{ metric: counter, limit }],
    );
    const isPlain = lines.every(({ metric, amount }) => metric === "tool_calls" && amount === 1);
    if (!again && isPlain)
      return groups.ask(JSON.stringify({ ...month, counters } satisfies GroupKey), executionId);
    const amounts = lines.map(({ counter, amount, limit }) => ({ metric: counter, amount, limit }));
    const { instanceId } = p;
    return p.usage.reserve({ executionId, instanceId, ...month, at: p.now(), amounts });
  };

  return async (subject, lines) => {
    const { id: executionId, caller, grant } = subject;
    if (executionId === null) throw new TypeError("a budget is reserved for an execution");
    const at = p.now();
    const month = { tenantId: caller.tenantId, period: periodOf(at) };
    // A call that goes on after an approval has reserved its share already.
    for (const { counter, amount, limit } of grant ? [] : lines) {
      const known = knownFull(month, counter, amount, limit);
      if (known) return refusal(lines, counter, known.used, at);
    }
    // Before anything is taken: the figures that are checked must not contain it yet.
    const close = await low.check(month.tenantId, month.period, lines);
    const answer = await take(executionId, month, lines, grant !== null);
    if (!answer.ok) {
      if (refusals.size >= MAX_REFUSALS) refusals.clear();
      const known = { until: p.now() + REFUSED_FOR_MS, used: answer.used };
      refusals.set(`${month.tenantId} ${month.period} ${answer.metric}`, known);
      return refusal(lines, answer.metric, answer.used, at);
    }
    const undo = async (): Promise<void> => {
      await p.usage.release(executionId);
      refusals.clear();
    };
    return { ok: true, undo, ...(close.length > 0 ? { low: close } : {}) };
  };
}
