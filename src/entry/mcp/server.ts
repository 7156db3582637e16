// The SDK server behind every slow leg: two handlers that ask the engine. Holds no caller; each request brings its own.
import type { McpServer, Server, ServerContext } from "@modelcontextprotocol/server";
import type {
  Caller,
  CallRequest,
  Entry,
  JsonObject,
  Outcome,
  Progress,
  RateWindow,
} from "../../call.ts";
import { faultOf } from "../../errors.ts";
import type { RequestSpan } from "../../telemetry/tracing.ts";
import type { Tool } from "../../tools/tool.ts";
import type { TraceContext } from "../../util/trace.ts";
import { TOOLS_OFF, type Doors } from "../doors.ts";
import {
  comesBackTo,
  linkToApproval,
  notEnded,
  opensLinks,
  stateCodec,
  waitForEnd,
} from "./held.ts";
import { listable, page } from "./listing.ts";
import { Refusal } from "./refusal.ts";
import {
  INTERNAL,
  isUnknown,
  notRecorded,
  serverInfo,
  toolResult,
  type ToolResult,
  unknownTool,
} from "./result.ts";
import type { Sdk } from "./sdk.ts";
import { mcpSpan, metaContext, tellOutcome } from "./span.ts";

/** One request's own facts, fetched from the SDK's context when a handler runs. */
export interface Exchange {
  readonly caller: Caller;
  readonly traceparent?: string | undefined;
  readonly tracestate?: string | undefined;
  /** Of the request, where it has one already. */
  readonly span?: RequestSpan | undefined;
  readonly ip?: string | undefined;
  /** This very request was put to the engine already, and waits for a person under this id. */
  readonly held?: string | undefined;
  /** Called when the record could not be written: the answer then carries HTTP 503. */
  notRecorded?(): void;
  /** Told of the windows that a call counted in, for the answer's headers. */
  rated?(windows: readonly RateWindow[]): void;
  /** Called when the client has cancelled: the SDK sends no answer, so the stream that waits for it must be ended. */
  unanswered?(requestId: string | number): void;
}

export interface Face {
  readonly doors: Doors;
  readonly sdk: Sdk;
  readonly entry: Entry;
  readonly cursorKey: Uint8Array;
  exchangeOf(ctx: ServerContext): Exchange;
}

const TTL_MS = 30_000;
const CACHE = { ttlMs: TTL_MS, cacheScope: "private" } as const;

/** A fresh server; no I/O. */
export function buildServer(face: Face): Server {
  const { Server } = face.sdk.server;
  return install(new Server(...identity(face)), face);
}

/**
 * For a call of a tool whose schema asks for `Mcp-Param-*` headers: the SDK compares them with the arguments only for
 * the server class that can name the schema.
 */
export function buildCheckedServer(face: Face, tool: Tool): McpServer {
  const { McpServer } = face.sdk.server;
  const product = new McpServer(...identity(face));
  product.toolInputSchemaJson = () => tool.inputSchema;
  install(product.server, face);
  return product;
}

const identity = (face: Face) =>
  [
    serverInfo(face.doors.settings.version),
    {
      capabilities: { tools: { listChanged: true } },
      requestState: { verify: stateCodec(face).verify },
      cacheHints: { "tools/list": CACHE, "server/discover": CACHE },
    },
  ] as const;

function install(server: Server, face: Face): Server {
  server.setRequestHandler("tools/list", (request, ctx) =>
    traced(face, ctx, "tools/list", {}, (exchange) =>
      listTools(face, exchange, request.params?.cursor),
    ),
  );
  server.setRequestHandler("tools/call", (request, ctx) =>
    traced(face, ctx, "tools/call", { name: request.params.name }, (exchange) =>
      callTool(face, ctx, server, exchange, request.params),
    ),
  );
  return server;
}

async function listTools(
  { doors, cursorKey }: Face,
  { caller }: Exchange,
  cursor: string | undefined,
) {
  const tools = listable(await doors.engine.discover(caller));
  const result = page(caller, tools, cursor, cursorKey);
  if (result === null) {
    throw new Refusal({ code: -32602, message: "The cursor is not valid any more: list again" });
  }
  const note = doors.settings.toolsOn ? {} : { _meta: { "ostiary/note": TOOLS_OFF } };
  return { ...result, tools: [...result.tools], ...note };
}

