// Which calls a tainted agent may not make by itself: those that change, run or send something.
import type { Taint } from "../../contract/taint.ts";
import type { Tool } from "../../contract/tool.ts";
import type { TaintRules, TaintTreatment } from "./files/taint.ts";
import type { TaintRule } from "./governance.ts";

const STRICTNESS: readonly TaintTreatment[] = ["off", "ask", "refuse"];

/** The strictest rule of all who have read something; null: the call goes on. */
export function taintRuleOf(
  tool: Tool,
  taint: readonly Taint[],
  rules: TaintRules,
): TaintRule | null {
  const does = deedOf(tool);
  if (does === null || rules.isExempt(tool)) return null;
  const strictest = taint
    .map(({ reader }) => rules.of[reader])
    .reduce((one, other) =>
      STRICTNESS.indexOf(other.value) > STRICTNESS.indexOf(one.value) ? other : one,
    );
  if (strictest.value === "off") return null;
  return { treatment: strictest.value, does, rule: strictest.rule };
}

/** What the tool would do with what was read, in one word; null: it only reads. */
function deedOf({ effects, idempotent, route, native }: Tool): TaintRule["does"] | null {
  if (effects === "system_write") return "writes";
  if (effects === "system_dangerous") return "runs";
  // Another program decides what such a call does.
  if (route) return effects === "read_only" ? null : "sends";
  // What only makes further calls is judged by those: they inherit the taint.
  if (effects !== "network" || idempotent || native?.needs.includes("engine")) return null;
  return "sends";
}
