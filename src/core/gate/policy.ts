// Phase 4: what the policies say about this caller, this tool and this very call (R037, C32).
import type { Json, Mode } from "../../contract/call.ts";
import type { Judged, PolicyInput } from "../../governance/policy/policy.ts";
import { type Subject } from "../../contract/subject.ts";
import { allow, deny, notFound, type Decision, type GatePowers, type Stage } from "./stage.ts";

export const policy: Stage = {
  name: "policy",
  engine: "policy",
  hides: true,
  limitMs: 500,
  decide(subject, powers) {
    const view = asked(subject, powers, "view");
    return view instanceof Promise
      ? view.then((judged) => seen(judged, subject, powers))
      : seen(view, subject, powers);
  },
};

function seen(view: Judged, subject: Subject, powers: GatePowers): Decision | Promise<Decision> {
  if (!view.allow || subject.tool === null) return { ...notFound(subject), ...told(view, subject) };
  if (subject.action === "view") return agreed(view, subject);
  const execute = asked(subject, powers, "execute");
  return execute instanceof Promise
    ? execute.then((judged) => run(judged, view, subject))
    : run(execute, view, subject);
}

function run(execute: Judged, view: Judged, subject: Subject): Decision {
  const { allow: may, reasons, shadow = view.shadow } = execute;
  const judged = shadow ? { ...execute, shadow } : execute;
  if (may) return agreed(judged, subject);
  return deny("FORBIDDEN", "policy_denied", {
    message:
      reasons.length > 0
        ? `the policy refuses this call: ${reasons.join("; ")}`
        : "no rule of the policy allows this call",
    remedy:
      "change the call so that the rule allows it, or ask an administrator to change the policy",
    ...told(judged, subject),
  });
}

/** Nothing to tell is the usual case, and then nothing is made. */
function agreed(judged: Judged, subject: Subject): Decision {
  return judged.shadow || subject.suppose ? { ...allow(), ...told(judged, subject) } : allow();
}

/** The sentences of a hidden tool are for explanations only: whoever asks for it learns that it does not exist. */
function told(judged: Judged, { suppose }: Subject) {
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

function asked(
  subject: Subject,
  powers: GatePowers,
  action: "view" | "execute",
): Judged | Promise<Judged> {
  const { policies } = powers;
  const { caller, tool, sessionId: session, suppose } = subject;
  const mode = suppose?.mode ?? powers.mode.current().mode;
  const input = () => inputOf(subject, action, mode, suppose?.at ?? powers.now());
  if (suppose || tool === null) return policies.decide(input(), { explain: suppose !== undefined });
  return policies.remembered({ action, caller, tool, mode, session }, input);
}

/** A view is the same question whoever asks it: what the call would be about is left out. */
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
