// An HTTP proxy spoken on streams that sandboxes hand over: absolute form, CONNECT and upgrades, each checked like any
// other request.
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { AppError } from "../../contract/errors.ts";
import type { Egress, EgressSubject } from "./egress.ts";
import { OWN_ANSWER, refusalOf, refuse } from "./proxy-messages.ts";
import { createProxyRoutes } from "./proxy-routes.ts";
import type { RequestLimits, RequestPowers } from "./request.ts";

export interface ProxyLimits {
  /** Without a byte in either direction. */
  readonly tunnelIdleMs: number;
  /** Per request or tunnel and direction. */
  readonly tunnelBytes: number;
  /** At a time, of one subject. */
  readonly connections: number;
}

export interface ProxyPowers extends Omit<RequestPowers, "limits"> {
  readonly limits: RequestLimits & ProxyLimits;
}

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
      throw new AppError("INTERNAL_SERVER_ERROR", "internal", "a stream without a subject");
    return subject;
  };
  const { forward, tunnel, upgrade } = createProxyRoutes(p, subjectOf);

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
