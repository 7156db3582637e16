// MCP requests that the SDK answers, in both eras. The SDK is loaded with the first request that needs it.
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Caller, Json } from "../../contract/call.ts";
import type { Doors, RequestContext } from "../doors.ts";
import type { McpRequest } from "./server.ts";
import type { ToolNames, Views } from "./views.ts";

export interface McpDoor {
  /**
   * Answers one request to `/mcp`, or to `/mcp/<server>`. Host, Origin, body and caller have been checked; `body` is
   * absent for GET and DELETE. False: this caller sees no such server, and nothing was answered.
   */
  handle(
    req: IncomingMessage,
    res: ServerResponse,
    caller: Caller,
    body: Json | undefined,
    context: Pick<RequestContext, "traceparent" | "tracestate"> & Pick<McpRequest, "held" | "span">,
    server: string | null,
  ): Promise<boolean>;
  /** Ends sessions and open streams; running calls see a cancel. */
  close(): Promise<void>;
}

export function createMcpDoor(doors: Doors, names: ToolNames, views: Views): McpDoor {
  let sdkDoor: Promise<McpDoor> | undefined;
  const open = (): Promise<McpDoor> =>
    (sdkDoor ??= import("./sdk-door.ts")
      .then(({ openSdkDoor: openLegs }) => openLegs(doors, names, views))
      .catch((cause: unknown) => {
        sdkDoor = undefined; // the next request tries again
        throw cause;
      }));
  return {
    handle: async (...request) => (await open()).handle(...request),
    close: async () => (await sdkDoor)?.close(),
  };
}
