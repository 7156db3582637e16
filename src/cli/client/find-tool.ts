import type { JsonObject } from "../../contract/call.ts";
import { nearest } from "../../util/text/nearest.ts";
import { problemOf, type Api } from "./client.ts";
import { CliError, refused, type CliProblem } from "./fail.ts";

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
  error?: {
    data?: { error?: Pick<CliProblem, "code" | "reason" | "remedy"> & { message: string } };
  };
}

/** The words the server has for it, and the name that was probably meant. */
export async function noSuchTool(api: Api, tool: string): Promise<Error> {
  const error = refused({
    title: "Not found",
    status: 404,
    detail: `Tool '${tool}' not found`,
    code: "NOT_FOUND",
    reason: "unknown",
    remedy: "list the tools you may use: ostiary tools",
  });
  error.hint = await meantTool(api, tool);
  return error;
}

/** `did you mean file/read?`: only among the tools that this caller sees, so that no hidden tool is revealed. */
export async function meantTool(api: Api, tool: string): Promise<string | null> {
  const { tools } = await api.get<{ tools: { name: string }[] }>("tools");
  const names = tools.map(({ name }) => name);
  const guess = nearest(tool.replace("_", "/"), names) ?? sameLastName(tool, names);
  return guess === null ? null : `did you mean ${guess}?`;
}

/** Where only the category is wrong or missing. */
function sameLastName(tool: string, names: readonly string[]): string | null {
  const lastOf = (name: string): string => name.slice(name.indexOf("/") + 1);
  return names.find((name) => lastOf(name) === lastOf(tool)) ?? null;
}

/** A refusal of a call, with what helps to write it right. */
export async function withHint(cause: unknown, api: Api, tool: string): Promise<unknown> {
  if (!(cause instanceof CliError)) return cause;
  const { code, reason } = cause.problem;
  if (code === "NOT_FOUND" && reason === "unknown") cause.hint = await meantTool(api, tool);
  if (reason === "invalid_arguments" || reason === "unknown_parameter")
    cause.hint = `its arguments: ostiary tools show ${tool}`;
  return cause;
}
