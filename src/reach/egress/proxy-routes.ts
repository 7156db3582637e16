// The three ways through the proxy: a request in absolute form, a tunnel (CONNECT), an upgrade.
import {
  request as httpRequest,
  STATUS_CODES,
  type IncomingMessage,
  type ServerResponse,
} from "node:http";
import type { Socket } from "node:net";
import { pipeline, Transform, type Duplex } from "node:stream";
import { AppError } from "../../contract/errors.ts";
import { dial } from "./dial.ts";
import type { CheckedTarget, EgressSubject } from "./egress.ts";
import { bodyTooLarge } from "./faults.ts";
import { absoluteOf, connectUrl, endToEnd, outgoing } from "./proxy-messages.ts";
import type { ProxyPowers } from "./proxy.ts";

/** Each rejects before anything is answered when the target is refused or cannot be reached. */
export interface ProxyRoutes {
  forward(req: IncomingMessage, res: ServerResponse): Promise<void>;
  tunnel(req: IncomingMessage, stream: Duplex, head: Buffer): Promise<void>;
  upgrade(req: IncomingMessage, stream: Duplex, head: Buffer): Promise<void>;
}

export function createProxyRoutes(
  p: ProxyPowers,
  subjectOf: (stream: Duplex) => EgressSubject,
): ProxyRoutes {
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

  return { forward, tunnel, upgrade };
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
