// The raw HTTP reader in front of node:http: plain calls are answered on the socket itself, without streams and request
// objects. It is no second HTTP server: any other request is read by node:http from its first byte.
import { STATUS_CODES, type Server } from "node:http";
import type { Socket } from "node:net";
import {
  RawConnection,
  type RawReaderContext,
  type RawReaderLimits,
  type RawReaderPowers,
  type RawReply,
} from "./connection.ts";

export interface RawReader {
  /** Responses under way are finished; idle connections are closed. */
  stop(): void;
  closeAll(): void;
}

/** The announced time is a second shorter than the real one, as in node:http: clients must not send while we close. */
const KEEP_ALIVE_BUFFER_MS = 1_000;

/** New connections of the server begin in the raw reader. */
export function openRawReader(server: Server, powers: RawReaderPowers): RawReader {
  const [toHttp] = server.listeners("connection");
  if (!toHttp) throw new Error("the server takes no connections");
  const open = new Set<RawConnection>();
  const date = currentDate();
  const { keepAliveTimeout, headersTimeout } = server;
  const limits: RawReaderLimits = {
    firstMs: headersTimeout,
    idleMs: keepAliveTimeout + KEEP_ALIVE_BUFFER_MS,
  };
  const keepAlive = `Connection: keep-alive\r\nKeep-Alive: timeout=${Math.floor(keepAliveTimeout / 1_000)}\r\n\r\n`;
  let isStopping = false;
  const context: RawReaderContext = {
    ...powers,
    ...limits,
    open,
    get isStopping() {
      return isStopping;
    },
    serialize: (reply, isLast) =>
      `${headOf(reply)}Date: ${date()}\r\n${isLast ? CLOSE : keepAlive}${reply.text}`,
    toHttp: (socket) => void Reflect.apply(toHttp, server, [socket]),
  };
  server.removeListener("connection", toHttp as () => void);
  server.on("connection", (socket: Socket) => void new RawConnection(socket, context));
  return {
    stop() {
      isStopping = true;
      for (const connection of open) connection.closeIdle();
    },
    closeAll() {
      for (const connection of open) connection.close();
    },
  };
}

const CLOSE = "Connection: close\r\n\r\n";

function headOf({ status, headers }: RawReply): string {
  let head = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? "unknown"}\r\n`;
  for (let at = 0; at < headers.length; at += 2) head += `${headers[at]}: ${headers[at + 1]}\r\n`;
  return head;
}

/** Formatted once a second, as node:http does. */
function currentDate(): () => string {
  let second = -1;
  let text = "";
  return () => {
    const now = Math.floor(Date.now() / 1_000);
    if (now !== second) {
      second = now;
      text = new Date(now * 1_000).toUTCString();
    }
    return text;
  };
}
