// Budgets of a calendar month: reserved durably before a call runs, and exact under concurrency.
import { PLANS } from "../../contract/call.ts";
import type { Subject } from "../../contract/subject.ts";
import type { Governance } from "../rules/governance.ts";
import type { Store } from "../../storage/store/store.ts";
import { entriesOf, isLimited, linesOf, refusal, type CounterLine } from "./budget-lines.ts";
import { budgetOf, settleOf, type Amounts } from "./amounts.ts";
import { type BudgetLine, type Budgets, type Metric, METRICS, type Reserved } from "./budget.ts";
import { counterOf, onCounters, ownersOf, type BudgetOwner } from "./owners.ts";
import { periodEnd, periodOf } from "./period.ts";
import { createReservations } from "./reservations.ts";

export interface BudgetsPowers {
  readonly usage: Pick<Store["usage"], "reserve" | "reserveOnes" | "release" | "of">;
  readonly governance: () => Pick<Governance, "budget" | "limits" | "lowWarning">;
  readonly now: () => number;
  readonly instanceId: string;
  /** BUDGET_LOW_WARNING: called once per owner, period and metric. */
  readonly onLow?: (low: LowBudget) => void;
  /** Called with what an execution used in the end. */
  readonly onSpent?: (amounts: Readonly<Record<string, number>>) => void;
  /** Writes the requests that were counted and are not in the store yet. */
  readonly settled?: () => Promise<void>;
}

export interface LowBudget {
  readonly tenantId: string;
  readonly period: string;
  readonly metric: Metric;
  readonly owner: BudgetOwner["kind"];
  readonly ownerId: string;
  readonly used: number;
  readonly limit: number;
}

const UNLIMITED: Reserved = Object.freeze({ ok: true });

export function createBudgets(p: BudgetsPowers): Budgets {
  const reserve = createReservations(p);

  /** Null when no plan limits anything that this call uses: the log counts its use all the same. */
  const limited = (call: Pick<Subject, "caller" | "tool" | "arguments">): CounterLine[] | null => {
    const { caller, tool } = call;
    const { budget } = p.governance();
    // Most tools have no meter, and most plans no limit: then there is nothing to list.
    if (tool?.meters.length === 0 && !isLimited(caller, budget)) return null;
    const lines = linesOf(budgetOf(call), ownersOf(caller), budget);
    return lines.some(({ limit }) => limit !== null) ? lines : null;
  };

  const peek = async ({ caller }: Subject, lines: CounterLine[]): Promise<Reserved> => {
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

function sumOf(counted: Amounts, delta: Amounts): Amounts {
  const changed = entriesOf(delta);
  if (changed.length === 0) return counted;
  const sum: Partial<Record<Metric, number>> = { ...counted };
  for (const [metric, amount] of changed) sum[metric] = (sum[metric] ?? 0) + amount;
  return sum;
}

const byMetric = (of: (metric: Metric) => number | null): Record<Metric, number | null> =>
  Object.fromEntries(METRICS.map((metric) => [metric, of(metric)])) as Record<
    Metric,
    number | null
  >;
