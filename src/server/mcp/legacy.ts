// The legacy leg with sessions (protocol.md §2.2). What has no session goes to the stateless leg.
import { randomUUID } from "node:crypto";
import type { McpHandlerRequestOptions, Server } from "@modelcontextprotocol/server";
import type { Json } from "../../contract/call.ts";
import { CODES } from "../../contract/errors.ts";
import { isObject } from "./body.ts";
import { exchangeOf, type HttpExchange } from "./exchange.ts";
import type { Doors } from "../doors.ts";
import type { Notice, Notices } from "./notices.ts";
import type { Sdk } from "./sdk.ts";
import { buildServer, type Face, type Offer } from "./server.ts";
import { createSessions } from "./sessions.ts";

const SESSIONS_PER_CALLER = 32;
const SESSIONS_IN_TOTAL = 10_000;

export interface LegacyLeg {
  /** Null: the request belongs to no session and opens none. */
  answer(
    face: Face,
    offer: Offer,
    request: Request,
    options: McpHandlerRequestOptions,
  ): Promise<Response | null>;
  close(): Promise<void>;
}

export function openLegacyLeg(
  doors: Doors,
  sdk: Sdk,
  notices: Notices,
  keepAliveMs: number,
  onError: (cause: unknown) => void,
): LegacyLeg {
  const sessions = createSessions({
    idleMs: doors.settings.mcpSessionTimeoutMs,
    perCaller: SESSIONS_PER_CALLER,
    total: SESSIONS_IN_TOTAL,
    now: doors.now,
    onError,
  });

  async function initialize(
    face: Face,
    offer: Offer,
    request: Request,
    options: McpHandlerRequestOptions,
    exchange: HttpExchange,
  ): Promise<Response> {
    const { caller } = exchange;
    if (!sessions.room(caller)) {
      const { http, rpc } = CODES.TOO_MANY_REQUESTS;
      return rpcError(http, rpc, "Too many open sessions: end one first");
    }
    const { server, talk } = buildServer(face, offer);
    const transport = new sdk.server.WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      keepAliveMs,
      onsessioninitialized: (id) => {
        const member = notices.join({
          caller,
          server: face.server,
          tell: (notice) => void told(server, notice).catch(onError),
          end: () => sessions.remove(id),
        });
        talk.member = member;
        const session = {
          caller,
          route: face.server,
          transport,
          server,
          member,
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
    async answer(face, offer, request, options) {
      const exchange = exchangeOf(options.authInfo);
      if (isInitialize(options.parsedBody as Json))
        return initialize(face, offer, request, options, exchange);
      const id = request.headers.get("mcp-session-id");
      if (id === null) return null;
      const session = sessions.get(id, exchange.caller, face.server);
      if (!session) return rpcError(404, -32001, "Session not found");
      exchange.release = sessions.hold(session);
      exchange.unanswered = (requestId) => session.transport.closeSSEStream(requestId);
      return session.transport.handleRequest(request, options);
    },
    close: () => sessions.close(),
  };
}

/** The SDK refuses notices of what was not declared when the session began. */
export async function told(server: Server, notice: Notice): Promise<void> {
  switch (notice.kind) {
    case "tools_list_changed":
      return server.sendToolListChanged();
    case "prompts_list_changed":
      return server.sendPromptListChanged();
    case "resources_list_changed":
      return server.sendResourceListChanged();
    case "resource_updated":
      return server.sendResourceUpdated({ uri: notice.uri });
  }
}

const isInitialize = (body: Json | undefined): boolean =>
  isObject(body) && body["method"] === "initialize";

const rpcError = (status: number, code: number, message: string): Response =>
  Response.json({ jsonrpc: "2.0", id: null, error: { code, message } }, { status });
