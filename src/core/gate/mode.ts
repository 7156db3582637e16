// The tool's rule in the present operating mode: it runs, a person is asked, or it is refused.
import type { Mode } from "../../contract/call.ts";
import type { ModeRule } from "../../governance/rules/governance.ts";
import type { Tool } from "../../contract/tool.ts";
import { allow, deny, notFound, type Decision, type Stage } from "./stage.ts";

export const mode: Stage = {
  name: "mode",
  engine: "mode",
  hides: false,
  limitMs: 250,
  decide(subject, powers) {
    const { tool, suppose } = subject;
    if (tool === null) return notFound(subject);
    const { governance } = powers;
    const current = suppose?.mode ?? powers.mode.current().mode;
    const rule = governance.modeRule(tool, current);
    const explained = suppose ? explain(tool, current, rule) : undefined;
    if (rule.treatment === "run") return explained ? { kind: "allow", ...explained } : allow();
    if (rule.treatment === "approval") return asks(tool, current, rule, explained);
    return deny("FORBIDDEN", "mode_forbids", {
      message: `Tool not allowed in ${current} mode: ${tool.name} (${tool.effects}, ${tool.risk}), ${governance.describe(current)}`,
      remedy: "wait until the mode changes, or use a tool that this mode lets run",
      rule: rule.rule.at,
      mode: current,
      ...explained,
    });
  },
};

function asks(tool: Tool, current: Mode, rule: ModeRule, explained?: Explained): Decision {
  const { at } = rule.rule;
  const ask = rule.byTool
    ? { reason: "tool_asks", message: `${tool.name} asks for approval of every call`, rule: at }
    : {
        reason: "mode_asks",
        message: `${tool.name} (${tool.effects}, ${tool.risk}) needs approval in mode ${current}`,
        rule: at,
      };
  return { kind: "allow", rule: at, ask, ...explained };
}

interface Explained {
  readonly rule: string;
  readonly ruleText: string;
  readonly read: { mode: Mode; effects: string; risk: string; requiresApproval: boolean };
}

function explain(
  { effects, risk, requiresApproval }: Tool,
  current: Mode,
  { rule }: ModeRule,
): Explained {
  const read = { mode: current, effects, risk, requiresApproval };
  return { rule: rule.at, ruleText: rule.text, read };
}