async function callTool(
  face: Face,
  ctx: ServerContext,
  server: Server,
  exchange: Exchange,
  { name, arguments: args = {} }: { name: string; arguments?: Record<string, unknown> | undefined },
) {
  const { entry } = face;
  const progress = progressSink(face, ctx);
  const request: CallRequest = {
    name,
    arguments: args as JsonObject, // parsed JSON
    entry,
    signal: signalOf(ctx),
    ...(exchange.ip === undefined ? {} : { ip: exchange.ip }),
    ...traceOf(ctx, exchange),
    ...(progress && { onProgress: progress.report }),
  };
  const back = await comesBackTo(face, ctx, request);
  const open = back ?? exchange.held ?? null;
  let outcome = await (open === null
    ? executed(face, exchange, request)
    : face.doors.engine.follow(exchange.caller, open, { ms: 0 }));
  const link = opensLinks(face, ctx, server.getClientCapabilities() as JsonObject | undefined);
  // A link is shown at once; whoever comes back, or can show none, is kept waiting.
  const asked = link && back === null && outcome.approval?.state === "pending";
  if (outcome.endedAt === null && !asked)
    outcome = await waitForEnd(face, exchange, outcome, progress?.report, request.signal);
  exchange.rated?.(outcome.rate);
  if (exchange.span) tellOutcome(exchange.span, outcome);
  await progress?.end();
  if (ctx.mcpReq.signal.aborted) exchange.unanswered?.(ctx.mcpReq.id);
  if (isUnknown(outcome)) throw new Refusal(unknownTool(name));
  if (outcome.endedAt !== null) return mutable(toolResult(outcome));
  const { approval } = outcome;
  // Without a hold to slow them down, rounds of links would be over in a moment.
  const again = asked || (link && approval?.state === "pending" && approval.holdSeconds > 0);
  return again && approval ? linkToApproval(face, ctx, outcome, approval) : notEnded(face, outcome);
}

async function executed(face: Face, exchange: Exchange, request: CallRequest): Promise<Outcome> {
  try {
    return await face.doors.engine.execute(exchange.caller, request);
  } catch (cause) {
    exchange.notRecorded?.();
    face.doors.log.error({ err: cause, tool: request.name }, "execution was not recorded");
    throw new Refusal(notRecorded(cause));
  }
}

/** The client's cancel, and the end of its connection: streams are not resumed, so nobody would get the answer. */
function signalOf(ctx: ServerContext): AbortSignal {
  const gone = ctx.http?.req?.signal;
  return gone ? AbortSignal.any([ctx.mcpReq.signal, gone]) : ctx.mcpReq.signal;
}

function traceOf(ctx: ServerContext, { span, traceparent, tracestate }: Exchange): TraceContext {
  if (span?.context) return span.context;
  const inBody = metaContext((ctx.mcpReq._meta ?? {}) as JsonObject);
  if (inBody.traceparent !== undefined) return inBody;
  return { ...(traceparent === undefined ? {} : { traceparent }), ...(tracestate === undefined ? {} : { tracestate }) }; // prettier-ignore
}

/** Over HTTP the door has opened the span; on stdin the message is all there is. */
async function traced<T>(face: Face, ctx: ServerContext, method: string, params: { readonly name?: string }, work: (exchange: Exchange) => Promise<T>): Promise<T> {
  const exchange = face.exchangeOf(ctx);
  if (face.entry !== "stdio") return guarded(face, exchange.span, () => work(exchange));
  const message = { id: ctx.mcpReq.id, method, params: { ...params, _meta: (ctx.mcpReq._meta ?? {}) as JsonObject } };
  const span = mcpSpan(face.doors, message, { entry: "stdio", at: performance.now(), transport: "pipe", outside: {}, attributes: {} });
  span.caller(exchange.caller);
  try {
    return await guarded(face, span, () => work({ ...exchange, span }));
  } finally {
    span.end();
  }
} // prettier-ignore

/** Reports only to a client that asked, only rising values, nothing after the result. */
function progressSink(face: Face, ctx: ServerContext) {
  const progressToken = ctx.mcpReq._meta?.progressToken;
  if (progressToken === undefined) return null;
  let highest = -Infinity;
  let ended = false;
  let sent = Promise.resolve();
  const report = (progress: Progress): void => {
    if (ended || !(progress.progress > highest)) return;
    highest = progress.progress;
    const params = { progressToken, ...progress };
    sent = sent
      .then(() => ctx.mcpReq.notify({ method: "notifications/progress", params }))
      .catch((cause: unknown) => face.doors.log.debug({ err: cause }, "progress not delivered"));
  };
  const end = (): Promise<void> => {
    ended = true;
    return sent;
  };
  return { report, end };
}

/** The SDK would put the text of any exception on the wire: only errors made here may leave. */
async function guarded<T>(
  face: Face,
  span: RequestSpan | undefined,
  work: () => Promise<T>,
): Promise<T> {
  const { ProtocolError } = face.sdk.server;
  try {
    return await work();
  } catch (cause) {
    span?.failed(cause instanceof Refusal ? cause.rpc.code : INTERNAL.code);
    if (cause instanceof Refusal) throw new ProtocolError(cause.rpc.code, cause.rpc.message);
    face.doors.log.error({ err: cause }, "MCP request failed");
    const fault = faultOf(cause);
    const message =
      fault.code === "UNAVAILABLE" ? `${fault.reason}: ${fault.message}` : INTERNAL.message;
    throw new ProtocolError(INTERNAL.code, message);
  }
}

/** The SDK's result types are mutable; ours are not. */
const mutable = (result: ToolResult) => ({ ...result, content: [...result.content] });
