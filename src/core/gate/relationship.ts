// Asks the relations between people and tools: first whether this caller may see the tool, then whether it may run it.
import type { Json } from "../../contract/call.ts";
import type { CheckResult } from "../../governance/relations/relation.ts";
import type { Tool } from "../../contract/tool.ts";
import type { Subject } from "../../contract/subject.ts";
import { whenReady } from "../../util/async/when-ready.ts";
import { allow, deny, notFound, type Decision, type GatePowers, type Stage } from "./stage.ts";

/**
 * Stands for a name that is no tool: the engine is asked even then, so that an outage looks the same for every name.
 */
const NO_TOOL = "none/none";

export const relationship: Stage = {
  name: "relationship",
  engine: "relation",
  hides: true,
  decide(subject, powers) {
    return whenReady(check(subject, powers, "view"), afterView, subject, powers);
  },
};

function afterView(
  view: CheckResult,
  subject: Subject,
  powers: GatePowers,
): Decision | Promise<Decision> {
  if (subject.suppose && !subject.suppose.brief) return explained(view, subject, powers);
  const { tool } = subject;
  if (view.has !== "yes" || tool === null) return notFound(subject);
  if (subject.action === "view") return allow();
  return whenReady(check(subject, powers, "execute"), executeDecision, subject, tool);
}

function executeDecision(execute: CheckResult, { caller }: Subject, { name }: Tool): Decision {
  if (execute.has === "yes") return allow();
  return deny("FORBIDDEN", "permission_missing", {
    message: `${caller.userId} may see ${name} but stands in no relation that lets it run`,
    remedy: `ask an administrator: ostiary relations write tool:${name}#executor@user:${caller.userId}`,
  });
}

/** The same decision with what was read: the tree of relationships that both permissions come from. */
async function explained(
  view: CheckResult,
  subject: Subject,
  powers: GatePowers,
): Promise<Decision> {
  const execute = await check(subject, powers, "execute");
  const tree = await powers.relations.expand(resourceOf(subject), "execute");
  const read = {
    subject: `user:${subject.caller.userId}`,
    view: view.has,
    execute: execute.has,
    tree: tree as unknown as Json,
  };
  const rule = `tool:${resourceOf(subject).id}#execute@user:${subject.caller.userId}`;
  const { tool } = subject;
  if (view.has !== "yes" || tool === null) return { ...notFound(subject), rule, read };
  return {
    ...(subject.action === "view" ? allow() : executeDecision(execute, subject, tool)),
    rule,
    read,
  };
}

const resourceOf = ({ tool }: Subject) => ({ type: "tool", id: tool?.name ?? NO_TOOL });

function check(subject: Subject, { relations }: GatePowers, permission: "view" | "execute") {
  return relations.check({
    resource: resourceOf(subject),
    permission,
    subject: { type: "user", id: subject.caller.userId },
  });
}
