// JSON responses and errors on node:http, before or beside the web app.
import type { IncomingMessage, ServerResponse } from "node:http";
import { AppError, CODES, faultOf } from "../../contract/errors.ts";
import type { Doors } from "../doors.ts";
import { isMcpPath } from "../mcp/views.ts";
import { discardBody } from "./body.ts";
import { isAmbiguous } from "./framing.ts";
import { faultHeaders, problemOf } from "./problem.ts";

/** The path of a request target, without its query. */
export function pathOf(url: string | undefined): string {
  const query = url?.indexOf("?") ?? -1;
  return query < 0 ? (url ?? "/") : (url ?? "/").slice(0, query);
}

/** `before`: what the connection waits for between the response and its end. */
export function sendJson(
  req: IncomingMessage,
  res: ServerResponse,
  status: number,
  body: object,
  before: ((req: IncomingMessage) => Promise<void>) | null = null,
): void {
  const text = JSON.stringify(body);
  if (!res.hasHeader("Content-Type")) res.setHeader("Content-Type", "application/json");
  res.setHeader("Cache-Control", "no-store");
  res.setHeader("Content-Length", Buffer.byteLength(text));
  res.writeHead(status);
  if (before === null || req.method === "HEAD") {
    res.end(req.method === "HEAD" ? undefined : text);
    return;
  }
  res.write(text);
  before(req).then(
    () => res.end(),
    () => res.destroy(),
  );
}

/** Sends a failure as JSON-RPC error (MCP) or problem+json; a response that has begun is cut off. */
export function sendFailure(
  doors: Doors,
  req: IncomingMessage,
  res: ServerResponse,
  cause: unknown,
  requestId: string,
): void {
  const path = pathOf(req.url);
  if (!(cause instanceof AppError)) doors.log.error({ err: cause, path }, "request failed");
  if (res.headersSent) {
    res.destroy();
    return;
  }
  res.setHeader("Request-Id", requestId);
  for (const [name, value] of Object.entries(faultHeaders(cause))) res.setHeader(name, value);
  // The rest of the body is not parsed, so the connection cannot be used again, even if all of it has arrived by now.
  const isUnread = hasBody(req) && !req.readableEnded;
  const isReset = isAmbiguous(cause);
  if (isReset || isUnread) res.setHeader("Connection", "close");
  const before = isUnread && !isReset ? discardBody : null;
  if (isMcpPath(path)) {
    const { status, body } = rpcFailure(cause);
    sendJson(req, res, status, body, before);
  } else {
    const problem = problemOf(cause, { requestId, baseUrl: doors.settings.baseUrl, path });
    res.setHeader("Content-Type", "application/problem+json");
    sendJson(req, res, problem.status, problem, before);
  }
}

function rpcFailure(cause: unknown): { status: number; body: object } {
  const fault = faultOf(cause);
  const { http, rpc, expose, title } = CODES[fault.code];
  const data = { code: fault.code, reason: fault.reason, remedy: fault.remedy };
  const error = { code: rpc, message: expose ? fault.message : title, data };
  return { status: http, body: { jsonrpc: "2.0", id: null, error } };
}

const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0;
