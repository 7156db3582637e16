// The SDK server of every session: handlers that call the engine. It holds no caller; each request brings its own.
import type {
  InputRequiredResult,
  McpServer,
  Server,
  ServerContext,
} from "@modelcontextprotocol/server";
import type { Caller, Entry, JsonObject, RateWindow } from "../../contract/call.ts";
import { faultOf } from "../../contract/errors.ts";
import type { RequestSpan } from "../../telemetry/tracing.ts";
import { TASKS_EXTENSION } from "../../util/mcp-tasks.ts";
import type { Tool } from "../../contract/tool.ts";
import { TOOLS_OFF, type Doors } from "../doors.ts";
import { callEngine } from "./engine-call.ts";
import { installContent } from "./content.ts";
import { pendingResult, stateCodec } from "./approval-wait.ts";
import { listable, toolPage } from "./listing.ts";
import type { SignalReceiver } from "./change-signals.ts";
import type { ResumableCalls } from "./resumable-call.ts";
import { McpRefusal } from "./refusal.ts";
import { INTERNAL, rpcErrorOf, serverInfo, toolResult, type ToolResult } from "./result.ts";
import type { Sdk } from "./sdk.ts";
import { mcpSpan } from "./span.ts";
import { installTasks } from "./tasks/handlers.ts";
import type { ToolNames, Views } from "./views.ts";

/** Facts of one request, taken from the SDK's context when a handler runs. */
export interface McpRequest {
  readonly caller: Caller;
  readonly traceparent?: string | undefined;
  readonly tracestate?: string | undefined;
  /** The request's span, where it has one already. */
  readonly span?: RequestSpan | undefined;
  readonly ip?: string | undefined;
  /** Id of the execution, where this request has run already and waits for an approval. */
  readonly held?: string | undefined;
  /** Called when the record could not be written: the response then has status 503. */
  notRecorded?(): void;
  /** Receives the rate windows of the call, for the response headers. */
  rated?(windows: readonly RateWindow[]): void;
  /** Called when the client has cancelled: the SDK sends no response, so its stream must be closed. */
  unanswered?(requestId: string | number): void;
}

/** `/mcp` or `/mcp/<server>`, or stdio: what the handlers of its sessions use. */
export interface McpEndpoint {
  readonly doors: Doors;
  readonly sdk: Sdk;
  readonly entry: Entry;
  readonly cursorKey: Uint8Array;
  /** The server of `/mcp/<server>`; null: all servers, under prefixed names. */
  readonly server: string | null;
  readonly views: Views;
  readonly names: ToolNames;
  readonly resumableCalls: ResumableCalls;
  exchangeOf(ctx: ServerContext): McpRequest;
}

/** What a client may use besides tools; decided when its SDK server is built. */
export interface ServerOffer {
  readonly resources: boolean;
  readonly prompts: boolean;
  readonly completions: boolean;
  /** True where the caller sees an upstream server: only those send log messages. */
  readonly logging: boolean;
  /** Only in the modern era: the extension builds on what a client declares with each request. */
  readonly tasks: boolean;
}

export const NOTHING: ServerOffer = {
  resources: false,
  prompts: false,
  completions: false,
  logging: false,
  tasks: false,
};

/** What is known of the client beyond a single request. */
export interface ClientState {
  /** Declared at its start; absent in the modern era, where every request declares them. */
  capabilities(): JsonObject | undefined;
  /** Lowest level of log messages that it wants. */
  level: string | null;
  /** Receives change signals outside of requests; null: it gets none. */
  signals: SignalReceiver | null;
}

const TASKS_OFFERED = { extensions: { [TASKS_EXTENSION]: {} } };

const TTL_MS = 30_000;
const CACHE = { ttlMs: TTL_MS, cacheScope: "private" } as const;
const CACHED = [
  "tools/list",
  "prompts/list",
  "resources/list",
  "resources/templates/list",
  "resources/read",
  "server/discover",
] as const;

/** What this caller may be offered on this route. Null: there is no such server, or the caller may not see it. */
export async function offerOf(
  endpoint: Pick<McpEndpoint, "views" | "server">,
  caller: Caller,
): Promise<ServerOffer | null> {
  const { servers } = await endpoint.views.of(caller);
  const own =
    endpoint.server === null
      ? [...servers.values()]
      : [servers.get(endpoint.server)].filter((view) => view !== undefined);
  if (endpoint.server !== null && own.length === 0) return null;
  return {
    resources: own.some(({ resources }) => resources !== null),
    prompts: own.some(({ prompts }) => prompts !== null),
    completions: own.some(({ completions }) => completions !== null),
    logging: own.length > 0,
    tasks: false,
  };
}

export interface BuiltServer {
  readonly server: Server;
  readonly conversation: ClientState;
}

/** A new SDK server; no I/O. */
export function buildServer(endpoint: McpEndpoint, offer: ServerOffer): BuiltServer {
  const { TaskServer } = endpoint.sdk;
  return install(new TaskServer(...serverOptions(endpoint, offer)), endpoint, offer);
}

/**
 * For a tool whose schema asks for `Mcp-Param-*` headers: the SDK compares them with the arguments only in McpServer,
 * which knows the schema.
 */
export function buildCheckedServer(
  endpoint: McpEndpoint,
  offer: ServerOffer,
  tool: Tool,
): McpServer {
  const { TaskMcpServer } = endpoint.sdk;
  const checked = new TaskMcpServer(...serverOptions(endpoint, offer));
  checked.toolInputSchemaJson = () => tool.inputSchema;
  install(checked.server, endpoint, offer);
  return checked;
}

