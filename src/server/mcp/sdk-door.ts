// Chooses the SDK session that answers: modern, legacy with a session, or legacy without one (stateless). The SDK
// decides which era a request belongs to.
import { randomBytes } from "node:crypto";
import type { ServerResponse } from "node:http";
import type { McpHandlerRequestOptions } from "@modelcontextprotocol/server";
import type { Caller, Json } from "../../contract/call.ts";
import type { Tool } from "../../contract/tool.ts";
import type { Doors } from "../doors.ts";
import { closeOnRevocation } from "../http/long-lived.ts";
import { rateHeaders } from "../http/problem.ts";
import { calledName, isObject } from "./json-rpc.ts";
import { ANSWER_MS } from "./engine-call.ts";
import { authOf, exchangeOf, newExchange } from "./exchange.ts";
import type { McpDoor } from "./index.ts";
import { openLegacySessions } from "./legacy-sessions.ts";
import { openChangeSignals } from "./change-signals.ts";
import { createResumableCalls } from "./resumable-call.ts";
import { declaresHeaders } from "./param-headers.ts";
import { McpRefusal } from "./refusal.ts";
import { statusOf } from "./result.ts";
import { createSdkHandlers } from "./sdk-handlers.ts";
import { loadSdk } from "./sdk.ts";
import { NOTHING, offerOf, type McpEndpoint } from "./server.ts";
import type { ToolNames, Views } from "./views.ts";

const KEEP_ALIVE_MS = 15_000;

/** Calls that wait for an answer of their client keep a connection of their upstream server in use. */
const RESUMABLE = { perCaller: 16, total: 512, waitMs: ANSWER_MS };

export async function openSdkDoor(doors: Doors, names: ToolNames, views: Views): Promise<McpDoor> {
  const sdk = await loadSdk();
  const { settings, log } = doors;
  const onerror = (cause: unknown): void => log.debug({ err: cause }, "MCP request refused");
  const resumableCalls = createResumableCalls(RESUMABLE);
  const union: McpEndpoint = {
    doors,
    sdk,
    entry: "mcp",
    cursorKey: randomBytes(32),
    server: null,
    views,
    names,
    resumableCalls,
    exchangeOf: (ctx) => exchangeOf(ctx.http?.authInfo),
  };
  const signals = openChangeSignals(doors, views);
  const legacy = openLegacySessions(doors, sdk, signals, KEEP_ALIVE_MS, onerror);

  const handlers = createSdkHandlers(union, signals, KEEP_ALIVE_MS, onerror);

  async function answer(
    server: string | null,
    request: Request,
    options: McpHandlerRequestOptions,
  ): Promise<Response> {
    const response = await answerOf(server, request, options);
    const headers = rateHeaders(exchangeOf(options.authInfo).rate);
    for (const [name, value] of Object.entries(headers)) response.headers.set(name, value);
    return response;
  }

  async function answerOf(
    server: string | null,
    request: Request,
    options: McpHandlerRequestOptions,
  ): Promise<Response> {
    const { endpoint, handler } = handlers.of(server);
    const exchange = exchangeOf(options.authInfo);
    const body = options.parsedBody as Json | undefined;
    if (await sdk.server.isLegacyRequest(request, body)) {
      const response = await legacy.answer(endpoint, exchange.offer, request, options);
      if (response) return response;
    } else {
      if (isListen(body)) return listen(endpoint, request, options);
      exchange.checked = await headerChecked(endpoint, exchange.caller, body);
    }
    const response = await handler.fetch(request, options);
    if (!exchange.unrecorded) return response;
    return new Response(response.body, { status: 503, headers: response.headers });
  }

  async function listen(
    endpoint: McpEndpoint,
    request: Request,
    options: McpHandlerRequestOptions,
  ): Promise<Response> {
    try {
      return await handlers.listen(endpoint, request, options);
    } catch (cause) {
      if (!(cause instanceof McpRefusal)) throw cause;
      const { id = null } = options.parsedBody as { id?: Json }; // `isListen`: an object
      const status = statusOf(cause.rpc);
      return Response.json({ jsonrpc: "2.0", id, error: cause.rpc }, { status });
    }
  }

  const respond = (server: string | null) =>
    sdk.node.toNodeHandler(
      { fetch: (request, options = {}) => answer(server, request, options) },
      { maxRequestBodySize: settings.maxBodyBytes, onerror },
    );

  return {
    async handle(req, res, caller, body, context, server) {
      const offer = await offerOf({ views, server }, caller).catch((cause: unknown) => {
        if (server === null) return NOTHING; // the request itself will report which engine is down
        throw cause;
      });
      if (offer === null) return false;
      closeOnRevocation(
        doors,
        caller,
        res,
        body === undefined || isListen(body) ? "stream" : "response",
      );
      const exchange = newExchange(caller, offer, { ...context, ip: doors.clients.addressOf(req) });
      try {
        const authenticated = Object.assign(req, { auth: authOf(exchange) });
        const handle = respond(server);
        await handle(authenticated as Parameters<typeof handle>[0], flushing(res), body);
        return true;
      } finally {
        exchange.release?.();
      }
    },
    async close() {
      resumableCalls.close();
      await legacy.close();
      await handlers.close();
      signals.close();
    },
  };
}

const isListen = (body: Json | undefined): boolean =>
  isObject(body) && body["method"] === "subscriptions/listen";

/** The tool of this call where its arguments must be repeated in headers and the caller may see it. */
async function headerChecked(
  { doors, names, server }: McpEndpoint,
  caller: Caller,
  body: Json | undefined,
): Promise<Tool | null> {
  const name = calledName(body);
  const tool = name === null ? null : names.tool(server, name);
  if (!tool || !declaresHeaders(tool)) return null;
  return doors.engine.find(caller, tool.name).catch(() => null); // if an engine is down, `execute` refuses the call
}

/** Sends the headers of an event stream at once: its first event may take long. */
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
