import type { JsonObject } from "../call.ts";
import { problemOf, type Api } from "./client.ts";
import { refused, type Problem } from "./fail.ts";

/** The answer of `GET /tools/{category}/{name}`. */
export interface ToolDetails {
  tool: Record<string, unknown> & { name: string; description: string; inputSchema: JsonObject };
  metrics: Record<string, unknown>;
  userStats: Record<string, unknown>;
}

/** By any of its names; null when it does not exist for this caller. */
export async function findTool(api: Api, tool: string): Promise<ToolDetails | null> {
  return tool.includes("/") ? byPath(api, tool) : byName(api, tool);
}

async function byPath(api: Api, tool: string): Promise<ToolDetails | null> {
  const response = await api.send(
    "GET",
    `tools/${tool.split("/").map(encodeURIComponent).join("/")}`,
  );
  const body: unknown = await response.json().catch(() => null);
  if (response.status === 404) return null;
  if (!response.ok) throw problemOf(response, body);
  return body as ToolDetails;
}

/** Only tRPC takes names without a category. */
async function byName(api: Api, tool: string): Promise<ToolDetails | null> {
  const input = encodeURIComponent(JSON.stringify({ name: tool }));
  const response = await api.send("GET", `/trpc/tools.getToolDetails?input=${input}`);
  const body = (await response.json().catch(() => null)) as TrpcAnswer | null;
  if (response.status === 404) return null;
  if (body?.result) return body.result.data;
  const error = body?.error?.data?.error;
  if (!error) throw problemOf(response, body);
  throw refused({ ...error, title: error.message, detail: error.message, status: response.status });
}

interface TrpcAnswer {
  result?: { data: ToolDetails };
  error?: { data?: { error?: Pick<Problem, "code" | "reason" | "remedy"> & { message: string } } };
}

/** The words the server has for it. */
export function noSuchTool(tool: string): Error {
  return refused({
    title: "There is no such thing for this caller",
    status: 404,
    detail: `Tool '${tool}' not found`,
    code: "NOT_FOUND",
    reason: "unknown",
    remedy: "list the tools you may use: ostiary tools",
  });
}
