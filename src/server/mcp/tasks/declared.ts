// Which clients get tasks: those of the modern era that declare the extension with the very request.
import type { ServerContext } from "@modelcontextprotocol/server";
import type { JsonObject } from "../../../contract/call.ts";
import { declaresTasks, TASKS_DECLARED } from "../../../util/mcp-tasks.ts";
import { McpRefusal } from "../refusal.ts";
import type { McpEndpoint } from "../server.ts";

/** What a client of the modern era declares with each request; null in the older era, where the session declared it. */
export function modernCapabilities(
  { sdk }: Pick<McpEndpoint, "sdk">,
  ctx: ServerContext,
): JsonObject | null {
  const envelope = ctx.mcpReq.envelope as Record<string, JsonObject | undefined> | undefined;
  return envelope?.[sdk.server.CLIENT_CAPABILITIES_META_KEY] ?? null;
}

/** MCP has tasks for calls of tools only. */
export const takesTask = (endpoint: Pick<McpEndpoint, "sdk">, ctx: ServerContext): boolean =>
  ctx.mcpReq.method === "tools/call" && declaresTasks(modernCapabilities(endpoint, ctx));

export function requireTasks(endpoint: Pick<McpEndpoint, "sdk">, ctx: ServerContext): void {
  if (!declaresTasks(modernCapabilities(endpoint, ctx))) throw undeclared();
}

export const undeclared = (): McpRefusal =>
  new McpRefusal({
    code: -32021,
    message:
      "Missing required client capability: declare the tasks extension with the request to use tasks",
    data: { requiredCapabilities: TASKS_DECLARED },
  });
