// The legacy leg with sessions (protocol.md §2.2). What has no session goes to the stateless leg.
import { randomUUID } from "node:crypto";
import type { McpHandlerRequestOptions } from "@modelcontextprotocol/server";
import type { Json } from "../../call.ts";
import { CODES } from "../../errors.ts";
import { isObject } from "./body.ts";
import { exchangeOf, type HttpExchange } from "./exchange.ts";
import { buildServer, type Face } from "./server.ts";
import { createSessions } from "./sessions.ts";

const SESSIONS_PER_CALLER = 32;
const SESSIONS_IN_TOTAL = 10_000;

export interface LegacyLeg {
  /** Null: the request belongs to no session and opens none. */
  answer(request: Request, options: McpHandlerRequestOptions): Promise<Response | null>;
  toolsChanged(): void;
  close(): Promise<void>;
}

export function openLegacyLeg(
  face: Face,
  keepAliveMs: number,
  onError: (cause: unknown) => void,
): LegacyLeg {
  const { doors, sdk } = face;
  const sessions = createSessions({
    idleMs: doors.settings.mcpSessionTimeoutMs,
    perCaller: SESSIONS_PER_CALLER,
    total: SESSIONS_IN_TOTAL,
    now: doors.now,
    onError,
  });

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
      keepAliveMs,
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

  return {
    async answer(request, options) {
      const exchange = exchangeOf(options.authInfo);
      if (isInitialize(options.parsedBody as Json)) return initialize(request, options, exchange);
      const id = request.headers.get("mcp-session-id");
      if (id === null) return null;
      const session = sessions.get(id, exchange.caller);
      if (!session) return rpcError(404, -32001, "Session not found");
      exchange.release = sessions.hold(session);
      exchange.unanswered = (requestId) => session.transport.closeSSEStream(requestId);
      return session.transport.handleRequest(request, options);
    },
    toolsChanged() {
      for (const { server } of sessions.all()) server.sendToolListChanged().catch(onError);
    },
    close: () => sessions.close(),
  };
}

const isInitialize = (body: Json | undefined): boolean =>
  isObject(body) && body["method"] === "initialize";

const rpcError = (status: number, code: number, message: string): Response =>
  Response.json({ jsonrpc: "2.0", id: null, error: { code, message } }, { status });
