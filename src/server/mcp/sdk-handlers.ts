// The SDK's handlers: one per server for requests, and one of its own for each stream that listens for changes.
import type { McpHandlerRequestOptions, McpHttpHandler } from "@modelcontextprotocol/server";
import type { Json } from "../../contract/call.ts";
import type { ChangeSignals } from "./change-signals.ts";
import { exchangeOf } from "./exchange.ts";
import { listenerBus } from "./listen.ts";
import { buildCheckedServer, buildServer, type McpEndpoint } from "./server.ts";
import { taskListening } from "./tasks/notices.ts";

export interface SdkHandlers {
  /** Of one server, or of all (null). */
  of(server: string | null): { readonly endpoint: McpEndpoint; readonly handler: McpHttpHandler };
  /** Opens a stream that listens for changes. */
  listen(
    endpoint: McpEndpoint,
    request: Request,
    options: McpHandlerRequestOptions,
  ): Promise<Response>;
  close(): Promise<void>;
}

export function createSdkHandlers(
  union: McpEndpoint,
  signals: ChangeSignals,
  keepAliveMs: number,
  onerror: (cause: unknown) => void,
): SdkHandlers {
  const { sdk, doors } = union;

  const handlerOf = (endpoint: McpEndpoint, bus?: ReturnType<typeof listenerBus>): McpHttpHandler =>
    sdk.server.createMcpHandler(
      ({ authInfo, era }) => {
        const { checked, offer: known } = exchangeOf(authInfo);
        const offer = { ...known, tasks: era === "modern" };
        return checked
          ? buildCheckedServer(endpoint, offer, checked)
          : buildServer(endpoint, offer).server;
      },
      {
        responseMode: "auto",
        keepAliveMs,
        maxRequestBodySize: doors.settings.maxBodyBytes,
        onerror,
        ...(bus ? { bus } : {}),
      },
    );
  /** By server. They have no event bus: a bus knows no caller, so each listening stream gets a handler of its own. */
  const handlers = new Map<string, ReturnType<SdkHandlers["of"]>>();
  const listening = new Set<McpHttpHandler>();

  return {
    of(server) {
      const key = server ?? "";
      let route = handlers.get(key);
      if (!route) {
        const endpoint = server === null ? union : { ...union, server };
        handlers.set(key, (route = { endpoint, handler: handlerOf(endpoint) }));
      }
      return route;
    },
    async listen(endpoint, request, options) {
      const { caller } = exchangeOf(options.authInfo);
      const body = options.parsedBody as Json | undefined;
      const tasks = await taskListening(endpoint, caller, body);
      const bus = listenerBus({
        endpoint,
        caller,
        changes: signals,
        body,
        onerror,
        onEnd: () => listening.delete(handler),
        end: () => void handler.close().catch(onerror),
      });
      const handler = handlerOf(endpoint, bus);
      const response = await handler.fetch(
        request,
        tasks ? { ...options, parsedBody: tasks.body } : options,
      );
      if (bus.state === "full")
        return Response.json({
          jsonrpc: "2.0",
          id: null,
          error: { code: -32603, message: "Subscription limit reached" },
        });
      if (bus.state === "open") listening.add(handler);
      return tasks && bus.state === "open" ? tasks.withStates(response) : response;
    },
    async close() {
      const open = [...listening, ...[...handlers.values()].map(({ handler }) => handler)];
      await Promise.all(open.map((handler) => handler.close()));
    },
  };
}
