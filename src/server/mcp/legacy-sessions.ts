// Legacy requests with a session. Requests without one are answered stateless by the SDK.
import { randomUUID } from "node:crypto";
import type { McpHandlerRequestOptions, Server } from "@modelcontextprotocol/server";
import type { Json } from "../../contract/call.ts";
import { CODES } from "../../contract/errors.ts";
import { isObject } from "./json-rpc.ts";
import { exchangeOf, type HttpExchange } from "./exchange.ts";
import type { Doors } from "../doors.ts";
import type { ChangeSignal, ChangeSignals } from "./change-signals.ts";
import type { Sdk } from "./sdk.ts";
import { buildServer, type McpEndpoint, type ServerOffer } from "./server.ts";
import { createMcpSessions } from "./sessions.ts";

const SESSIONS_PER_CALLER = 32;
const SESSIONS_IN_TOTAL = 10_000;

export interface LegacySessions {
  /** Null: the request belongs to no session and opens none. */
  answer(
    endpoint: McpEndpoint,
    offer: ServerOffer,
    request: Request,
    options: McpHandlerRequestOptions,
  ): Promise<Response | null>;
  close(): Promise<void>;
}

export function openLegacySessions(
  doors: Doors,
  sdk: Sdk,
  changes: ChangeSignals,
  keepAliveMs: number,
  onError: (cause: unknown) => void,
): LegacySessions {
  const sessions = createMcpSessions({
    idleMs: doors.settings.mcpSessionTimeoutMs,
    perCaller: SESSIONS_PER_CALLER,
    total: SESSIONS_IN_TOTAL,
    now: doors.now,
    onError,
  });

  async function initialize(
    endpoint: McpEndpoint,
    offer: ServerOffer,
    request: Request,
    options: McpHandlerRequestOptions,
    exchange: HttpExchange,
  ): Promise<Response> {
    const { caller } = exchange;
    if (!sessions.makeRoom(caller)) {
      const { http, rpc } = CODES.TOO_MANY_REQUESTS;
      return rpcError(http, rpc, "Too many open sessions: end one first");
    }
    const { server, conversation } = buildServer(endpoint, offer);
    const transport = new sdk.server.WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      keepAliveMs,
      onsessioninitialized: (id) => {
        const receiver = changes.join({
          caller,
          server: endpoint.server,
          send: (signal) => void sendSignal(server, signal).catch(onError),
          end: () => sessions.remove(id),
        });
        conversation.signals = receiver;
        const session = {
          caller,
          route: endpoint.server,
          transport,
          server,
          receiver,
          open: 0,
          idleSince: doors.now(),
        };
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
    async answer(endpoint, offer, request, options) {
      const exchange = exchangeOf(options.authInfo);
      if (isInitialize(options.parsedBody as Json))
        return initialize(endpoint, offer, request, options, exchange);
      const id = request.headers.get("mcp-session-id");
      if (id === null) return null;
      const session = sessions.get(id, exchange.caller, endpoint.server);
      if (!session) return rpcError(404, -32001, "Session not found");
      exchange.release = sessions.hold(session);
      exchange.unanswered = (requestId) => session.transport.closeSSEStream(requestId);
      return session.transport.handleRequest(request, options);
    },
    close: () => sessions.close(),
  };
}

/** The SDK refuses signals of capabilities that were not declared when the session began. */
export async function sendSignal(server: Server, signal: ChangeSignal): Promise<void> {
  switch (signal.kind) {
    case "tools_list_changed":
      return server.sendToolListChanged();
    case "prompts_list_changed":
      return server.sendPromptListChanged();
    case "resources_list_changed":
      return server.sendResourceListChanged();
    case "resource_updated":
      return server.sendResourceUpdated({ uri: signal.uri });
  }
}

const isInitialize = (body: Json | undefined): boolean =>
  isObject(body) && body["method"] === "initialize";

const rpcError = (status: number, code: number, message: string): Response =>
  Response.json({ jsonrpc: "2.0", id: null, error: { code, message } }, { status });
