// The fast path: a plain stateless `tools/call` of the modern era, answered without the SDK. An entry, not a second gate:
// the same engine function runs. Whatever is unusual is left to the SDK with nothing executed yet (protocol.md §5).
import type { IncomingMessage } from "node:http";
import type { CallRequest, Json, JsonObject, Outcome } from "../../call.ts";
import type { Registry } from "../../tools/registry.ts";
import { declaresHeaders } from "./param-headers.ts";
import { isUnknown, serverInfo, toolResult, unknownTool } from "./result.ts";

const VERSION = "2026-07-28";
const PREFIX = "io.modelcontextprotocol/";
const PLAIN_META = new Set(
  ["protocolVersion", "clientCapabilities", "clientInfo"].map((key) => PREFIX + key),
);
const PLAIN_PARAMS = new Set(["name", "arguments", "_meta"]);

export interface FastCall {
  readonly id: string | number;
  readonly request: CallRequest;
}

/** Null: not plain enough, the SDK answers. `body` has been parsed strictly. */
export function fastCall(req: IncomingMessage, body: Json, registry: Registry): FastCall | null {
  const { headers } = req;
  if (
    headers["mcp-protocol-version"] !== VERSION ||
    headers["mcp-method"] !== "tools/call" ||
    headers["content-encoding"] !== undefined ||
    headers["content-length"] === undefined ||
    !isJson(headers["content-type"])
  ) {
    return null;
  }
  if (!isObject(body) || body["jsonrpc"] !== "2.0" || body["method"] !== "tools/call") return null;
  const { id, params } = body;
  if (!(typeof id === "string" || (typeof id === "number" && Number.isSafeInteger(id))))
    return null;
  if (Object.keys(body).length !== 4 || !isObject(params)) return null;
  for (const key of Object.keys(params)) if (!PLAIN_PARAMS.has(key)) return null;
  const { name, arguments: args = {}, _meta: meta } = params;
  // A repeated header arrives joined by a comma and so never equals the body's name.
  if (typeof name !== "string" || name !== headers["mcp-name"] || !PLAIN_NAME.test(name))
    return null;
  if (!isObject(args) || !isObject(meta) || !isPlainMeta(meta)) return null;
  const tool = registry.get(name);
  if (tool !== null && declaresHeaders(tool)) return null;
  const traceparent = meta["traceparent"] ?? headers["traceparent"];
  return {
    id,
    request: {
      name,
      arguments: args,
      entry: "mcp",
      ...(typeof traceparent === "string" ? { traceparent } : {}),
    },
  };
}

/** Needs no decoding in a header; any other name goes the long way. */
const PLAIN_NAME = /^[A-Za-z0-9_./-]{1,128}$/;

function isPlainMeta(meta: JsonObject): boolean {
  if (
    meta[`${PREFIX}protocolVersion`] !== VERSION ||
    !isObject(meta[`${PREFIX}clientCapabilities`])
  )
    return false;
  for (const key of Object.keys(meta)) {
    if (key === "progressToken" || (key.startsWith(PREFIX) && !PLAIN_META.has(key))) return false;
  }
  const info = meta[`${PREFIX}clientInfo`];
  return info === undefined || (isObject(info) && typeof info["name"] === "string" && typeof info["version"] === "string"); // prettier-ignore
}

function isJson(contentType: string | undefined): boolean {
  return contentType === "application/json" || contentType === "application/json; charset=utf-8";
}

/** The body of the answer; the same result the SDK path would send. */
export function fastAnswer(id: string | number, outcome: Outcome, version: string): string {
  if (isUnknown(outcome))
    return JSON.stringify({ jsonrpc: "2.0", id, error: unknownTool(outcome.requestedName) });
  const { _meta, ...result } = toolResult(outcome);
  const meta = { ..._meta, [`${PREFIX}serverInfo`]: serverInfo(version) };
  return JSON.stringify({
    jsonrpc: "2.0",
    id,
    result: { resultType: "complete", ...result, _meta: meta },
  });
}

const isObject = (value: Json | undefined): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);
