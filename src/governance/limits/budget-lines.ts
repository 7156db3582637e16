// What a call takes from which counter, against which limit.
import type { Caller } from "../../contract/call.ts";
import type { Governance } from "../rules/governance.ts";
import type { Amounts } from "./amounts.ts";
import type { Metric, Reserved } from "./budget.ts";
import { counterOf, type BudgetOwner } from "./owners.ts";
import { periodEnd, periodOf } from "./period.ts";

export interface CounterLine {
  readonly counter: string;
  readonly owner: BudgetOwner;
  readonly metric: Metric;
  readonly amount: number;
  readonly limit: number | null;
}

/** Does any owner's plan limit plain calls? Called for every call: it allocates nothing. */
export function isLimited({ plans }: Pick<Caller, "plans">, budget: Governance["budget"]): boolean {
  return (
    budget(plans.tenant, "tool_calls") !== null ||
    (plans.user !== null && budget(plans.user, "tool_calls") !== null) ||
    (plans.key !== null && budget(plans.key, "tool_calls") !== null)
  );
}

export function linesOf(
  amounts: Amounts,
  owners: readonly BudgetOwner[],
  budget: Governance["budget"],
): CounterLine[] {
  return entriesOf(amounts).flatMap(([metric, amount]) =>
    owners.map((owner) => {
      const limit = budget(owner.plan, metric);
      return { counter: counterOf(metric, owner), owner, metric, amount, limit };
    }),
  );
}

/** The refusal that names this counter, which has no room. */
export function refusal(
  lines: readonly CounterLine[],
  name: string,
  used: number,
  at: number,
): Reserved {
  const line = lines.find(({ counter }) => counter === name);
  if (!line || line.limit === null)
    throw new Error(`the store refused '${name}', which has no limit`);
  const { owner, metric, limit } = line;
  return { ok: false, owner, metric, used, limit, resetsAt: periodEnd(periodOf(at)) };
}

/** Keys of amounts are metrics, and present values are numbers. */
export const entriesOf = (amounts: Amounts) => Object.entries(amounts) as [Metric, number][];
