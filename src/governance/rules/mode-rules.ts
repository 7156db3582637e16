// One rule per tool and mode, computed once: class and risk, then the tool's own entry, then the fixed limits of
// LOCKDOWN.
import { MODES, type Mode } from "../../contract/call.ts";
import type { Effects, Tool } from "../../contract/tool.ts";
import type { ModeRule, RuleSource } from "./governance.ts";
import type { ToolsFile } from "./files/tools.ts";

type Treatment = ModeRule["treatment"];

const ORDER: readonly Treatment[] = ["run", "approval", "no"];

export const stricter = (one: Treatment, other: Treatment): Treatment =>
  ORDER.indexOf(one) >= ORDER.indexOf(other) ? one : other;

/** LOCKDOWN: health checks run, reading needs approval, all else is refused. */
export const LOCKDOWN_AT_MOST: Readonly<Record<Effects, Treatment>> = {
  essential_health_check: "run",
  read_only: "approval",
  network: "no",
  system_write: "no",
  system_dangerous: "no",
};

const LOCKDOWN: RuleSource = {
  at: "built in",
  text: "LOCKDOWN: health checks run, reading needs approval, all else is refused",
};

export type RulesByMode = Readonly<Record<Mode, ModeRule>>;

export function rulesOf(tool: Tool, file: ToolsFile): RulesByMode {
  return Object.freeze(
    Object.fromEntries(MODES.map((mode) => [mode, Object.freeze(ruleOf(tool, mode, file))])),
  ) as RulesByMode;
}

function ruleOf(tool: Tool, mode: Mode, file: ToolsFile): ModeRule {
  let rule = namedRule(tool, mode, file);
  if (tool.requiresApproval && rule.treatment === "run") {
    const text = "requiresApproval: true";
    rule = { treatment: "approval", rule: { at: `tool ${tool.name}`, text }, byTool: true };
  }
  const most = LOCKDOWN_AT_MOST[tool.effects];
  if (mode !== "LOCKDOWN" || stricter(rule.treatment, most) === rule.treatment) return rule;
  return { treatment: most, rule: LOCKDOWN };
}

function namedRule(tool: Tool, mode: Mode, { classes, tools }: ToolsFile): ModeRule {
  const own = tools.get(tool.name);
  if (own?.modes) return own.modes[mode] ?? { treatment: "no", rule: own.rule };
  const group = classes[tool.effects];
  // A risk nobody knows counts as the highest.
  const dangerous =
    tool.risk === "safe" || tool.risk === "moderate" ? undefined : group.dangerous[mode];
  const general = group.modes[mode] ?? { treatment: "no", rule: group.rule };
  return dangerous && stricter(dangerous.treatment, general.treatment) === dangerous.treatment
    ? dangerous
    : general;
}
