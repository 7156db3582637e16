// Budgets of a calendar month: reserved durably before a call runs, and exact under concurrency.
import { PLANS, type Caller } from "../../contract/call.ts";
import type { Subject } from "../../contract/subject.ts";
import type { Governance } from "../rules/governance.ts";
import type { Store } from "../../storage/store/store.ts";
import { budgetOf, settleOf, type Amounts } from "./amounts.ts";
import { type BudgetLine, type Budgets, type Metric, METRICS, type Reserved } from "./budget.ts";
import { createCoalescer } from "./coalesce.ts";
import { createLowBudgetWatch } from "./low.ts";
import { counterOf, onCounters, ownersOf, type Owner } from "./owners.ts";
import { periodEnd, periodOf } from "./period.ts";

export interface BudgetsPowers {
  readonly usage: Pick<Store["usage"], "reserve" | "reserveOnes" | "release" | "of">;
  readonly governance: () => Pick<Governance, "budget" | "limits" | "lowWarning">;
  readonly now: () => number;
  readonly instanceId: string;
  /** BUDGET_LOW_WARNING: told once per owner, period and metric. */
  readonly onLow?: (low: LowBudget) => void;
  /** Told what an execution used in the end. */
  readonly onSpent?: (amounts: Readonly<Record<string, number>>) => void;
  /** Writes the requests that were counted and are not in the store yet. */
  readonly settled?: () => Promise<void>;
}

export interface LowBudget {
  readonly tenantId: string;
  readonly period: string;
  readonly metric: Metric;
  readonly owner: Owner["kind"];
  readonly ownerId: string;
  readonly used: number;
  readonly limit: number;
}

/** A refusal holds this long without asking again: a crowd before a closed door must not keep the store busy. */
const REFUSED_FOR_MS = 250;
const MAX_REFUSALS = 10_000;
/** Calls on the same counters that are reserved together, in one transaction. */
const AT_ONCE = 200;

const UNLIMITED: Reserved = Object.freeze({ ok: true });

