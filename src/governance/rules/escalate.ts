// What a call counts as: the tool as defined, as governance sets its risk, and as the arguments raise it. Arguments
// only raise.
import type { Json, JsonObject } from "../../contract/call.ts";
import {
  EFFECTS,
  RISKS,
  type Effects,
  type Escalation,
  type Risk,
  type SandboxProfile,
  type Tool,
} from "../../contract/tool.ts";
import { canonicalJson, valueAt } from "../../util/json/json.ts";

/** From harmless to grave. */
const GRAVITY: readonly Effects[] = [
  "essential_health_check",
  "read_only",
  "network",
  "system_write",
  "system_dangerous",
];

export type AsGoverned = (tool: Tool, given: JsonObject | null) => Tool;

/** The same tool object for the same answer, so that what is remembered about a tool holds for it too. */
export function escalator(riskOf: (name: string) => Risk | null): AsGoverned {
  const governed = new WeakMap<Tool, Tool>();
  const raised = new WeakMap<Tool, Map<string, Tool>>();
  return (tool, given) => {
    let base = governed.get(tool);
    if (base === undefined) governed.set(tool, (base = withRisk(tool, riskOf(tool.name))));
    if (given === null || base.escalations.length === 0) return base;
    const biting = base.escalations.filter((one) => bites(one, given));
    if (biting.length === 0) return base;
    let known = raised.get(base);
    if (known === undefined) raised.set(base, (known = new Map<string, Tool>()));
    const key = biting.map((one) => base.escalations.indexOf(one)).join(" ");
    let answer = known.get(key);
    if (answer === undefined) known.set(key, (answer = biting.reduce(raise, base)));
    return answer;
  };
}

/**
 * The tool as a writer of content: a dangerous one that writes, whatever it is otherwise. A risk that governance sets
 * for it is an explicit decision about this tool, and stays.
 */
export function asWriterOf(riskOf: (name: string) => Risk | null): (tool: Tool) => Tool {
  const known = new WeakMap<Tool, Tool>();
  return (tool) => {
    let found = known.get(tool);
    if (found === undefined) {
      const risk = riskOf(tool.name) === null ? "dangerous" : undefined;
      const raised: Escalation = { argument: "", effects: "system_write", ...(risk && { risk }) };
      known.set(tool, (found = raise(tool, raised)));
    }
    return found;
  };
}

function withRisk(tool: Tool, risk: Risk | null): Tool {
  return risk === null || risk === tool.risk ? tool : Object.freeze({ ...tool, risk });
}

function bites({ argument, equals }: Escalation, given: JsonObject): boolean {
  const value: Json | undefined = valueAt(given, argument);
  if (value === undefined) return false;
  return equals === undefined || canonicalJson(value) === canonicalJson(equals);
}

function raise(tool: Tool, { risk, effects, sandbox, approval }: Escalation): Tool {
  return Object.freeze({
    ...tool,
    risk: graver(RISKS, tool.risk, risk),
    effects: graver(GRAVITY, tool.effects, effects),
    sandbox: wider(tool.sandbox, sandbox),
    requiresSandbox: tool.requiresSandbox || sandbox !== undefined,
    requiresApproval: tool.requiresApproval || approval === true,
  });
}

/** What both let a program have. */
function wider(
  one: SandboxProfile | null,
  other: SandboxProfile | undefined,
): SandboxProfile | null {
  if (one === null || other === undefined || one === other) return other ?? one;
  const parts = new Set([...one.split("+"), ...other.split("+")]);
  const files = parts.has("rw") ? "rw" : parts.has("ro") ? "ro" : null;
  if (!parts.has("net")) return files;
  return files === null ? "net" : "rw+net";
}

function graver<T>(order: readonly T[], one: T, other: T | undefined): T {
  return other !== undefined && order.indexOf(other) > order.indexOf(one) ? other : one;
}

/** Every class has its place in the order: one that is missing would count as the most harmless. */
if (GRAVITY.length !== EFFECTS.length) throw new TypeError("a class has no gravity");
