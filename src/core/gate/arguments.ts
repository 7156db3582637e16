// Paths, commands, hosts and sizes against the rules of governance, after they are resolved (R096-R100, C11).
import type { Json } from "../../contract/call.ts";
import type { ArgumentFinding } from "../../governance/rules/governance.ts";
import { allow, deny, notFound, type Decision, type Stage } from "./stage.ts";

export const argumentRules: Stage = {
  name: "arguments",
  engine: "governance",
  hides: false,
  decide(subject, powers) {
    const { tool, caller, sessionId, suppose } = subject;
    if (tool === null) return notFound(subject);
    const mode = suppose?.mode ?? powers.mode.current().mode;
    const judged = powers.governance.judgeArguments({
      caller,
      tool,
      arguments: subject.arguments,
      sessionId,
      mode,
    });
    const isSupposed = suppose !== undefined;
    if (judged instanceof Promise)
      return judged.then((findings) => verdictOf(findings, isSupposed));
    return verdictOf(judged, isSupposed);
  },
};

function verdictOf(findings: readonly ArgumentFinding[], isSupposed: boolean): Decision {
  const [first] = findings;
  if (first === undefined) return allow();
  const refusals = findings.filter(({ kind }) => kind === "deny");
  const [refusal = null] = refusals;
  if (refusal) return refuse(refusal, refusals, isSupposed);
  const questions = findings.filter(({ kind }) => kind === "ask");
  const told = questions[0] ?? first;
  return {
    kind: "allow",
    rule: told.rule.at,
    ...(findings.some(({ kind }) => kind === "waive") ? { waives: "mode_asks" } : {}),
    ...(findings.some(isListed) ? { confines: true as const } : {}),
    ...(questions[0] ? { ask: askOf(questions[0], questions) } : {}),
    ...(isSupposed ? explain(told, findings) : {}),
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
