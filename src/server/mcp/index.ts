// The MCP door beyond the fast path: everything the SDK answers, in both eras. Loaded with the first request that needs it.
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Caller, Json } from "../../contract/call.ts";
import type { Doors, RequestContext } from "../doors.ts";
import type { Exchange } from "./server.ts";
import type { ToolNames, Views } from "./views.ts";

export interface McpDoor {
  /**
   * Answers one request to `/mcp`, or to the face of one server, completely. Host, Origin, body and caller have been
   * checked; `body` is absent for GET and DELETE. False: the route is nobody's for this caller, and nothing was answered.
   */
  handle(
    req: IncomingMessage,
    res: ServerResponse,
    caller: Caller,
    body: Json | undefined,
    context: Pick<RequestContext, "traceparent" | "tracestate"> & Pick<Exchange, "held" | "span">,
    server: string | null,
  ): Promise<boolean>;
  /** Ends sessions and open streams; running calls see a cancel. */
  close(): Promise<void>;
}

export function createMcpDoor(doors: Doors, names: ToolNames, views: Views): McpDoor {
  let legs: Promise<McpDoor> | undefined;
  const open = (): Promise<McpDoor> =>
    (legs ??= import("./sdk-door.ts")
      .then(({ openSdkDoor: openLegs }) => openLegs(doors, names, views))
      .catch((cause: unknown) => {
        legs = undefined; // the next request tries again
        throw cause;
      }));
  return {
    handle: async (...request) => (await open()).handle(...request),
    close: async () => (await legs)?.close(),
  };
}