function serverOptions(endpoint: McpEndpoint, offer: ServerOffer) {
  const { server, doors } = endpoint;
  return [
    serverInfo(doors.settings.version, server),
    {
      capabilities: {
        tools: { listChanged: true },
        ...(offer.resources ? { resources: { listChanged: true, subscribe: true } } : {}),
        ...(offer.prompts ? { prompts: { listChanged: true } } : {}),
        ...(offer.completions ? { completions: {} } : {}),
        ...(offer.logging ? { logging: {} } : {}),
        ...(offer.tasks ? TASKS_OFFERED : {}),
      },
      ...(server === null
        ? {}
        : {
            instructions: `Ostiary stands in front of the server "${server}": what is listed here is what this caller may use of it. Every call is judged and recorded.`,
          }),
      requestState: { verify: stateCodec(endpoint).verify },
      cacheHints: Object.fromEntries(CACHED.map((method) => [method, CACHE])),
    },
  ] as const;
}

function install(server: Server, endpoint: McpEndpoint, offer: ServerOffer): BuiltServer {
  const conversation: ClientState = {
    capabilities: () => server.getClientCapabilities() as JsonObject | undefined,
    level: null,
    signals: null,
  };
  server.setRequestHandler("tools/list", (request, ctx) =>
    traced(endpoint, ctx, "tools/list", {}, (exchange) =>
      listTools(endpoint, exchange, request.params?.cursor),
    ),
  );
  server.setRequestHandler("tools/call", (request, ctx) =>
    traced(endpoint, ctx, "tools/call", { name: request.params.name }, (exchange) =>
      callTool(endpoint, ctx, conversation, exchange, request.params),
    ),
  );
  installContent(server, endpoint, offer, conversation, traced);
  if (offer.tasks) installTasks(server, endpoint, traced);
  return { server, conversation };
}

async function callTool(
  endpoint: McpEndpoint,
  ctx: ServerContext,
  conversation: ClientState,
  exchange: McpRequest,
  { name, arguments: args = {} }: { name: string; arguments?: Record<string, unknown> | undefined },
) {
  const asked = {
    name: endpoint.names.engineName(endpoint.server, name),
    arguments: args as JsonObject,
  }; // parsed JSON
  const outcome = await callEngine(endpoint, ctx, conversation, exchange, asked);
  // The SDK's types know no tasks; `TaskServer` lets them through.
  if ("resultType" in outcome) return outcome as InputRequiredResult;
  // A call that ran after an approval ran without its client, whose capabilities cannot be the cause of an error.
  const isTheClients = ctx.mcpReq.envelope !== undefined && outcome.approval === null;
  const error = rpcErrorOf(outcome, name, isTheClients);
  if (error) throw new McpRefusal(error);
  return outcome.endedAt === null
    ? pendingResult(endpoint, outcome)
    : mutable(toolResult(outcome, endpoint.server));
}

async function listTools(
  { doors, views, cursorKey, server }: McpEndpoint,
  { caller }: McpRequest,
  cursor: string | undefined,
) {
  const view = await views.of(caller);
  const tools =
    server === null
      ? listable(view.tools, await doors.listing(caller))
      : listable(view.servers.get(server)?.tools ?? []);
  const result = toolPage(caller, tools, cursor, cursorKey, server);
  if (result === null) {
    throw new McpRefusal({ code: -32602, message: "The cursor is not valid any more: list again" });
  }
  const note = doors.settings.toolsOn ? {} : { _meta: { "ostiary/note": TOOLS_OFF } };
  return { ...result, tools: [...result.tools], ...note };
}

export type Traced = typeof traced;

/** Over HTTP the listener has opened the span; on stdio it is opened here. */
async function traced<T>(
  endpoint: McpEndpoint,
  ctx: ServerContext,
  method: string,
  params: { readonly name?: string },
  work: (exchange: McpRequest) => Promise<T>,
): Promise<T> {
  const exchange = endpoint.exchangeOf(ctx);
  if (endpoint.entry !== "stdio")
    return onlyOwnErrors(endpoint, exchange.span, () => work(exchange));
  const message = {
    id: ctx.mcpReq.id,
    method,
    params: { ...params, _meta: (ctx.mcpReq._meta ?? {}) as JsonObject },
  };
  const span = mcpSpan(endpoint.doors, message, {
    entry: "stdio",
    at: performance.now(),
    transport: "pipe",
    outside: {},
    attributes: {},
  });
  span.caller(exchange.caller);
  try {
    return await onlyOwnErrors(endpoint, span, () => work({ ...exchange, span }));
  } finally {
    span.end();
  }
}

/** The SDK would send the text of any exception: only errors made here may reach the client. */
async function onlyOwnErrors<T>(
  endpoint: McpEndpoint,
  span: RequestSpan | undefined,
  work: () => Promise<T>,
): Promise<T> {
  const { ProtocolError } = endpoint.sdk.server;
  try {
    return await work();
  } catch (cause) {
    span?.failed(cause instanceof McpRefusal ? cause.rpc.code : INTERNAL.code);
    if (cause instanceof McpRefusal)
      throw new ProtocolError(cause.rpc.code, cause.rpc.message, cause.rpc.data);
    endpoint.doors.log.error({ err: cause }, "MCP request failed");
    const fault = faultOf(cause);
    const message =
      fault.code === "UNAVAILABLE" ? `${fault.reason}: ${fault.message}` : INTERNAL.message;
    throw new ProtocolError(INTERNAL.code, message);
  }
}

/** The SDK's result types are mutable; ours are not. */
const mutable = ({ structuredContent, ...result }: ToolResult) => ({
  ...result,
  content: [...result.content],
  ...(structuredContent === undefined
    ? {}
    : { structuredContent: structuredContent as JsonObject }),
});
