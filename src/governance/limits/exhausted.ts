// The text about an exhausted budget: whose it is, how much was used, and when it starts again.
import type { BudgetRefusal } from "./budget.ts";

export function exhaustedText(
  { owner, metric, used, limit, resetsAt: at }: BudgetRefusal,
  what: string,
) {
  const resetsAt = new Date(at).toISOString();
  const of = owner.plan === null ? "" : ` of plan ${owner.plan}`;
  const asks = owner.kind === "tenant" ? "a larger plan" : `a larger plan for this ${owner.kind}`;
  return {
    reason: `budget_${metric}`,
    message: `${owner.kind} ${owner.id} has used ${used} of the ${limit} ${metric}${of} this month, which leaves too few for ${what}; they start anew at ${resetsAt}`,
    remedy: `wait until ${resetsAt.slice(0, 10)}, or ask an administrator for ${asks}`,
    resetsAt,
  };
}
