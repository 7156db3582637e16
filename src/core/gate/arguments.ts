// Checks paths, commands, hosts and sizes against the governance rules, after they are resolved.
import type { Json } from "../../contract/call.ts";
import type { ArgumentFinding } from "../../governance/rules/governance.ts";
import { whenReady } from "../../util/async/when-ready.ts";
import { allow, deny, notFound, type Decision, type Stage } from "./stage.ts";

export const argumentRules: Stage = {
  name: "arguments",
  engine: "governance",
  hides: false,
  decide(subject, powers) {
    const { tool, caller, sessionId, suppose } = subject;
    if (tool === null) return notFound(subject);
    const mode = suppose?.mode ?? powers.mode.current().mode;
    const findings = powers.governance.judgeArguments({
      caller,
      tool,
      arguments: subject.arguments,
      sessionId,
      mode,
    });
    return whenReady(findings, decisionOf, suppose !== undefined, undefined);
  },
};

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
