import type { JsonObject } from "../call.ts";
import type { Api } from "./client.ts";

/** The answer of `GET /tools/{category}/{name}`. */
export interface ToolDetails {
  tool: Record<string, unknown> & { name: string; description: string; inputSchema: JsonObject };
  metrics: Record<string, unknown>;
  userStats: Record<string, unknown>;
}

export function toolPath(tool: string): string {
  return `tools/${tool.split("/").map(encodeURIComponent).join("/")}`;
}

/** By any of its names; null when it does not exist for this caller. Only tRPC takes names without a category. */
export async function findTool(api: Api, tool: string): Promise<ToolDetails | null> {
  const input = encodeURIComponent(JSON.stringify({ name: tool }));
  const path = tool.includes("/") ? toolPath(tool) : `/trpc/tools.getToolDetails?input=${input}`;
  const response = await api.send("GET", path);
  const body = (await response.json().catch(() => null)) as Answer | null;
  if (!response.ok || body === null) return null;
  return "result" in body ? body.result.data : body;
}

type Answer = ToolDetails | { result: { data: ToolDetails } };
