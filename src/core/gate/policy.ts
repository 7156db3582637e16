// Asks the policies about this caller, this tool and this call: first whether it may be seen, then whether it may run.
import type { Json, Mode } from "../../contract/call.ts";
import type { PolicyJudgement, PolicyInput } from "../../governance/policy/policy.ts";
import type { Subject } from "../../contract/subject.ts";
import { whenReady } from "../../util/async/when-ready.ts";
import { allow, deny, notFound, type Decision, type GatePowers, type Stage } from "./stage.ts";

export const policy: Stage = {
  name: "policy",
  engine: "policy",
  hides: true,
  limitMs: 500,
  decide(subject, powers) {
    return whenReady(askPolicy(subject, powers, "view"), afterView, subject, powers);
  },
};

function afterView(
  view: PolicyJudgement,
  subject: Subject,
  powers: GatePowers,
): Decision | Promise<Decision> {
  if (!view.allow || subject.tool === null)
    return { ...notFound(subject), ...policyDetails(view, subject) };
  if (subject.action === "view") return allowedBy(view, subject);
  return whenReady(askPolicy(subject, powers, "execute"), executeDecision, view, subject);
}

function executeDecision(
  execute: PolicyJudgement,
  view: PolicyJudgement,
  subject: Subject,
): Decision {
  const { allow: may, reasons, shadow = view.shadow } = execute;
  const judged = shadow ? { ...execute, shadow } : execute;
  if (may) return allowedBy(judged, subject);
  return deny("FORBIDDEN", "policy_denied", {
    message:
      reasons.length > 0
        ? `the policy refuses this call: ${reasons.join("; ")}`
        : "no rule of the policy allows this call",
    remedy:
      "change the call so that the rule allows it, or ask an administrator to change the policy",
    ...policyDetails(judged, subject),
  });
}

/** Usually there is nothing to add, and then no object is made. */
function allowedBy(judged: PolicyJudgement, subject: Subject): Decision {
  return judged.shadow || (subject.suppose && !subject.suppose.brief)
    ? { ...allow(), ...policyDetails(judged, subject) }
    : allow();
}

/** The rule and what it read belong to explanations only: a caller of a hidden tool learns that it does not exist. */
function policyDetails(judged: PolicyJudgement, { suppose }: Subject) {
  const { rule, ruleText, read = null, shadow, version, reasons, decisionId } = judged;
  const explained: Json = {
    version,
    reasons,
    ...(decisionId === undefined ? {} : { decisionId }),
    facts: read,
  };
  return {
    ...(rule === undefined ? {} : { rule }),
    ...(shadow ? { shadow } : {}),
    ...(suppose && ruleText !== undefined ? { ruleText } : {}),
    ...(suppose ? { read: explained } : {}),
  };
}

function askPolicy(
  subject: Subject,
  powers: GatePowers,
  action: "view" | "execute",
): PolicyJudgement | Promise<PolicyJudgement> {
  const { policies } = powers;
  const { caller, tool, sessionId: session, suppose } = subject;
  const mode = suppose?.mode ?? powers.mode.current().mode;
  const input = () => inputOf(subject, action, mode, suppose?.at ?? powers.now());
  if (suppose || tool === null)
    return policies.decide(input(), { explain: suppose !== undefined && !suppose.brief });
  return policies.remembered({ action, caller, tool, mode, session }, input);
}

/** Whether a tool may be seen does not depend on the call, so a view leaves the arguments out. */
function inputOf(
  { caller, tool, requestedName, sessionId, arguments: given }: Subject,
  action: "view" | "execute",
  mode: Mode,
  at: number,
): PolicyInput {
  const view: PolicyInput = {
    user_id: caller.userId,
    tool_name: tool?.name ?? requestedName,
    action,
    roles: caller.roles,
    context: { tenant_id: caller.tenantId, session_id: sessionId },
    tenant: caller.tenantId,
    capsule: caller.capsuleId,
    session: sessionId,
    tool: tool && {
      name: tool.name,
      category: tool.category,
      risk: tool.risk,
      class: tool.effects,
      provider: tool.provider,
      version: tool.version,
    },
    mode,
    time: new Date(at).toISOString(),
    argument_names: [],
  };
  if (action === "view") return view;
  return { ...view, argument_names: Object.keys(given), arguments: given };
}
