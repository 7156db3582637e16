// Budgets: what the call uses of the month is reserved before a person is asked and before anything runs.
import type { Reserved } from "../../governance/limits/budget.ts";
import { exhaustedText } from "../../governance/limits/exhausted.ts";
import type { Subject } from "../../contract/subject.ts";
import { whenReady } from "../../util/async/when-ready.ts";
import { allow, deny, type Decision, type Stage } from "./stage.ts";

export const budget: Stage = {
  name: "budget",
  engine: "store",
  hides: false,
  limitMs: 250,
  decide(subject, { budgets }) {
    const reserved = subject.suppose ? budgets.peek(subject) : budgets.reserve(subject);
    return whenReady(reserved, decisionOf, subject, undefined);
  },
};

function decisionOf(reserved: Reserved, subject: Subject): Decision {
  if (reserved.ok) {
    const { undo, low, seen } = reserved;
    if (!undo && !low && !seen) return allow();
    return {
      kind: "allow",
      ...(undo ? { undo } : {}),
      ...(low ? { read: { warning: "BUDGET_LOW_WARNING", metrics: low } } : {}),
      ...(seen ? { read: seen.map((line) => ({ ...line })) } : {}),
    };
  }
  const { owner, metric, used, limit } = reserved;
  const { reason, message, remedy, resetsAt } = exhaustedText(reserved, "this call");
  return deny("BUDGET_EXHAUSTED", reason, {
    message,
    remedy,
    ...(subject.suppose ? { read: { owner: owner.kind, metric, used, limit, resetsAt } } : {}),
  });
}
