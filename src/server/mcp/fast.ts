// The fast path: a plain stateless `tools/call` of the modern era, answered without the SDK but by the same engine
// function. Unusual requests are left to the SDK, before anything has run.
import type { IncomingMessage } from "node:http";
import type { CallRequest, Json, JsonObject, Outcome } from "../../contract/call.ts";
import { declaresTasks } from "../../util/mcp-tasks.ts";
import { isObject } from "./json-rpc.ts";
import { declaresHeaders } from "./param-headers.ts";
import {
  EXECUTION_KEY,
  notRecorded,
  rpcErrorOf,
  serverInfo,
  statusOf,
  toolResult,
} from "./result.ts";
import type { ToolNames } from "./views.ts";

const VERSION = "2026-07-28";
const PREFIX = "io.modelcontextprotocol/";
const PLAIN_META = new Set(
  ["protocolVersion", "clientCapabilities", "clientInfo"].map((key) => PREFIX + key),
);
const PLAIN_PARAMS = new Set(["name", "arguments", "_meta"]);

export interface FastCall {
  readonly id: string | number;
  readonly nameAsSent: string;
  readonly request: CallRequest;
}

/** Null: not plain, the SDK answers. `body` has been parsed strictly. */
export function plainCall(
  req: Pick<IncomingMessage, "headers">,
  body: Json,
  names: ToolNames,
  server: string | null,
): FastCall | null {
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
  const tool = names.tool(server, name);
  if (tool !== null && declaresHeaders(tool)) return null;
  // A call that takes long is answered with a task, which only the SDK path does.
  if (declaresTasks(meta[`${PREFIX}clientCapabilities`] as JsonObject)) return null; // an object: `isPlainMeta`
  // An upstream server may ask a client that can answer; only the SDK path can carry the question.
  if (tool !== null && tool.route !== null && canAnswer(meta)) return null;
  const inBody = meta["traceparent"] !== undefined;
  const traceparent = inBody ? meta["traceparent"] : headers["traceparent"];
  const tracestate = inBody ? meta["tracestate"] : headers["tracestate"];
  return {
    id,
    nameAsSent: name,
    request: {
      name: names.engineName(server, name),
      arguments: args,
      entry: "mcp",
      ...(typeof traceparent === "string" ? { traceparent } : {}),
      ...(typeof tracestate === "string" ? { tracestate } : {}),
    },
  };
}

function canAnswer(meta: JsonObject): boolean {
  const declared = meta[`${PREFIX}clientCapabilities`];
  return (
    isObject(declared) &&
    ("elicitation" in declared || "sampling" in declared || "roots" in declared)
  );
}

/** Needs no decoding in a header; the SDK handles other names. */
const PLAIN_NAME = /^[A-Za-z0-9_./-]{1,128}$/;

function isPlainMeta(meta: JsonObject): boolean {
  if (meta[`${PREFIX}protocolVersion`] !== VERSION) return false;
  for (const key of Object.keys(meta)) {
    if (
      key === "progressToken" ||
      key === EXECUTION_KEY ||
      (key.startsWith(PREFIX) && !PLAIN_META.has(key))
    )
      return false;
  }
  return (
    isPlainClient(meta[`${PREFIX}clientInfo`]) &&
    isPlainCapabilities(meta[`${PREFIX}clientCapabilities`])
  );
}

/** Text fields only; the SDK validates icons and the like. */
function isPlainClient(info: Json | undefined): boolean {
  if (info === undefined) return true;
  return (
    isObject(info) &&
    "name" in info &&
    "version" in info &&
    Object.values(info).every((value) => typeof value === "string")
  );
}

/**
 * `{}`, `{ sampling: {} }`, `{ elicitation: { form: {}, url: {} } }`, `{ roots: { listChanged: true } }`; no deeper.
 */
function isPlainCapabilities(capabilities: Json | undefined): boolean {
  if (!isObject(capabilities)) return false;
  for (const [name, value] of Object.entries(capabilities)) {
    if (!isObject(value)) return false;
    for (const [key, inner] of Object.entries(value)) {
      const flag = name === "roots" && key === "listChanged";
      if (flag ? typeof inner !== "boolean" : !isObject(inner) || Object.keys(inner).length > 0)
        return false;
    }
  }
  return true;
}

function isJson(contentType: string | undefined): boolean {
  return contentType === "application/json" || contentType === "application/json; charset=utf-8";
}

/** The response body when the engine threw because nothing could be recorded; sent with HTTP 503. */
export const fastFailure = (id: string | number, cause: unknown): string =>
  JSON.stringify({ jsonrpc: "2.0", id, error: notRecorded(cause) });

export interface FastResponse {
  readonly status: number;
  readonly text: string;
}

/** The same result that the SDK path would send. */
export function fastResponse(
  { id, nameAsSent }: Pick<FastCall, "id" | "nameAsSent">,
  outcome: Outcome,
  version: string,
  server: string | null,
): FastResponse {
  const error = rpcErrorOf(outcome, nameAsSent);
  if (error)
    return { status: statusOf(error), text: JSON.stringify({ jsonrpc: "2.0", id, error }) };
  const result = toolResult(outcome, server);
  const text = JSON.stringify({
    jsonrpc: "2.0",
    id,
    result: {
      resultType: "complete",
      content: result.content,
      structuredContent: result.structuredContent,
      isError: result.isError,
      _meta: { ...result._meta, [`${PREFIX}serverInfo`]: serverInfo(version, server) },
    },
  });
  return { status: 200, text };
}
