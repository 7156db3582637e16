// Budgets (C37, C38): what the call uses of its tenant's month is reserved before anybody is asked and anything runs.
import type { Reserved } from "../limits/budget.ts";
import { allow, deny, type Decision, type Stage, type Subject } from "./stage.ts";

export const budget: Stage = {
  name: "budget",
  engine: "store",
  hides: false,
  limitMs: 250,
  decide(subject, { budgets }) {
    const answer = subject.suppose ? budgets.peek(subject) : budgets.reserve(subject);
    return answer instanceof Promise
      ? answer.then((settled) => decisionOf(subject, settled))
      : decisionOf(subject, answer);
  },
};

function decisionOf(subject: Subject, answer: Reserved): Decision {
  if (answer.ok) {
    const { undo, low, seen } = answer;
    if (!undo && !low && !seen) return allow();
    return {
      kind: "allow",
      ...(undo ? { undo } : {}),
      ...(low ? { read: { warning: "BUDGET_LOW_WARNING", metrics: low } } : {}),
      ...(seen ? { read: seen.map((line) => ({ ...line })) } : {}),
    };
  }
  const { metric, used, limit } = answer;
  const resetsAt = new Date(answer.resetsAt).toISOString();
  return deny("BUDGET_EXHAUSTED", `budget_${metric}`, {
    message: `${used} of the ${limit} ${metric} of this month are used, which leaves too few for this call; they start anew at ${resetsAt}`,
    remedy: `wait until ${resetsAt.slice(0, 10)}, or ask an administrator for a larger plan`,
    ...(subject.suppose ? { read: { metric, used, limit, resetsAt } } : {}),
  });
}
