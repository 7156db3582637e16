// A version of a drafted tool as the registry knows it.
import { freezeTool, type SandboxProfile, type Tool } from "../../contract/tool.ts";
import type { DraftTerms, ToolDraftRow } from "../../storage/store/store.ts";

/** Terms of a tool that is not linked yet: the highest risk and the least access. */
export const UNJUDGED: DraftTerms = {
  risk: "dangerous",
  effects: "system_dangerous",
  requiresApproval: true,
  workspace: "ro",
  hosts: [],
};

export function createDraftedTool(
  { name, version, hash, state, definition, terms }: ToolDraftRow,
  enabled = true,
): Tool {
  const { description, inputSchema, outputSchema, examples, timeoutMs } = definition;
  const isLinked = state === "linked" && terms !== null;
  const { risk, effects, requiresApproval, workspace, hosts } = isLinked ? terms : UNJUDGED;
  return freezeTool({
    id: name,
    name,
    wireName: name.replace("/", "_"),
    displayName: name,
    description,
    category: name.split("/", 1)[0] ?? "",
    provider: "drafted",
    inputSchema,
    outputSchema,
    risk,
    effects,
    requiresApproval,
    sandbox: profileOf({ workspace, hosts }),
    requiresSandbox: true,
    escalations: [],
    timeoutMs,
    rateLimitPerHour: null,
    tags: ["drafted"],
    version,
    requiredPermissions: [],
    deprecated: null,
    aliases: [],
    examples,
    idempotent: false,
    openWorld: hosts.length > 0,
    cacheable: false,
    enabled,
    linkState: isLinked ? "linked" : "pending_link",
    touches: [],
    meters: [],
    route: null,
    drafted: { version, hash, workspace, hosts },
    native: null,
  });
}

function profileOf({ workspace, hosts }: Pick<DraftTerms, "workspace" | "hosts">): SandboxProfile {
  if (hosts.length > 0) return workspace === "none" ? "net" : "rw+net";
  return workspace === "rw" ? "rw" : "ro";
}
