// Permission level against risk, scopes of the key, and the special permissions a tool asks for.
import { LEVELS, type Caller } from "../../contract/call.ts";
import { LEVEL_FOR, type Risk, type Tool } from "../../contract/tool.ts";
import { type Subject } from "../../contract/subject.ts";
import { allow, deny, notFound, type Decision, type GatePowers, type Stage } from "./stage.ts";

export const level: Stage = {
  name: "level",
  // Levels and scopes cannot fail to answer; the special permissions ask the relations.
  engine: "relation",
  hides: false,
  decide(subject, powers) {
    const { caller, tool } = subject;
    if (tool === null) return notFound(subject);
    // An unknown risk counts as the highest.
    const needed =
      (LEVEL_FOR as Partial<Record<Risk, (typeof LEVELS)[number]>>)[tool.risk] ?? "admin";
    if (LEVELS.indexOf(caller.level) < LEVELS.indexOf(needed)) {
      return deny("FORBIDDEN", "level_too_low", {
        message: `${tool.name} is ${tool.risk} and needs level ${needed}; this caller has ${caller.level}`,
        remedy: `use a key of level ${needed}, or a tool of lower risk`,
      });
    }
    const scope = `agent:execute:${tool.risk}`;
    if (caller.via === "key" && !holds(caller, scope)) {
      return deny("FORBIDDEN", "scope_missing", {
        message: `the key lacks scope ${scope}`,
        remedy: `ask an administrator for a key with scope ${scope}`,
      });
    }
    return tool.requiredPermissions.length === 0 ? allow() : permitted(subject, tool, powers);
  },
};

function holds(caller: Caller, scope: string): boolean {
  return caller.scopes.includes(scope) || caller.scopes.includes("*");
}

/** The permission strings of tools as permissions on the caller's tenant. */
const ON_TENANT: Readonly<Record<string, string>> = {
  "tool:shell:execute": "shell_execute",
  "tool:package_manager:install": "package_install",
  "tool:pkg:install": "package_install",
  "tool:create": "tool_create",
};

/** All of them are needed; nobody holds an unknown permission. */
async function permitted(
  { caller }: Subject,
  tool: Tool,
  { relations }: GatePowers,
): Promise<Decision> {
  for (const needed of tool.requiredPermissions) {
    const permission = ON_TENANT[needed];
    const held =
      permission !== undefined &&
      (
        await relations.check({
          resource: { type: "tenant", id: caller.tenantId },
          permission,
          subject: { type: "user", id: caller.userId },
        })
      ).has === "yes";
    if (held) continue;
    return deny("FORBIDDEN", "permission_missing", {
      message: `${tool.name} needs the permission ${needed}`,
      remedy: `ask an administrator to grant ${needed}`,
    });
  }
  return allow();
}
