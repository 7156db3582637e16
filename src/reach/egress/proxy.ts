// An HTTP proxy spoken on streams that sandboxes hand over: absolute form, CONNECT and upgrades, each checked as ever.
import {
  createServer,
  request as httpRequest,
  STATUS_CODES,
  type IncomingMessage,
  type OutgoingHttpHeaders,
  type ServerResponse,
} from "node:http";
import type { Socket } from "node:net";
import { pipeline, Transform, type Duplex } from "node:stream";
import { AppError, CODES } from "../../contract/errors.ts";
import { dial } from "./dial.ts";
import type { CheckedTarget, Egress, EgressSubject } from "./egress.ts";
import { bodyTooLarge, blocked, translated } from "./faults.ts";
import type { RequestLimits, RequestPowers } from "./request.ts";

export interface ProxyLimits {
  /** Without a byte in either direction. */
  readonly tunnelIdleMs: number;
  /** Per request or tunnel and direction. */
  readonly tunnelBytes: number;
  /** At a time, of one subject. */
  readonly connections: number;
}

interface ProxyPowers extends Omit<RequestPowers, "limits"> {
  readonly limits: RequestLimits & ProxyLimits;
}

/** Marks an answer that is the guard's and no server's (RFC 9209). */
const OWN_ANSWER = "ostiary";

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
/** Plain ASCII: what a client means by other bytes, nobody can tell. */
const AUTHORITY = /^(\[[0-9a-fA-F:.]{2,45}\]|(?:(?![:[\]/?#@\\%])[!-~]){1,253}):([1-9]\d{0,4})$/;

export function openProxy(p: ProxyPowers): Pick<Egress, "serve" | "close"> {
  const subjects = new WeakMap<Duplex, EgressSubject>();
  const counts = new WeakMap<EgressSubject, number>();
  const open = new Set<Duplex>();
  const server = createServer({
    maxHeaderSize: p.limits.headerBytes,
    insecureHTTPParser: false,
    keepAlive: true,
  });
  const subjectOf = (socket: Duplex): EgressSubject => {
    const subject = subjects.get(socket);
    if (!subject)
      throw new AppError("INTERNAL_SERVER_ERROR", "internal", "a stream nobody vouches for");
    return subject;
  };
  const reach = async (
    url: string,
    subject: EgressSubject,
    tls: boolean | null,
  ): Promise<{ target: CheckedTarget; socket: Socket }> => {
    const target = await p.check(url, subject);
    const socket = await dial(target, {
      signal: subject.signal,
      connectMs: p.limits.connectMs,
      tls: tls ?? target.url.protocol === "https:",
      ca: p.ca,
      connect: p.connect,
    });
    socket.on("error", () => undefined);
    subject.onHost?.(target.host);
    return { target, socket };
  };

  server.on("request", (req: IncomingMessage, res: ServerResponse) => {
    forward(req, res).catch((cause: unknown) => {
      if (res.headersSent) return void req.socket.destroy();
      const { status, text } = refusalOf(cause);
      req.resume();
      res
        .writeHead(status, {
          "content-type": "application/json",
          "proxy-status": OWN_ANSWER,
          connection: "close",
        })
        .end(text);
    });
  });
  server.on("connect", (req: IncomingMessage, stream: Duplex, head: Buffer) => {
    tunnel(req, stream, head).catch((cause: unknown) => refuse(stream, cause));
  });
  server.on("upgrade", (req: IncomingMessage, stream: Duplex, head: Buffer) => {
    upgrade(req, stream, head).catch((cause: unknown) => refuse(stream, cause));
  });
  server.on("clientError", (_cause, stream: Duplex) => {
    if (stream.writable) stream.end("HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n");
    else stream.destroy();
  });

  async function forward(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const { target, socket } = await reach(absoluteOf(req), subjectOf(req.socket), null);
    const sent = httpRequest(outgoing(req, target, socket, { connection: "close" }));
    const { headersMs } = p.limits;
    const tooLate = new AppError(
      "TIMEOUT",
      "timeout",
      `the answer took longer than ${headersMs} ms`,
    );
    const timer = setTimeout(() => sent.destroy(tooLate), headersMs);
    const answer = await new Promise<IncomingMessage>((resolve, reject) => {
      sent.once("response", resolve).on("error", reject);
      res.once("close", () => sent.destroy());
      // Its errors arrive at `sent`.
      pipeline(req, capped(target, p.limits.tunnelBytes), sent, () => undefined);
    }).finally(() => clearTimeout(timer));
    socket.setTimeout(p.limits.idleMs, () => socket.destroy());
    res.writeHead(answer.statusCode ?? 502, endToEnd(answer));
    pipeline(answer, capped(target, p.limits.tunnelBytes), res, () => socket.destroy());
  }

  async function tunnel(req: IncomingMessage, stream: Duplex, head: Buffer): Promise<void> {
    const { target, socket } = await reach(connectUrl(req.url ?? ""), subjectOf(stream), false);
    stream.write("HTTP/1.1 200 Connection Established\r\n\r\n");
    join(stream, socket, head, target);
  }

  async function upgrade(req: IncomingMessage, stream: Duplex, head: Buffer): Promise<void> {
    const { target, socket } = await reach(absoluteOf(req), subjectOf(stream), null);
    const wanted = { connection: "Upgrade", upgrade: req.headers.upgrade ?? "websocket" };
    const sent = httpRequest(outgoing(req, target, socket, wanted));
    await new Promise<void>((resolve, reject) => {
      sent.once("upgrade", (answer, _socket, first) => {
        const lines = Object.entries({ ...endToEnd(answer), ...wanted }).flatMap(([name, value]) =>
          [value ?? []].flat().map((one) => `${name}: ${String(one)}`),
        );
        stream.write(`HTTP/1.1 101 Switching Protocols\r\n${lines.join("\r\n")}\r\n\r\n`);
        if (first.length > 0) stream.write(first);
        join(stream, socket, head, target);
        resolve();
      });
      sent.once("response", (answer) => {
        stream.end(
          `HTTP/1.1 ${answer.statusCode ?? 502} ${STATUS_CODES[answer.statusCode ?? 502] ?? ""}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`,
        );
        socket.destroy();
        resolve();
      });
      sent.once("error", reject).end();
    });
  }

  function join(stream: Duplex, socket: Socket, head: Buffer, target: CheckedTarget): void {
    socket.setTimeout(p.limits.tunnelIdleMs, () => socket.destroy());
    // Two pipelines hang on each, and each of them listens several times.
    for (const side of [stream, socket]) side.setMaxListeners(30);
    if (head.length > 0) socket.write(head);
    const end = (): void => {
      socket.destroy();
      stream.destroy();
    };
    stream.once("close", end);
    pipeline(stream, capped(target, p.limits.tunnelBytes), socket, () => undefined);
    pipeline(socket, capped(target, p.limits.tunnelBytes), stream, end);
  }

  return {
    serve(connection, subject) {
      const count = counts.get(subject) ?? 0;
      connection.on("error", () => undefined);
      if (subject.signal.aborted || count >= p.limits.connections) return void connection.destroy();
      counts.set(subject, count + 1);
      subjects.set(connection, subject);
      open.add(connection);
      const stop = (): void => void connection.destroy();
      subject.signal.addEventListener("abort", stop, { once: true });
      connection.once("close", () => {
        subject.signal.removeEventListener("abort", stop);
        counts.set(subject, (counts.get(subject) ?? 1) - 1);
        open.delete(connection);
      });
      server.emit("connection", connection);
    },
    close() {
      for (const connection of open) connection.destroy();
      return Promise.resolve();
    },
  };
}

/** Absolute form only: a proxy has no pages of its own. */
function absoluteOf(req: IncomingMessage): string {
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

/** `host:port` as a URL, so that a tunnel is judged like any request. */
function connectUrl(authority: string): string {
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

function outgoing(
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

function endToEnd(message: IncomingMessage): OutgoingHttpHeaders {
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

function capped({ host }: CheckedTarget, limit: number): Transform {
  let left = limit;
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      left -= chunk.length;
      if (left < 0) done(bodyTooLarge(host, limit));
      else done(null, chunk);
    },
  });
}

function refusalOf(cause: unknown): { status: number; text: string } {
  const known = translated("proxy", cause);
  if (!(known instanceof AppError)) return { status: 502, text: "{}" };
  const { code, reason, message, remedy } = known.fault;
  const status = code === "EXECUTION_FAILED" ? 502 : CODES[code].http;
  return { status, text: JSON.stringify({ code, reason, message, remedy }) };
}

function refuse(stream: Duplex, cause: unknown): void {
  const { status, text } = refusalOf(cause);
  if (!stream.writable) return void stream.destroy();
  stream.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? "Refused"}\r\nContent-Type: application/json\r\nProxy-Status: ${OWN_ANSWER}\r\nContent-Length: ${Buffer.byteLength(text)}\r\nConnection: close\r\n\r\n${text}`,
  );
}
