// What the proxy reads from requests and writes as answers of its own.
import { STATUS_CODES, type IncomingMessage, type OutgoingHttpHeaders } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { AppError, CODES } from "../../contract/errors.ts";
import type { CheckedTarget } from "./egress.ts";
import { blocked, translated } from "./faults.ts";

/** Marks an answer that is the guard's and no server's (RFC 9209). */
export const OWN_ANSWER = "ostiary";

/** They speak of one connection, or of the proxy itself. */
const HOP_BY_HOP = new Set([
  "connection",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-connection",
  "proxy-status",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
  "host",
]);
/** Plain ASCII: what a client means by other bytes is not defined. */
const AUTHORITY = /^(\[[0-9a-fA-F:.]{2,45}\]|(?:(?![:[\]/?#@\\%])[!-~]){1,253}):([1-9]\d{0,4})$/;

/** Absolute form only: a proxy has no pages of its own. */
export function absoluteOf(req: IncomingMessage): string {
  const url = req.url ?? "";
  if (!/^https?:\/\/[\x21-\x7e]+$/i.test(url))
    throw new AppError(
      "BAD_REQUEST",
      "invalid_input",
      "expected an absolute URL in the request line",
      { remedy: "use this address as an HTTP proxy" },
    );
  return url;
}

/** `host:port` as a URL, so that a tunnel is checked like any request. */
export function connectUrl(authority: string): string {
  const match = AUTHORITY.exec(authority);
  const port = Number(match?.[2]);
  if (!match || port > 65_535)
    throw blocked(
      authority,
      "is not host:port",
      { at: "built in", text: "a tunnel names host and port" },
      "write it as host:port",
    );
  return port === 80
    ? `http://${match[1]}/`
    : `https://${match[1]}${port === 443 ? "" : `:${port}`}/`;
}

export function outgoing(
  req: IncomingMessage,
  { url }: CheckedTarget,
  socket: Socket,
  extra: Record<string, string>,
) {
  return {
    createConnection: () => socket,
    method: req.method ?? "GET",
    path: `${url.pathname}${url.search}`,
    headers: { ...endToEnd(req), ...extra, host: url.host },
    setHost: false,
  };
}

/** The headers that are meant for the other end, not for this connection or proxy. */
export function endToEnd(message: IncomingMessage): OutgoingHttpHeaders {
  const named = new Set(
    (message.headers.connection ?? "")
      .toLowerCase()
      .split(",")
      .map((name) => name.trim()),
  );
  return Object.fromEntries(
    Object.entries(message.headersDistinct).filter(
      ([name]) => !HOP_BY_HOP.has(name) && !named.has(name),
    ),
  );
}

export function refusalOf(cause: unknown): { status: number; text: string } {
  const known = translated("proxy", cause);
  if (!(known instanceof AppError)) return { status: 502, text: "{}" };
  const { code, reason, message, remedy } = known.fault;
  const status = code === "EXECUTION_FAILED" ? 502 : CODES[code].http;
  return { status, text: JSON.stringify({ code, reason, message, remedy }) };
}

export function refuse(stream: Duplex, cause: unknown): void {
  const { status, text } = refusalOf(cause);
  if (!stream.writable) return void stream.destroy();
  stream.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? "Refused"}\r\nContent-Type: application/json\r\nProxy-Status: ${OWN_ANSWER}\r\nContent-Length: ${Buffer.byteLength(text)}\r\nConnection: close\r\n\r\n${text}`,
  );
}
