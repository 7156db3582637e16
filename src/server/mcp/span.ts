// The SERVER span of one MCP request. The parent is the context in the message, which says whose work it is; that of the
// transport becomes a link.
import type { IncomingMessage } from "node:http";
import type { Caller, Json, JsonObject, Outcome } from "../../contract/call.ts";
import { ATTR, MCP_METHODS, OTHER } from "../../telemetry/names.ts";
import {
  NO_REQUEST_SPAN,
  type Attributes,
  type Pairs,
  type RequestSpan,
} from "../../telemetry/tracing.ts";
import { parentOf, type TraceContext } from "../../util/trace.ts";
import type { Doors } from "../doors.ts";
import { isObject } from "./json-rpc.ts";
import { isUnknown, unknownTool } from "./result.ts";

const NO_ATTRIBUTES: Attributes = Object.freeze({});

type Spans = Pick<Doors, "tracing" | "registry">;

/** A message that is no single request (a notice, an answer, a batch) has none. */
export function httpMcpSpan(
  doors: Spans & Pick<Doors, "clients">,
  body: Json | undefined,
  req: IncomingMessage,
  facts: { readonly at: number; readonly requestId: string; readonly caller: Caller },
): RequestSpan {
  const { headers, socket } = req;
  const span = mcpSpan(doors, body, {
    entry: "mcp",
    at: facts.at,
    transport: "tcp",
    outside: textsOf(headers["traceparent"], headers["tracestate"]),
    requestId: facts.requestId,
    attributes: NO_ATTRIBUTES,
    pairs: [
      ATTR.protocol,
      "http",
      ATTR.mcpProtocol,
      one(headers["mcp-protocol-version"]),
      ATTR.mcpSession,
      one(headers["mcp-session-id"]),
      ATTR.clientAddress,
      doors.clients.addressOf(req),
      ATTR.serverAddress,
      socket.localAddress,
      ATTR.serverPort,
      socket.localPort,
    ],
  });
  span.caller(facts.caller);
  return span;
}

export interface McpSpanFacts {
  readonly entry: "mcp" | "stdio";
  readonly at: number;
  readonly transport: "tcp" | "pipe";
  /** What the transport said. */
  readonly outside: TraceContext;
  readonly requestId?: string | undefined;
  readonly attributes: Attributes;
  readonly pairs?: Pairs | undefined;
}

export function mcpSpan(doors: Spans, body: Json | undefined, facts: McpSpanFacts): RequestSpan {
  if (!doors.tracing.on || !isObject(body)) return NO_REQUEST_SPAN;
  const { id, method: said, params } = body;
  if (typeof said !== "string" || (typeof id !== "string" && typeof id !== "number"))
    return NO_REQUEST_SPAN;
  const method = MCP_METHODS.has(said) ? said : OTHER;
  const target =
    method === "tools/call" && isObject(params) ? wireName(doors, params["name"]) : null;
  const inside = contextIn(params);
  const within = parentOf(inside.traceparent, inside.tracestate);
  return doors.tracing.request({
    mcp: { method, target, transport: facts.transport, id: String(id) },
    entry: facts.entry,
    at: facts.at,
    context: within ? { within } : facts.outside,
    linked: within ? facts.outside : undefined,
    requestId: facts.requestId,
    attributes: facts.attributes,
    pairs: facts.pairs,
  });
}

/** How the call went; a tool that is unknown to the caller is an error of the protocol. */
export function recordOutcome(span: RequestSpan, outcome: Outcome): void {
  span.outcome(outcome);
  if (isUnknown(outcome)) span.failed(unknownTool("").code);
}

/** As models call it. Only names of tools: any other text is the client's. */
function wireName({ registry }: Spans, name: Json | undefined): string | null {
  return typeof name === "string" ? (registry.get(name)?.wireName ?? null) : null;
}

/** The context in `_meta` of a request's parameters. */
export function contextIn(params: Json | undefined): TraceContext {
  const meta = isObject(params) ? params["_meta"] : undefined;
  return isObject(meta) ? metaContext(meta) : {};
}

export const metaContext = (meta: JsonObject): TraceContext =>
  textsOf(meta["traceparent"], meta["tracestate"]);

function textsOf(traceparent: unknown, tracestate: unknown): TraceContext {
  if (typeof traceparent !== "string") return {};
  return typeof tracestate === "string" ? { traceparent, tracestate } : { traceparent };
}

const one = (value: string | string[] | undefined): string | undefined =>
  typeof value === "string" ? value : undefined;
