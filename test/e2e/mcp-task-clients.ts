// Requests of a client of the modern era that declares the tasks extension.
import type { RawClientDispatch } from "@modelcontextprotocol/ext-tasks/client";
import { META, MODERN, post } from "./mcp-clients.ts";

export const TASKS = { extensions: { "io.modelcontextprotocol/tasks": {} } };

export interface Rpc {
  readonly result?: Record<string, unknown>;
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown };
}

const withCapabilities = (capabilities: object) => ({
  ...META,
  "io.modelcontextprotocol/clientCapabilities": capabilities,
});

const headersOf = (method: string, params: Record<string, unknown>): Record<string, string> => {
  const name = method.startsWith("tasks/") ? params["taskId"] : params["name"];
  return {
    "mcp-protocol-version": MODERN,
    "mcp-method": method,
    ...(typeof name === "string" ? { "mcp-name": name } : {}),
  };
};

/** One request; a stream is read to its last message. */
export async function taskRequest(
  url: string,
  key: string,
  method: string,
  params: object,
  capabilities: object,
  signal?: AbortSignal,
): Promise<Rpc> {
  const given = params as Record<string, unknown>;
  const _meta = { ...withCapabilities(capabilities), ...(given["_meta"] as object | undefined) };
  const body = { jsonrpc: "2.0", id: 1, method, params: { ...given, _meta } };
  return read(await post(url, key, body, headersOf(method, given), signal));
}

async function read(response: Response): Promise<Rpc> {
  const text = await response.text();
  if (!response.headers.get("content-type")?.startsWith("text/event-stream"))
    return JSON.parse(text) as Rpc;
  const data = text.split("\n").filter((line) => line.startsWith("data: "));
  return JSON.parse(data.at(-1)?.slice(6) ?? "") as Rpc;
}

/** For the extension's client: the SDK's own refuses answers that are tasks. */
export const rawDispatch =
  (url: string, key: string): RawClientDispatch =>
  async (request) => {
    const { method, params } = request as { method: string; params: Record<string, unknown> };
    const body = { jsonrpc: "2.0", id: 1, method, params };
    const { result, error } = await read(await post(url, key, body, headersOf(method, params)));
    return error
      ? { kind: "error", error: error as never }
      : { kind: "result", result: result as never };
  };
