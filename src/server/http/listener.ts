// The listener: guards first, then the door by its path. Every answer carries a Request-Id.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Caller, Json } from "../../contract/call.ts";
import { AppError, CODES, faultOf } from "../../contract/errors.ts";
import type { Credentials } from "../../core/identity/index.ts";
import { NO_REQUEST_SPAN } from "../../telemetry/tracing.ts";
import { JsonFault, parseStrict } from "../../util/json/json.ts";
import { LARGE } from "../../util/async/time-slices.ts";
import { discardBody, readBody } from "./body.ts";
import { counted } from "./counted.ts";
import type { Doors } from "../doors.ts";
import { assertFraming, isAmbiguous } from "./framing.ts";
import { createGuard, type Guard } from "./guard.ts";
import { openLane } from "./raw/reader.ts";
import { createServe } from "./raw/serve.ts";
import { fastCall } from "../mcp/fast.ts";
import { createFastRun, noSuchServer, type FastRun } from "../mcp/fast-run.ts";
import { createMcpDoor } from "../mcp/index.ts";
import { httpMcpSpan } from "../mcp/span.ts";
import { createNames, createViews, isMcp, serverIn } from "../mcp/views.ts";
import { sessionCookie } from "./origin.ts";
import { faultHeaders, problemOf } from "./problem.ts";

export interface HttpDoor {
  /** Resolves with the address of the listener once requests are answered. */
  listen(host: string, port: number): Promise<string>;
  /** The same at a socket of this machine, for processes that its rights let in. */
  listenAt(socket: string): Promise<void>;
  /** Stops accepting; answers under way are finished. */
  stopAccepting(): void;
  close(): Promise<void>;
}

const SCRAPE = "metrics:read";
/** A client that trickles its request is cut off, looked for every second; how long an answer takes is another matter. */
const TIMES = {
  keepAliveTimeout: 65_000,
  headersTimeout: 20_000,
  requestTimeout: 30_000,
  connectionsCheckingInterval: 1_000,
  joinDuplicateHeaders: false,
};

/** Requests that one connection may send before it has the answer to the first: the others come after those of everybody. */
const MAX_UNANSWERED = 4;

const tooManyAtOnce = (): AppError =>
  new AppError(
    "TOO_MANY_REQUESTS",
    "concurrency",
    `a connection may have ${MAX_UNANSWERED} requests without an answer`,
    { remedy: "wait for an answer before the next request, or open another connection" },
  );

/** Web-standard handler of everything that is not `/mcp`; loaded with the first request that needs it. */
export type WebHandler = (req: IncomingMessage, res: ServerResponse) => Promise<void>;

