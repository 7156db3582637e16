// Which leg answers: modern, a legacy session, or the stateless legacy one. The SDK's own classifier decides the era.
import { randomBytes, randomUUID } from "node:crypto";
import type { ServerResponse } from "node:http";
import type {
  AuthInfo,
  McpHandlerRequestOptions,
  McpHttpHandler,
} from "@modelcontextprotocol/server";
import type { Caller, Json } from "../../call.ts";
import { CODES } from "../../errors.ts";
import type { Tool } from "../../tools/tool.ts";
import type { Doors } from "../doors.ts";
import type { McpDoor } from "./index.ts";
import { declaresHeaders } from "./param-headers.ts";
import { loadSdk } from "./sdk.ts";
import { buildCheckedServer, buildServer, type Exchange, type Face } from "./server.ts";
import { createSessions } from "./sessions.ts";

const SESSIONS_PER_CALLER = 32;
const SESSIONS_IN_TOTAL = 10_000;
const KEEP_ALIVE_MS = 15_000;
/** Many tools registered at once are one change to a client. */
const CHANGE_DELAY_MS = 50;

/** What travels beside one HTTP request, through the SDK and back. */
interface HttpExchange extends Exchange {
  checked: Tool | null;
  unrecorded: boolean;
  release: (() => void) | null;
}

export async function openLegs(doors: Doors): Promise<McpDoor> {
  const sdk = await loadSdk();
  const { settings, log } = doors;
  const onerror = (cause: unknown): void => log.debug({ err: cause }, "MCP request refused");
  const face: Face = {
    doors,
    sdk,
    entry: "mcp",
    cursorKey: randomBytes(32),
    exchangeOf: (ctx) => exchangeOf(ctx.http?.authInfo),
  };
  const sessions = createSessions({
    idleMs: settings.mcpSessionTimeoutMs,
    perCaller: SESSIONS_PER_CALLER,
    total: SESSIONS_IN_TOTAL,
    now: doors.now,
    onError: onerror,
  });

  // One handler, hence one bus, per tenant: a bus knows no caller, its notices would cross tenants.
  const tenants = new Map<string, McpHttpHandler>();
  const handlerOf = (tenantId: string): McpHttpHandler => {
    let handler = tenants.get(tenantId);
    if (!handler) {
      handler = sdk.server.createMcpHandler(
        ({ authInfo }) => {
          const { checked } = exchangeOf(authInfo);
          return checked ? buildCheckedServer(face, checked) : buildServer(face);
        },
        {
          responseMode: "auto",
          keepAliveMs: KEEP_ALIVE_MS,
          maxRequestBodySize: settings.maxBodyBytes,
          onerror,
        },
      );
      tenants.set(tenantId, handler);
    }
    return handler;
  };

  async function answer(request: Request, options: McpHandlerRequestOptions): Promise<Response> {
    const exchange = exchangeOf(options.authInfo);
    const body = options.parsedBody as Json | undefined;
    const handler = handlerOf(exchange.caller.tenantId);
    if (!(await sdk.server.isLegacyRequest(request, body))) {
      exchange.checked = await headerChecked(doors, exchange.caller, body);
      return handler.fetch(request, options);
    }
    if (isInitialize(body)) return initialize(request, options, exchange);
    const id = request.headers.get("mcp-session-id");
    if (id === null) return handler.fetch(request, options);
    const session = sessions.get(id, exchange.caller);
    if (!session) return rpcError(404, -32001, "Session not found");
    exchange.release = sessions.hold(session);
    exchange.unanswered = (requestId) => session.transport.closeSSEStream(requestId);
    return session.transport.handleRequest(request, options);
  }

  async function initialize(
    request: Request,
    options: McpHandlerRequestOptions,
    exchange: HttpExchange,
  ): Promise<Response> {
    const { caller } = exchange;
    if (!sessions.room(caller)) {
      const { http, rpc } = CODES.TOO_MANY_REQUESTS;
      return rpcError(http, rpc, "Too many open sessions: end one first");
    }
    const server = buildServer(face);
    const transport = new sdk.server.WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      keepAliveMs: KEEP_ALIVE_MS,
      onsessioninitialized: (id) => {
        const session = { caller, transport, server, open: 0, idleSince: doors.now() };
        sessions.add(id, session);
        exchange.release = sessions.hold(session);
      },
      onsessionclosed: (id) => sessions.remove(id),
    });
    await server.connect(transport);
    const response = await transport.handleRequest(request, options);
    if (transport.sessionId === undefined) await server.close(); // refused: nothing was opened
    return response;
  }

  const respond = sdk.node.toNodeHandler(
    {
      async fetch(request, options = {}) {
        const response = await answer(request, options);
        if (!exchangeOf(options.authInfo).unrecorded || response.status !== 200) return response;
        return new Response(response.body, { status: 503, headers: response.headers });
      },
    },
    { maxRequestBodySize: settings.maxBodyBytes, onerror },
  );

  let changed: NodeJS.Timeout | undefined;
  const announce = (): void => {
    changed ??= setTimeout(() => {
      changed = undefined;
      for (const handler of tenants.values()) handler.notify.toolsChanged();
      for (const { server } of sessions.all()) server.sendToolListChanged().catch(onerror);
    }, CHANGE_DELAY_MS).unref();
  };
  const unsubscribe = [
    doors.registry.on("toolRegistered", announce),
    doors.registry.on("toolChanged", announce),
  ];

  return {
    async handle(req, res, caller, body, { traceparent }) {
      const exchange: HttpExchange = {
        caller,
        traceparent,
        checked: null,
        unrecorded: false,
        release: null,
        notRecorded: () => (exchange.unrecorded = true),
      };
      try {
        const authenticated = Object.assign(req, { auth: authOf(exchange) });
        await respond(authenticated as Parameters<typeof respond>[0], flushing(res), body);
      } finally {
        exchange.release?.();
      }
    },
    async close() {
      clearTimeout(changed);
      for (const off of unsubscribe) off();
      await sessions.close();
      await Promise.all([...tenants.values()].map((handler) => handler.close()));
    },
  };
}

