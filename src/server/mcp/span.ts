// The SERVER span of one MCP request. Its parent is the trace context in the message; that of the transport becomes a
// link.
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

/** Notifications, responses and batches have no span. */
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
  /** Trace context of the transport. */
  readonly outside: TraceContext;
  readonly requestId?: string | undefined;
  readonly attributes: Attributes;
  readonly pairs?: Pairs | undefined;
}

export function mcpSpan(doors: Spans, body: Json | undefined, facts: McpSpanFacts): RequestSpan {
  if (!doors.tracing.on || !isObject(body)) return NO_REQUEST_SPAN;
  const { id, method: sent, params } = body;
  if (typeof sent !== "string" || (typeof id !== "string" && typeof id !== "number"))
    return NO_REQUEST_SPAN;
  const method = MCP_METHODS.has(sent) ? sent : OTHER;
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

/** A tool that is unknown to the caller is a protocol error. */
export function recordOutcome(span: RequestSpan, outcome: Outcome): void {
  span.outcome(outcome);
  if (isUnknown(outcome)) span.failed(unknownTool("").code);
}

/** The wire name of a registered tool; any other name is text of the client and stays out of the span. */
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