export function createHttpDoor(doors: Doors, loadWeb: () => Promise<WebHandler>): HttpDoor {
  const names = createNames(doors.registry);
  const views = createViews(doors.engine);
  const mcp = createMcpDoor(doors, names, views);
  const run = createFastRun(doors, views);
  const begun = new WeakMap<object, ReturnType<FastRun>>();
  const { allowedHosts, publicUrl } = doors.settings;
  const hosts = publicUrl === null ? allowedHosts : [...allowedHosts, new URL(publicUrl).hostname];
  let guard: Guard = createGuard(hosts, "127.0.0.1");
  let web: Promise<WebHandler> | null = null;

  const unanswered = new WeakMap<object, number>();

  const server: Server = createServer(TIMES, (req, res) => {
    const requestId = doors.ids.next("req", doors.now());
    const { socket } = req;
    const open = (unanswered.get(socket) ?? 0) + 1;
    unanswered.set(socket, open);
    res.once("close", () => unanswered.set(socket, (unanswered.get(socket) ?? 1) - 1));
    if (open > MAX_UNANSWERED) return fail(doors, req, res, tooManyAtOnce(), requestId);
    answer(req, res, requestId).catch((cause: unknown) => fail(doors, req, res, cause, requestId));
  });
  const lane =
    doors.settings.fastPath && !doors.tracing.on
      ? openLane(server, {
          serve: createServe({ doors, names, guard: () => guard, run, begun }),
          counted: (end) => doors.metrics.lane(end),
        })
      : null;

  // Counted before anybody reads from it.
  doors.connections.watch(server);

  async function answer(
    req: IncomingMessage,
    res: ServerResponse,
    requestId: string,
  ): Promise<void> {
    assertFraming(req, doors.clients.isProxy(req.socket.remoteAddress));
    guard.check(req);
    const path = pathOf(req.url);
    if (isMcp(path)) return answerMcp(req, res, requestId, serverIn(path));
    res.setHeader("Request-Id", requestId);
    if (path === "/healthz" || path === "/readyz") return answerHealth(path, req, res);
    if (path === "/metrics") return answerMetrics(req, res);
    web ??= loadWeb();
    return (await web)(req, res);
  }

  async function answerMcp(
    req: IncomingMessage,
    res: ServerResponse,
    requestId: string,
    server: string | null,
  ): Promise<void> {
    // One that was handed over after it ran is answered, not run again.
    const ended = begun.get(req.socket);
    begun.delete(req.socket);
    const at = doors.tracing.on ? performance.now() : 0;
    const { authorization, traceparent, tracestate } = req.headers;
    // Agents bring a key. The console's cookie would travel with requests of other local pages too.
    const known = knownCaller(req, { authorization, cookie: undefined });
    const caller = known instanceof Promise ? await known : known;
    // Of one that ran the lane has counted it.
    if (!ended) {
      const refused = counted(doors, caller, doors.clients.addressOf(req));
      if (refused) assertMay(refused instanceof Promise ? await refused : refused);
    }
    const room = doors.rooms.body(caller);
    res.once("close", room.release);
    const bytes =
      req.method === "POST" ? await readBody(req, doors.settings.maxBodyBytes, room) : null;
    if (bytes && bytes.length >= LARGE) await doors.turns.next();
    const body = bytes ? parseRpc(bytes, res, requestId) : undefined;
    if (bytes && body === undefined) return;
    const fast =
      body !== undefined && doors.settings.fastPath && !ended
        ? fastCall(req, body, names, server)
        : null;
    const span = doors.tracing.on
      ? httpMcpSpan(doors, body, req, { at, requestId, caller })
      : NO_REQUEST_SPAN;
    try {
      const ip = doors.clients.addressOf(req);
      const whenGone = cancelWhenGone(res);
      const end = await (ended ??
        (fast ? run(fast, caller, { requestId, server, span, ip, whenGone }) : undefined));
      if (typeof end === "object") {
        res.writeHead(end.status, end.headers);
        res.end(end.text, end.encoding);
        return;
      }
      res.setHeader("Request-Id", requestId);
      const context = {
        ...textOf("traceparent", traceparent),
        ...textOf("tracestate", tracestate),
        span,
      };
      if (bytes) doors.metrics.mcpPath("sdk");
      const known = await mcp.handle(req, res, caller, body, { ...context, held: end }, server);
      if (!known) throw noSuchServer();
    } finally {
      span.end(res.statusCode);
    }
  }

  /** Who keeps guessing credentials is told to wait. */
  function knownCaller(req: IncomingMessage, credentials: Credentials): Caller | Promise<Caller> {
    const refused = (cause: unknown): never => {
      throw doors.attempts.refused(cause, doors.clients.addressOf(req));
    };
    const met = (caller: Caller): Caller => {
      doors.connections.know(req.socket, caller);
      return caller;
    };
    try {
      const known = doors.identity.identify(credentials, req.socket);
      return known instanceof Promise ? known.then(met, refused) : met(known);
    } catch (cause) {
      return refused(cause);
    }
  }

  async function answerHealth(
    path: string,
    req: IncomingMessage,
    res: ServerResponse,
  ): Promise<void> {
    const body = path === "/healthz" ? { status: "ok" } : await doors.health.check();
    send(req, res, "ready" in body && !body.ready ? 503 : 200, body);
  }

  async function answerMetrics(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const { authorization, cookie } = req.headers;
    const session = sessionCookie(doors.settings, cookie);
    const caller = await knownCaller(req, { authorization, cookie: session });
    // Watching the server uses nobody's requests up; an address that nobody answers for is counted all the same.
    if (caller.via === "anonymous")
      assertMay(doors.attempts.anonymous(doors.clients.addressOf(req)));
    assertMayScrape(caller);
    const text = await doors.metrics.text();
    res.writeHead(200, { "Content-Type": doors.metrics.contentType, "Cache-Control": "no-store" });
    res.end(text);
  }

  return {
    listen: (host, port) =>
      new Promise((resolve, reject) => {
        server.once("error", reject);
        server.listen(port, host, () => {
          server.removeListener("error", reject);
          const bound = server.address() as AddressInfo;
          guard = createGuard(hosts, host);
          const name = bound.family === "IPv6" ? `[${bound.address}]` : bound.address;
          const localUrl = `http://${name}:${bound.port}`;
          doors.settings.localUrl = localUrl;
          doors.settings.baseUrl = publicUrl ?? localUrl;
          resolve(localUrl);
        });
      }),
    listenAt: (socket) =>
      new Promise((resolve, reject) => {
        server.once("error", reject);
        server.listen(socket, () => {
          server.removeListener("error", reject);
          resolve();
        });
      }),
    stopAccepting() {
      server.close();
      lane?.stop();
    },
    async close() {
      await mcp.close();
      server.closeIdleConnections();
      lane?.stop();
      await new Promise<void>((resolve) => {
        // Answers are out by now; what is left are streams and idle connections.
        const hurry = setTimeout(() => {
          server.closeAllConnections();
          lane?.closeAll();
        }, 250);
        server.close(() => {
          clearTimeout(hurry);
          resolve();
        });
      });
    },
  };
}

