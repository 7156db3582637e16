// A capability of a server as the registry knows it.
import type { ForeignDefinition, ServerRow, ServerToolRow } from "../../../storage/store/store.ts";
import { freezeTool, type Tool } from "../../../contract/tool.ts";

/** Enough to distinguish versions by eye; also what a capsule pins. */
const PIN_SHOWN = 12;

const MIN_TIMEOUT_MS = 1_000;
const MAX_TIMEOUT_MS = 300_000;

/** It can be called only while exactly this definition is approved and offered, and the server is switched on. */
export function createUpstreamTool(
  server: ServerRow,
  row: ServerToolRow,
  definition: ForeignDefinition,
  enabled: boolean,
): Tool {
  const { category, risk, effects, idempotent, openWorld, cacheable } = row.terms;
  const pin = row.approvedPin ?? row.seenPin;
  return freezeTool({
    id: row.name,
    name: row.name,
    wireName: row.wireName,
    displayName: definition.title?.trim() || row.name.slice(server.name.length + 1),
    description:
      definition.description.trim() === ""
        ? `${row.name.slice(server.name.length + 1)} of the server ${server.name}; it says nothing more about it.`
        : definition.description,
    category,
    provider: server.transport.kind === "api" ? "external" : "mcp",
    inputSchema: definition.inputSchema,
    outputSchema: definition.outputSchema,
    risk,
    effects,
    requiresApproval: false,
    sandbox: null,
    requiresSandbox: false,
    escalations: [],
    timeoutMs: Math.min(MAX_TIMEOUT_MS, Math.max(MIN_TIMEOUT_MS, server.settings.timeoutMs)),
    rateLimitPerHour: null,
    tags: [server.name, "upstream"],
    version: pin.slice(0, PIN_SHOWN),
    requiredPermissions: [],
    deprecated: null,
    aliases: [],
    examples: [],
    idempotent,
    openWorld,
    cacheable,
    enabled,
    linkState: row.state === "approved" && server.enabled ? "linked" : "pending_link",
    touches: [],
    meters: [],
    route: {
      server: server.name,
      method: row.method,
      name: definition.name,
      pin,
      operation: definition.operation,
    },
    native: null,
  });
}
