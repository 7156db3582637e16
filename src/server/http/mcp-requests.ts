// Requests to `/mcp` on node:http: identify, count, read the body, then the fast path or the SDK.
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Json } from "../../contract/call.ts";
import { NO_REQUEST_SPAN } from "../../telemetry/tracing.ts";
import { JsonFault } from "../../util/json/json.ts";
import type { Doors } from "../doors.ts";
import { plainCall } from "../mcp/fast.ts";
import { noSuchServer, type FastRun } from "../mcp/fast-run.ts";
import type { McpDoor } from "../mcp/index.ts";
import { httpMcpSpan } from "../mcp/span.ts";
import type { ToolNames } from "../mcp/views.ts";
import { readBody } from "./body.ts";
import { countRequest } from "./count-request.ts";
import { identifyOrThrottle, keyOnly } from "./identify.ts";
import { parseInTurn, sendParseError } from "./parse.ts";
import type { Handovers } from "./raw/handover.ts";

export interface McpRequestPowers {
  readonly doors: Doors;
  readonly names: ToolNames;
  readonly mcp: McpDoor;
  readonly run: FastRun;
  readonly handovers: Pick<Handovers, "take">;
}

/** `server`: the upstream server that the path names; null: `/mcp` itself. */
export type AnswerMcp = (
  req: IncomingMessage,
  res: ServerResponse,
  requestId: string,
  server: string | null,
) => Promise<void>;

export function createMcpRequests(powers: McpRequestPowers): AnswerMcp {
  const { doors, names, mcp, run, handovers } = powers;
  const { settings, tracing } = doors;
  return async (req, res, requestId, server) => {
    // A call that ran in the raw HTTP reader is answered here, not run or counted again.
    const handedOver = handovers.take(req.socket);
    const at = tracing.on ? performance.now() : 0;
    const known = identifyOrThrottle(doors, req, keyOnly(req.headers));
    const caller = known instanceof Promise ? await known : known;
    const ip = doors.clients.addressOf(req);
    if (!handedOver) {
      const counted = countRequest(doors, caller, ip);
      const refused = counted instanceof Promise ? await counted : counted;
      if (refused) throw refused;
    }
    const reservation = doors.capacity.reserveBody(caller);
    res.once("close", reservation.release);
    let message: Json | undefined;
    if (req.method === "POST") {
      const bytes = await readBody(req, settings.maxBodyBytes, reservation);
      try {
        const parsed = parseInTurn(doors, bytes);
        message = parsed instanceof Promise ? await parsed : parsed;
      } catch (cause) {
        if (!(cause instanceof JsonFault)) throw cause;
        return sendParseError(res, cause, requestId);
      }
    }
    const isFast = message !== undefined && settings.fastPath && !handedOver;
    const fast = isFast ? plainCall(req, message as Json, names, server) : null;
    const span = tracing.on
      ? httpMcpSpan(doors, message, req, { at, requestId, caller })
      : NO_REQUEST_SPAN;
    try {
      const whenGone = cancelWhenGone(res);
      const response = await (handedOver ??
        (fast ? run(fast, caller, { requestId, server, span, ip, whenGone }) : undefined));
      if (typeof response === "object") {
        res.writeHead(response.status, response.headers);
        res.end(response.text, response.encoding);
        return;
      }
      res.setHeader("Request-Id", requestId);
      if (message !== undefined) doors.metrics.mcpPath("sdk");
      // A string is the id of the execution that waits for an approval.
      const context = { ...traceHeaders(req), span, held: response };
      const isAnswered = await mcp.handle(req, res, caller, message, context, server);
      if (!isAnswered) throw noSuchServer();
    } finally {
      span.end(res.statusCode);
    }
  };
}

/** A client that closes the connection before the response cancels the call. */
const cancelWhenGone = (res: ServerResponse) => (cancel: () => void) =>
  void res.once("close", () => (res.writableFinished ? undefined : cancel()));

const traceHeaders = ({ headers }: IncomingMessage) => ({
  ...singleHeader("traceparent", headers["traceparent"]),
  ...singleHeader("tracestate", headers["tracestate"]),
});

const singleHeader = <N extends string>(name: N, value: string | string[] | undefined) =>
  (typeof value === "string" ? { [name]: value } : {}) as Partial<Record<N, string>>;