function assertMay(refused: AppError | null): void {
  if (refused) throw refused;
}

/** A client that closes the connection before the answer cancels the call. */
const cancelWhenGone = (res: ServerResponse) => (cancel: () => void) =>
  void res.once("close", () => (res.writableFinished ? undefined : cancel()));

/** The page names everybody's tools: whoever may not see them all needs a scope that says so, which `*` does not. */
function assertMayScrape({ role, scopes }: Caller): void {
  if (role === "admin" || scopes.includes(SCRAPE)) return;
  throw new AppError(
    "FORBIDDEN",
    "scope_missing",
    `/metrics is for administrators and for keys with scope ${SCRAPE}`,
    {
      remedy: `ask an administrator for a key: ostiary keys create prometheus --user <id> --scope ${SCRAPE}`,
    },
  );
}

/** Undefined when the body is no message: the JSON-RPC error has been sent. */
function parseRpc(bytes: Buffer, res: ServerResponse, requestId: string): Json | undefined {
  try {
    return parseStrict(bytes);
  } catch (cause) {
    if (!(cause instanceof JsonFault)) throw cause;
    const code = cause.kind === "syntax" ? -32700 : -32600;
    const text = JSON.stringify({
      jsonrpc: "2.0",
      id: null,
      error: { code, message: cause.message },
    });
    const status = cause.kind === "size" ? 413 : 400;
    res.writeHead(status, { "Content-Type": "application/json", "Request-Id": requestId });
    res.end(text);
    return undefined;
  }
}

function fail(
  doors: Doors,
  req: IncomingMessage,
  res: ServerResponse,
  cause: unknown,
  requestId: string,
): void {
  const fault = faultOf(cause);
  const path = pathOf(req.url);
  if (!(cause instanceof AppError)) doors.log.error({ err: cause, path }, "request failed");
  if (res.headersSent) {
    res.destroy();
    return;
  }
  res.setHeader("Request-Id", requestId);
  for (const [name, value] of Object.entries(faultHeaders(cause))) res.setHeader(name, value);
  // What is left of the body is not read: the connection cannot be used again. Whether it has arrived is a matter of luck.
  const isUnread = hasBody(req) && !req.readableEnded;
  const isReset = isAmbiguous(cause);
  if (isReset || isUnread) res.setHeader("Connection", "close");
  const rest = isUnread && !isReset ? discardBody : null;
  if (isMcp(path)) {
    const { http, rpc, expose, title } = CODES[fault.code];
    const data = { code: fault.code, reason: fault.reason, remedy: fault.remedy };
    const error = { code: rpc, message: expose ? fault.message : title, data };
    send(req, res, http, { jsonrpc: "2.0", id: null, error }, rest);
  } else {
    const problem = problemOf(cause, { requestId, baseUrl: doors.settings.baseUrl, path });
    res.setHeader("Content-Type", "application/problem+json");
    send(req, res, problem.status, problem, rest);
  }
}

const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0;

/** `before`: what the connection waits for between the answer and its end. */
function send(
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

/** A header that is there once. */
const textOf = <N extends string>(name: N, value: string | string[] | undefined) =>
  (typeof value === "string" ? { [name]: value } : {}) as Partial<Record<N, string>>;

function pathOf(url: string | undefined): string {
  const query = url?.indexOf("?") ?? -1;
  return query < 0 ? (url ?? "/") : (url ?? "/").slice(0, query);
}
