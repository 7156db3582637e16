// The lane in front of node:http: plain calls are answered on the bare socket, without its streams and objects. It is no
// second HTTP server: what it does not know as plain, node:http reads from the first byte.
import { STATUS_CODES, type Server } from "node:http";
import type { Socket } from "node:net";
import {
  Connection,
  type Crossing,
  type LaneLimits,
  type LanePowers,
  type LaneReply,
} from "./connection.ts";

export interface Lane {
  /** Answers under way are finished; connections without one are closed. */
  stop(): void;
  closeAll(): void;
}

/** node:http closes a second after the time it names, so that no request crosses with the end. */
const EARLIER_MS = 1_000;

/** New connections of the server begin in the lane. */
export function openLane(server: Server, powers: LanePowers): Lane {
  const [toHttp] = server.listeners("connection");
  if (!toHttp) throw new Error("the server takes no connections");
  const open = new Set<Connection>();
  const date = currentDate();
  const { keepAliveTimeout, headersTimeout } = server;
  const limits: LaneLimits = { firstMs: headersTimeout, idleMs: keepAliveTimeout + EARLIER_MS };
  const kept = `Connection: keep-alive\r\nKeep-Alive: timeout=${Math.floor(keepAliveTimeout / 1_000)}\r\n\r\n`;
  let isStopping = false;
  const crossing: Crossing = {
    ...powers,
    ...limits,
    open,
    get isStopping() {
      return isStopping;
    },
    wire: (reply, isLast) =>
      `${headOf(reply)}Date: ${date()}\r\n${isLast ? LAST : kept}${reply.text}`,
    toHttp: (socket) => void Reflect.apply(toHttp, server, [socket]),
  };
  server.removeListener("connection", toHttp as () => void);
  server.on("connection", (socket: Socket) => void new Connection(socket, crossing));
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

const LAST = "Connection: close\r\n\r\n";

function headOf({ status, headers }: LaneReply): string {
  let head = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? "unknown"}\r\n`;
  for (let at = 0; at < headers.length; at += 2) head += `${headers[at]}: ${headers[at + 1]}\r\n`;
  return head;
}

/** Made once a second, as node:http does. */
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
