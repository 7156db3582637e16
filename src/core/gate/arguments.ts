// Checks paths, commands, hosts and sizes against the governance rules, after they are resolved; and whether a caller
// who has read content from outside may make such a call alone.
import type { EgressLimit, Json } from "../../contract/call.ts";
import type { Subject } from "../../contract/subject.ts";
import type { Tool } from "../../contract/tool.ts";
import { taintText, type Taint } from "../../contract/taint.ts";
import type { ArgumentFinding, TaintRule } from "../../governance/rules/governance.ts";
import { whenReady } from "../../util/async/when-ready.ts";
import { allow, deny, notFound, type Decision, type GatePowers, type Stage } from "./stage.ts";

export const argumentRules: Stage = {
  name: "arguments",
  engine: "governance",
  hides: false,
  decide(subject, powers, { egress }) {
    const { tool, caller, sessionId, suppose } = subject;
    if (tool === null) return notFound(subject);
    if (egress?.reach === "none" && reachesOut(tool)) return unreachable(tool, egress);
    const tainted = subject.taint === undefined ? null : taintedBy(tool, subject.taint, powers);
    if (tainted?.rule.treatment === "refuse") return refuseTainted(tool, tainted, suppose);
    const mode = suppose?.mode ?? powers.mode.current().mode;
    const findings = powers.governance.judgeArguments({
      caller,
      tool,
      arguments: subject.arguments,
      sessionId,
      mode,
      ...(egress ? { egress } : {}),
    });
    if (tainted)
      return whenReady(findings, decisionOfTainted, { tool, tainted, suppose }, undefined);
    return whenReady(findings, decisionOf, suppose !== undefined, undefined);
  },
};

/** A call that its maker may have been talked into. */
interface Tainted {
  readonly taint: readonly Taint[];
  readonly rule: TaintRule;
}

function taintedBy(
  tool: Tool,
  taint: readonly Taint[],
  { governance }: GatePowers,
): Tainted | null {
  const rule = governance.taintRule(tool, taint);
  return rule && { taint, rule };
}

function refuseTainted(tool: Tool, tainted: Tainted, suppose: Subject["suppose"]): Decision {
  const { rule } = tainted.rule;
  return deny("FORBIDDEN", "tainted", {
    message: taintMessage(tool, tainted),
    remedy:
      "let a person do it, do it in a new session without that content, or ask an administrator about the section taint of tools.yaml",
    rule: rule.at,
    ...(suppose ? explainTaint(tainted) : {}),
  });
}

/** Its question stands first: no list, waiver or standing rule answers it. */
function decisionOfTainted(
  findings: readonly ArgumentFinding[],
  { tool, tainted, suppose }: { tool: Tool; tainted: Tainted; suppose: Subject["suppose"] },
): Decision {
  const decision = decisionOf(findings, suppose !== undefined);
  if (decision.kind !== "allow") return decision;
  const { at } = tainted.rule.rule;
  const { ask: also, ...rest } = decision;
  return {
    ...rest,
    rule: at,
    ask: { reason: "tainted", message: taintMessage(tool, tainted), rule: at },
    ...(also ? { also } : {}),
    ...(suppose ? explainTaint(tainted) : {}),
  };
}

const taintMessage = ({ name }: Tool, { taint, rule }: Tainted): string =>
  `${taintText(taint)}, and ${name} ${rule.does}`;

function explainTaint({ taint, rule }: Tainted): { ruleText: string; read: Json } {
  return { ruleText: rule.rule.text, read: taint.map((one) => ({ ...one })) };
}

/**
 * An upstream server is another program, which may reach out with any call. What only makes further calls is judged by
 * those.
 */
function reachesOut({ effects, openWorld, route, native }: Tool): boolean {
  if (route) return true;
  return (effects === "network" || openWorld) && !native?.needs.includes("engine");
}

function unreachable({ name }: Tool, { rule }: EgressLimit): Decision {
  return deny("FORBIDDEN", "egress_blocked", {
    message: `${name} reaches out of this server, and ${rule} lets nothing do so`,
    remedy: "use a tool that works here, or ask an administrator for a capsule with more autonomy",
    rule,
  });
}

function decisionOf(findings: readonly ArgumentFinding[], isSupposed: boolean): Decision {
  const [first] = findings;
  if (first === undefined) return allow();
  const refusals = findings.filter(({ kind }) => kind === "deny");
  const [refusal = null] = refusals;
  if (refusal) return refuse(refusal, refusals, isSupposed);
  const questions = findings.filter(({ kind }) => kind === "ask");
  const decisive = questions[0] ?? first;
  return {
    kind: "allow",
    rule: decisive.rule.at,
    ...(findings.some(({ kind }) => kind === "waive") ? { waives: "mode_asks" } : {}),
    ...(findings.some(isListed) ? { confines: true as const } : {}),
    ...(questions[0] ? { ask: askOf(questions[0], questions) } : {}),
    ...(isSupposed ? explain(decisive, findings) : {}),
  };
}

const isListed = ({ kind, reason }: ArgumentFinding): boolean =>
  kind === "waive" && reason === "listed_command";

function refuse(
  first: ArgumentFinding,
  refusals: readonly ArgumentFinding[],
  isSupposed: boolean,
): Decision {
  return deny("FORBIDDEN", first.reason, {
    message: first.message,
    remedy: first.suggestion,
    rule: first.rule.at,
    errors: refusals.map(({ path, message, suggestion }) => ({ path, message, suggestion })),
    ...(isSupposed ? explain(first, refusals) : {}),
  });
}

function askOf({ reason, rule }: ArgumentFinding, questions: readonly ArgumentFinding[]) {
  const message = questions.map(({ message: text }) => text).join("; ");
  return { reason, message, rule: rule.at };
}

function explain(
  { rule }: ArgumentFinding,
  findings: readonly ArgumentFinding[],
): { ruleText: string; read: Json } {
  const read = findings.map(({ kind, path, value, reason, rule: { at } }) => ({
    kind,
    path,
    value,
    reason,
    rule: at,
  }));
  return { ruleText: rule.text, read };
}
