// The HTTP listener: framing and Host checks first, then the handler by path. Every response carries a Request-Id.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { AppError } from "../../contract/errors.ts";
import type { Doors } from "../doors.ts";
import { createFastRun } from "../mcp/fast-run.ts";
import { createMcpDoor } from "../mcp/index.ts";
import { createToolNames, createViews, isMcpPath, serverOfPath } from "../mcp/views.ts";
import { assertFraming } from "./framing.ts";
import { createGuard, type Guard } from "./guard.ts";
import { createMcpRequests } from "./mcp-requests.ts";
import { answerHealth, answerMetrics, isHealthPath } from "./probes.ts";
import { createHandovers } from "./raw/handover.ts";
import { createRawHandler } from "./raw/handler.ts";
import { openRawReader, type RawReader } from "./raw/reader.ts";
import { pathOf, sendFailure } from "./respond.ts";

export interface HttpDoor {
  /** Resolves with the address of the listener once requests are answered. */
  listen(host: string, port: number): Promise<string>;
  /** Listens on a Unix socket as well; its file permissions decide who may connect. */
  listenAt(socket: string): Promise<void>;
  /** Stops accepting; responses under way are finished. */
  stopAccepting(): void;
  close(): Promise<void>;
}

/** Slow requests are cut off, checked every second. How long a response takes is not limited here. */
const SERVER_OPTIONS = {
  keepAliveTimeout: 65_000,
  headersTimeout: 20_000,
  requestTimeout: 30_000,
  connectionsCheckingInterval: 1_000,
  joinDuplicateHeaders: false,
};

/** Pipelined requests that one connection may have without a response. */
const MAX_UNANSWERED = 4;
/** Responses are out when the door closes; what is left then are streams and idle connections. */
const CLOSE_ALL_AFTER_MS = 250;

/** Web-standard handler of everything that is not `/mcp`; loaded with the first request that needs it. */
export type WebHandler = (req: IncomingMessage, res: ServerResponse) => Promise<void>;

export function createHttpDoor(doors: Doors, loadWeb: () => Promise<WebHandler>): HttpDoor {
  const names = createToolNames(doors.registry);
  const views = createViews(doors.engine);
  const mcp = createMcpDoor(doors, names, views);
  const run = createFastRun(doors, views);
  const handovers = createHandovers();
  const answerMcp = createMcpRequests({ doors, names, mcp, run, handovers });
  const { allowedHosts, publicUrl, fastPath } = doors.settings;
  const hosts = publicUrl === null ? allowedHosts : [...allowedHosts, new URL(publicUrl).hostname];
  let guard: Guard = createGuard(hosts, "127.0.0.1");
  let web: Promise<WebHandler> | null = null;

  async function answer(
    req: IncomingMessage,
    res: ServerResponse,
    requestId: string,
  ): Promise<void> {
    assertFraming(req, doors.clients.isProxy(req.socket.remoteAddress));
    guard.check(req);
    const path = pathOf(req.url);
    if (isMcpPath(path)) return answerMcp(req, res, requestId, serverOfPath(path));
    res.setHeader("Request-Id", requestId);
    if (isHealthPath(path)) return answerHealth(doors, path, req, res);
    if (path === "/metrics") return answerMetrics(doors, req, res);
    web ??= loadWeb();
    return (await web)(req, res);
  }

  const server = createServer(SERVER_OPTIONS, limitUnanswered(doors, answer));
  const rawReader =
    fastPath && !doors.tracing.on
      ? openRawReader(server, {
          serve: createRawHandler({ doors, names, guard: () => guard, run, handovers }),
          count: (end) => doors.metrics.rawRequest(end),
        })
      : null;
  // Prepends its listener, so that a connection is counted before anything is read from it.
  doors.connections.watch(server);

  return {
    async listen(host, port) {
      await listening(server, (ready) => server.listen(port, host, ready));
      guard = createGuard(hosts, host);
      const localUrl = urlOf(server.address() as AddressInfo);
      doors.settings.localUrl = localUrl;
      doors.settings.baseUrl = publicUrl ?? localUrl;
      return localUrl;
    },
    listenAt: (socket) => listening(server, (ready) => server.listen(socket, ready)),
    stopAccepting() {
      server.close();
      rawReader?.stop();
    },
    async close() {
      await mcp.close();
      await closeServer(server, rawReader);
    },
  };
}

/** Gives each request its id, and refuses those beyond what one connection may have without a response. */
function limitUnanswered(
  doors: Doors,
  answer: (req: IncomingMessage, res: ServerResponse, requestId: string) => Promise<void>,
) {
  const unanswered = new WeakMap<object, number>();
  return (req: IncomingMessage, res: ServerResponse): void => {
    const requestId = doors.ids.next("req", doors.now());
    const { socket } = req;
    const open = (unanswered.get(socket) ?? 0) + 1;
    unanswered.set(socket, open);
    res.once("close", () => unanswered.set(socket, (unanswered.get(socket) ?? 1) - 1));
    if (open > MAX_UNANSWERED) return sendFailure(doors, req, res, tooManyAtOnce(), requestId);
    answer(req, res, requestId).catch((cause: unknown) =>
      sendFailure(doors, req, res, cause, requestId),
    );
  };
}

const tooManyAtOnce = (): AppError =>
  new AppError(
    "TOO_MANY_REQUESTS",
    "concurrency",
    `a connection may have ${MAX_UNANSWERED} requests without an answer`,
    { remedy: "wait for an answer before the next request, or open another connection" },
  );

function listening(server: Server, listen: (ready: () => void) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    listen(() => {
      server.removeListener("error", reject);
      resolve();
    });
  });
}

function urlOf({ family, address, port }: AddressInfo): string {
  return `http://${family === "IPv6" ? `[${address}]` : address}:${port}`;
}

function closeServer(server: Server, rawReader: RawReader | null): Promise<void> {
  server.closeIdleConnections();
  rawReader?.stop();
  return new Promise((resolve) => {
    const closeAll = setTimeout(() => {
      server.closeAllConnections();
      rawReader?.closeAll();
    }, CLOSE_ALL_AFTER_MS);
    server.close(() => {
      clearTimeout(closeAll);
      resolve();
    });
  });
}