/** The response, but a stream of events is announced at once: the client may have to wait long for the first of them. */
const flushing = (res: ServerResponse) => ({
  writeHead(status: number, headers: Record<string, string> = {}): void {
    res.writeHead(status, headers);
    if (headers["content-type"]?.startsWith("text/event-stream")) res.flushHeaders();
  },
  write: (chunk: string | Uint8Array): boolean => res.write(chunk),
  end: (chunk?: string | Uint8Array): unknown => res.end(chunk),
  on: (event: string, listener: (...args: unknown[]) => void): unknown => res.on(event, listener),
  get destroyed(): boolean {
    return res.destroyed;
  },
});

/** The SDK passes this through untouched; no token is in it. */
const authOf = (exchange: HttpExchange): AuthInfo => ({
  token: "",
  clientId: exchange.caller.userId,
  scopes: [],
  extra: { exchange },
});

function exchangeOf(auth: AuthInfo | undefined): HttpExchange {
  const exchange = auth?.extra?.["exchange"];
  if (exchange === undefined) throw new TypeError("an MCP request arrived without a caller");
  return exchange as HttpExchange; // written by authOf, never by a client
}

/** The tool of this call when its arguments must be repeated in headers, and the caller may see it. */
async function headerChecked(
  doors: Doors,
  caller: Caller,
  body: Json | undefined,
): Promise<Tool | null> {
  const name = calledName(body);
  const tool = name === null ? null : doors.registry.get(name);
  if (name === null || !tool || !declaresHeaders(tool)) return null;
  return doors.engine.find(caller, name).catch(() => null); // an engine that is out refuses in `execute`
}

function calledName(body: Json | undefined): string | null {
  if (!isObject(body) || body["method"] !== "tools/call" || !isObject(body["params"])) return null;
  const name = body["params"]["name"];
  return typeof name === "string" ? name : null;
}

const isInitialize = (body: Json | undefined): boolean =>
  isObject(body) && body["method"] === "initialize";

const isObject = (value: Json | undefined): value is { readonly [key: string]: Json } =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const rpcError = (status: number, code: number, message: string): Response =>
  Response.json({ jsonrpc: "2.0", id: null, error: { code, message } }, { status });
