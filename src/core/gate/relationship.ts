// Phase 3: the relations between people and tools let this caller see it, and run it (R035, C31).
import type { Json } from "../../contract/call.ts";
import type { CheckResult } from "../../governance/relations/relation.ts";
import type { Tool } from "../../contract/tool.ts";
import { type Subject } from "../../contract/subject.ts";
import { allow, deny, notFound, type Decision, type GatePowers, type Stage } from "./stage.ts";

/** Stands for every name that is no tool: the engine is asked all the same, so that an outage looks alike (C23). */
const NO_TOOL = "none/none";

export const relationship: Stage = {
  name: "relationship",
  engine: "relation",
  hides: true,
  decide(subject, powers) {
    const view = check(subject, powers, "view");
    return view instanceof Promise
      ? view.then((has) => seen(has, subject, powers))
      : seen(view, subject, powers);
  },
};

function seen(
  view: CheckResult,
  subject: Subject,
  powers: GatePowers,
): Decision | Promise<Decision> {
  if (subject.suppose) return explained(view, subject, powers);
  const { tool } = subject;
  if (view.has !== "yes" || tool === null) return notFound(subject);
  if (subject.action === "view") return allow();
  const execute = check(subject, powers, "execute");
  return execute instanceof Promise
    ? execute.then((has) => run(has, subject, tool))
    : run(execute, subject, tool);
}

function run(execute: CheckResult, { caller }: Subject, { name }: Tool): Decision {
  if (execute.has === "yes") return allow();
  return deny("FORBIDDEN", "permission_missing", {
    message: `${caller.userId} may see ${name} but stands in no relation that lets it run`,
    remedy: `ask an administrator: ostiary relations write tool:${name}#executor@user:${caller.userId}`,
  });
}

/** The same with what was read: the tree of relationships behind both permissions. */
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
  return { ...(subject.action === "view" ? allow() : run(execute, subject, tool)), rule, read };
}

const resourceOf = ({ tool }: Subject) => ({ type: "tool", id: tool?.name ?? NO_TOOL });

function check(subject: Subject, { relations }: GatePowers, permission: "view" | "execute") {
  return relations.check({
    resource: resourceOf(subject),
    permission,
    subject: { type: "user", id: subject.caller.userId },
  });
}