export function createBudgets(p: BudgetsPowers): Budgets {
  const low = createLowBudgetWatch(p);
  const refusals = new Map<string, { readonly until: number; readonly used: number }>();
  type Answer = Awaited<ReturnType<Store["usage"]["reserve"]>>;

  /** What is known to be used up, without asking the store. */
  const closed = (month: Month, counter: string, amount: number, limit: number | null) => {
    const known = refusals.get(`${month.tenantId} ${month.period} ${counter}`);
    const isFull = known && known.until > p.now() && limit !== null && known.used + amount > limit;
    return isFull ? known : null;
  };

  const crowd = createCoalescer<Answer>(async (key, ids) => {
    const { counters, ...month } = JSON.parse(key) as Asked;
    const no = (metric: string, used: number): Map<string, Answer> =>
      new Map(ids.map((id) => [id, { ok: false, metric, used }]));
    // The group before it may have learnt that nothing is left.
    for (const { metric, limit } of counters) {
      const known = closed(month, metric, 1, limit);
      if (known) return no(metric, known.used);
    }
    const row = { instanceId: p.instanceId, ...month, at: p.now(), counters };
    const { taken, used } = await p.usage.reserveOnes(ids, row);
    const full = counters.findIndex(({ limit }, i) => (used[i] ?? 0) + 1 > limit);
    const { metric } = counters[Math.max(0, full)] ?? { metric: "" };
    const refused: Answer = { ok: false, metric, used: used[Math.max(0, full)] ?? 0 };
    return new Map(ids.map((id) => [id, taken.has(id) ? { ok: true } : refused]));
  }, AT_ONCE);

  /**
   * Plain calls on the same counters are reserved together; what is metered besides, or goes on after a yes, on its
   * own.
   */
  const taking = (
    executionId: string,
    month: Month,
    lines: readonly Line[],
    again: boolean,
  ): Promise<Answer> => {
    const counters = lines.flatMap(({ counter, limit }) =>
      limit === null ? [] : [{ metric: counter, limit }],
    );
    const isPlain = lines.every(({ metric, amount }) => metric === "tool_calls" && amount === 1);
    if (!again && isPlain)
      return crowd.ask(JSON.stringify({ ...month, counters } satisfies Asked), executionId);
    const amounts = lines.map(({ counter, amount, limit }) => ({ metric: counter, amount, limit }));
    const { instanceId } = p;
    return p.usage.reserve({ executionId, instanceId, ...month, at: p.now(), amounts });
  };

  /** Null when no plan limits anything that this call uses: the log counts its use all the same. */
  const limited = (call: Pick<Subject, "caller" | "tool" | "arguments">): Line[] | null => {
    const { caller, tool } = call;
    const { budget } = p.governance();
    // Most tools have no meter, and most plans no limit: then there is nothing to list.
    if (tool?.meters.length === 0 && !isLimited(caller, budget)) return null;
    const lines = linesOf(budgetOf(call), ownersOf(caller), budget);
    return lines.some(({ limit }) => limit !== null) ? lines : null;
  };

  const reserve = async (subject: Subject, lines: Line[]): Promise<Reserved> => {
    const { id: executionId, caller, grant } = subject;
    if (executionId === null) throw new TypeError("a budget is reserved for an execution");
    const at = p.now();
    const month = { tenantId: caller.tenantId, period: periodOf(at) };
    // A call that goes on after a yes holds its share already.
    for (const { counter, amount, limit } of grant ? [] : lines) {
      const known = closed(month, counter, amount, limit);
      if (known) return refusal(lines, counter, known.used, at);
    }
    // Before anything is taken: what is looked at must not have it already.
    const close = await low.look(month.tenantId, month.period, lines);
    const answer = await taking(executionId, month, lines, grant !== null);
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

  const peek = async ({ caller }: Subject, lines: Line[]): Promise<Reserved> => {
    const at = p.now();
    const counters = lines.map(({ counter }) => counter);
    const rows = await p.usage.of(caller.tenantId, periodOf(at), counters);
    const taken = new Map(rows.map(({ metric, used, reserved }) => [metric, used + reserved]));
    const usedOf = (counter: string): number => taken.get(counter) ?? 0;
    const misfit = lines.find(
      ({ counter, limit, amount }) => limit !== null && usedOf(counter) + amount > limit,
    );
    if (misfit) return refusal(lines, misfit.counter, usedOf(misfit.counter), at);
    const seen = lines.map(({ counter, owner, metric, amount, limit }): BudgetLine => {
      return { owner: owner.kind, metric, amount, used: usedOf(counter), limit };
    });
    return { ok: true, seen };
  };

  return {
    reserve(subject) {
      const lines = limited(subject);
      return lines ? reserve(subject, lines) : UNLIMITED;
    },
    peek(subject) {
      const lines = limited(subject);
      return lines ? peek(subject, lines) : UNLIMITED;
    },
    async usage(caller, period = periodOf(p.now())) {
      const owners = ownersOf(caller);
      const counters = owners.flatMap((owner) => METRICS.map((metric) => counterOf(metric, owner)));
      await p.settled?.();
      const rows = await p.usage.of(caller.tenantId, period, counters);
      const found = new Map(rows.map((row) => [row.metric, row]));
      const { budget } = p.governance();
      return owners.flatMap((owner) =>
        METRICS.map((metric) => {
          const { used = 0, reserved = 0 } = found.get(counterOf(metric, owner)) ?? {};
          const limit = budget(owner.plan, metric);
          return { owner, metric, used, reserved, limit, period, resetsAt: periodEnd(period) };
        }),
      );
    },
    book: {
      amounts: (call) => onCounters(budgetOf(call), call.caller),
      isReserved: (call) => limited(call) !== null,
      settle(call, outcome) {
        const delta = settleOf(call, outcome);
        if (outcome.dispatched) p.onSpent?.(sumOf(budgetOf(call), delta));
        return onCounters(delta, call.caller);
      },
    },
    plans() {
      const governance = p.governance();
      return [...PLANS, null].map((plan) => ({
        plan,
        callsPerMinute: governance.limits.ofPlan(plan),
        budgets: byMetric((metric) => governance.budget(plan, metric)),
      }));
    },
  };
}

interface Month {
  readonly tenantId: string;
  readonly period: string;
}

/** One of each of these counters for every call of a group. */
interface Asked extends Month {
  readonly counters: readonly { readonly metric: string; readonly limit: number }[];
}

interface Line {
  readonly counter: string;
  readonly owner: Owner;
  readonly metric: Metric;
  readonly amount: number;
  readonly limit: number | null;
}

/** Does any owner's plan limit plain calls? Asked for every call: nothing is made. */
function isLimited({ plans }: Pick<Caller, "plans">, budget: Governance["budget"]): boolean {
  return (
    budget(plans.tenant, "tool_calls") !== null ||
    (plans.user !== null && budget(plans.user, "tool_calls") !== null) ||
    (plans.key !== null && budget(plans.key, "tool_calls") !== null)
  );
}

function linesOf(amounts: Amounts, owners: readonly Owner[], budget: Governance["budget"]): Line[] {
  return entriesOf(amounts).flatMap(([metric, amount]) =>
    owners.map((owner) => {
      const limit = budget(owner.plan, metric);
      return { counter: counterOf(metric, owner), owner, metric, amount, limit };
    }),
  );
}

function refusal(lines: readonly Line[], name: string, used: number, at: number): Reserved {
  const line = lines.find(({ counter }) => counter === name);
  if (!line || line.limit === null)
    throw new Error(`the store refused '${name}', which has no limit`);
  const { owner, metric, limit } = line;
  return { ok: false, owner, metric, used, limit, resetsAt: periodEnd(periodOf(at)) };
}

function sumOf(counted: Amounts, delta: Amounts): Amounts {
  const changed = entriesOf(delta);
  if (changed.length === 0) return counted;
  const sum: Partial<Record<Metric, number>> = { ...counted };
  for (const [metric, amount] of changed) sum[metric] = (sum[metric] ?? 0) + amount;
  return sum;
}

/** Keys of amounts are metrics, and what is there is a number. */
const entriesOf = (amounts: Amounts) => Object.entries(amounts) as [Metric, number][];

const byMetric = (of: (metric: Metric) => number | null): Record<Metric, number | null> =>
  Object.fromEntries(METRICS.map((metric) => [metric, of(metric)])) as Record<
    Metric,
    number | null
  >;
