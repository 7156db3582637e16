// Which leg answers: modern, a legacy session, or the stateless legacy one. The SDK's own classifier decides the era.
import { randomBytes } from "node:crypto";
import type { ServerResponse } from "node:http";
import type { McpHandlerRequestOptions, McpHttpHandler } from "@modelcontextprotocol/server";
import type { Caller, Json } from "../../call.ts";
import type { Tool } from "../../tools/tool.ts";
import type { Doors } from "../doors.ts";
import { rateHeaders } from "../problem.ts";
import { calledName } from "./body.ts";
import { watchTools } from "./changes.ts";
import { authOf, exchangeOf, newExchange } from "./exchange.ts";
import type { McpDoor } from "./index.ts";
import { openLegacyLeg } from "./legacy.ts";
import { declaresHeaders } from "./param-headers.ts";
import { loadSdk } from "./sdk.ts";
import { buildCheckedServer, buildServer, type Face } from "./server.ts";

const KEEP_ALIVE_MS = 15_000;

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
  const legacy = openLegacyLeg(face, KEEP_ALIVE_MS, onerror);

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
    const response = await answerOf(request, options);
    const headers = rateHeaders(exchangeOf(options.authInfo).rate);
    for (const [name, value] of Object.entries(headers)) response.headers.set(name, value);
    return response;
  }

  async function answerOf(request: Request, options: McpHandlerRequestOptions): Promise<Response> {
    const exchange = exchangeOf(options.authInfo);
    const body = options.parsedBody as Json | undefined;
    if (await sdk.server.isLegacyRequest(request, body)) {
      const response = await legacy.answer(request, options);
      if (response) return response;
    } else {
      exchange.checked = await headerChecked(doors, exchange.caller, body);
    }
    const response = await handlerOf(exchange.caller.tenantId).fetch(request, options);
    if (!exchange.unrecorded) return response;
    return new Response(response.body, { status: 503, headers: response.headers });
  }

  const respond = sdk.node.toNodeHandler(
    { fetch: (request, options = {}) => answer(request, options) },
    { maxRequestBodySize: settings.maxBodyBytes, onerror },
  );
  const unwatch = watchTools(doors, () => {
    for (const handler of tenants.values()) handler.notify.toolsChanged();
    legacy.toolsChanged();
  });

  return {
    async handle(req, res, caller, body, context) {
      const exchange = newExchange(caller, { ...context, ip: req.socket.remoteAddress });
      try {
        const authenticated = Object.assign(req, { auth: authOf(exchange) });
        await respond(authenticated as Parameters<typeof respond>[0], flushing(res), body);
      } finally {
        exchange.release?.();
      }
    },
    async close() {
      unwatch();
      await legacy.close();
      await Promise.all([...tenants.values()].map((handler) => handler.close()));
    },
  };
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

/** The response, but a stream of events is announced at once: the first of them may be long in coming. */
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
