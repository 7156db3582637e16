// Permission level against risk, scopes of the key, and the special permissions a tool asks for (R060-R070).
import { LEVELS, type Caller } from "../call.ts";
import { LEVEL_FOR, type Risk, type Tool } from "../tools/tool.ts";
import { allow, deny, notFound, type Stage } from "./stage.ts";

export const level: Stage = {
  name: "level",
  engine: "identity",
  hides: false,
  decide(subject) {
    const { caller, tool } = subject;
    if (tool === null) return notFound(subject);
    // A risk nobody declared counts as the highest (R063).
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
    const missing = missingPermission(caller, tool);
    if (missing === null) return allow();
    return deny("FORBIDDEN", "permission_missing", {
      message: `${tool.name} needs the permission ${missing}`,
      remedy: `ask an administrator to grant ${missing}`,
    });
  },
};

function holds(caller: Caller, scope: string): boolean {
  return caller.scopes.includes(scope) || caller.scopes.includes("*");
}

function missingPermission(caller: Caller, tool: Tool): string | null {
  if (caller.role === "admin") return null;
  return tool.requiredPermissions.find((permission) => !caller.scopes.includes(permission)) ?? null;
}
