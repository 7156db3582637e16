// Budgets (C37, C38, C51): what the call uses of the month is reserved before anybody is asked and anything runs.
import type { Reserved } from "../../governance/limits/budget.ts";
import { exhausted } from "../../governance/limits/exhausted.ts";
import { type Subject } from "../../contract/subject.ts";
import { allow, deny, type Decision, type Stage } from "./stage.ts";

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
  const { owner, metric, used, limit } = answer;
  const { reason, message, remedy, resetsAt } = exhausted(answer, "this call");
  return deny("BUDGET_EXHAUSTED", reason, {
    message,
    remedy,
    ...(subject.suppose ? { read: { owner: owner.kind, metric, used, limit, resetsAt } } : {}),
  });
}
