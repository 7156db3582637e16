// One transport, two users: the SDK's client for handshake and change notices, and our own requests with results as they came.
import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/client";
import type { InputAnswers, JsonObject, Progress } from "../../../contract/call.ts";
import { Deadline } from "./deadline.ts";
import {
  bodyOf,
  toUpstreamFault,
  invalidResponse,
  isObject,
  rpcFault,
  statusFault,
  statusOf,
} from "./faults.ts";
import { isQuestion, mayAsk } from "./questions.ts";
import type { RequestId } from "../stdio/messages.ts";
import { UpstreamFault, type ConnectionEvents, type RequestOptions } from "../upstream.ts";

/** Tells our fetch which request a POST belongs to; it never goes out. */
export const REQUEST_MARK = "ostiary-request";

export interface Outgoing {
  readonly method: string;
  readonly params: JsonObject;
  readonly options: RequestOptions;
  /** Arguments that travel as headers too. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

export interface Wire {
  /** For the SDK's client. */
  readonly transport: Transport;
  /** Another one for another client, over the same connection; the one before it is dead to its client. */
  renew(): Transport;
  /** Kept when a program answers the question for its era after it was given up, and speaks the modern one. */
  readonly discovered: Promise<JsonObject>;
  /** The question for its era: not asked, without an answer so far, answered. */
  readonly probe: "none" | "open" | "answered";
  exchange(request: Outgoing): Promise<JsonObject>;
  /** From our fetch: the request is on its way, or its answer cannot be read. */
  sent(mark: string): void;
  failed(mark: string, fault: UpstreamFault): void;
  /** Why it ended, when it has. */
  readonly ended: Promise<string>;
  end(why: string): void;
  /** When nothing is in flight. */
  whenIdle(): Promise<void>;
}

interface Pending {
  readonly options: RequestOptions;
  readonly deadline: Deadline;
  sent: boolean;
  lastProgress: number;
  questions: number;
  resolve(result: JsonObject): void;
  reject(fault: UpstreamFault): void;
}

/** Above what the SDK counts for itself. */
const FIRST_ID = 1_000_000;
const MAX_OPEN_QUESTIONS = 8;
const PROBE = "server/discover";
/** How the SDK's client names its probes. */
const PROBE_ID = "server-discover-probe-";
const MODERN = "2026-07-28";
const NOBODY = { code: -32_601, message: "nobody can be asked that here" };

/** What our own transport for programs tells besides. */
type Inner = Transport & {
  readonly endReason?: string | null;
  onfault?: ((id: string | number, fault: UpstreamFault) => void) | undefined;
};

export function openWire(
  inner: Inner,
  events: ConnectionEvents,
  kind: "stdio" | "http" | "sse",
): Wire {
  const pending = new Map<number, Pending>();
  const ending = Promise.withResolvers<string>();
  const idle: (() => void)[] = [];
  let nextId = FIRST_ID;
  /** Of the modern era over HTTP: closing the stream is the cancel. */
  let isModern = false;
  const discovering = Promise.withResolvers<JsonObject>();
  let probe: Wire["probe"] = "none";
  /** Of the legacy handshake that was begun while the probe had no answer. */
  let handshakeId: RequestId | null = null;
  /** Its answer is nobody's any more. */
  let staleId: RequestId | null = null;
  let isStarted = false;
  let current = facade();

  function start(): Promise<void> {
    if (isStarted) return Promise.resolve();
    isStarted = true;
    inner.onmessage = (message, extra) =>
      void (claimed(message) || current.onmessage?.(message, extra));
    inner.onerror = (cause) => {
      current.onerror?.(cause);
      // The 2024 transport would come back as another session; what is in flight is lost either way.
      if (kind === "sse" && cause.constructor.name === "SseError")
        end("the server's event stream ended");
      // Its notices do not come any more, and it cannot be reached to have them come again.
      if (
        kind === "http" &&
        cause.message.startsWith("Maximum reconnection attempts") &&
        pending.size === 0
      )
        end("the server's event stream ended");
    };
    inner.onclose = () => {
      end(inner.endReason ?? "the connection was closed");
      current.onclose?.();
    };
    inner.onfault = (id, fault) => pending.get(Number(id))?.reject(fault);
    return inner.start();
  }

  function begun(method: string, id: RequestId): void {
    if (method === PROBE) probe = "open";
    // The probe was given up for it.
    if (method === "initialize" && probe === "open") handshakeId = id;
  }

  function facade(): Transport {
    const own: Transport = {
      start,
      async send(message, options) {
        if (own !== current) return;
        if ("method" in message && "id" in message) begun(message.method, message.id);
        await inner.send(message, options);
      },
      close: () => (own === current ? inner.close() : Promise.resolve()),
      get sessionId() {
        return inner.sessionId;
      },
      get hasPerRequestStream() {
        return inner.hasPerRequestStream ?? false;
      },
      setProtocolVersion(version) {
        isModern = version >= MODERN;
        inner.setProtocolVersion?.(version);
      },
      setSupportedProtocolVersions: (versions) => inner.setSupportedProtocolVersions?.(versions),
    };
    // How the SDK tells programs from servers; a program that does not know its probe may stay silent.
    if (kind === "stdio") Object.assign(own, { stderr: null, pid: null });
    return own;
  }

  function end(why: string): void {
    ending.resolve(why);
    for (const one of [...pending.values()])
      one.reject(new UpstreamFault("closed", why, { dispatched: one.sent }));
  }

  /** True: it was for us alone. */
  function claimed(message: JSONRPCMessage): boolean {
    if (!("method" in message)) return answered(message as unknown as JsonObject);
    const params = (message.params ?? {}) as JsonObject;
    if ("id" in message) {
      if (!isQuestion(message.method)) return false;
      asked(message.id, message.method, params).catch(() => undefined);
      return true;
    }
    if (message.method === "notifications/progress") return progressed(params);
    if (message.method === "notifications/message") events.logged(logLine(params));
    events.notified(message.method, params);
    return false;
  }

  function answered({ id, result, error }: JsonObject): boolean {
    if (typeof id === "string" && id.startsWith(PROBE_ID)) {
      probe = "answered";
      if (handshakeId !== null && isObject(result) && speaksModern(result))
        discovering.resolve(result);
    }
    if (id === staleId && error !== undefined) {
      staleId = null;
      return true;
    }
    const one = pending.get(Number(id));
    if (!one) return typeof id === "number" && id >= FIRST_ID; // late: the request was given up
    if (error !== undefined) one.reject(rpcFault(error));
    else if (isObject(result)) one.resolve(result);
    else one.reject(invalidResponse("it has neither result nor error"));
    return true;
  }

  function progressed(params: JsonObject): boolean {
    const one = pending.get(Number(params["progressToken"]));
    const progress = parseProgress(params);
    if (!one || !progress || progress.progress <= one.lastProgress) return true;
    one.lastProgress = progress.progress;
    one.deadline.restart();
    one.options.onProgress?.(progress);
    return true;
  }

  async function asked(id: string | number, method: string, params: JsonObject): Promise<void> {
    const askers = [...pending.values()].filter(({ options }) => options.ask);
    const [one] = askers;
    const send = (rest: object): Promise<void> =>
      inner.send({ jsonrpc: "2.0", id, ...rest } as JSONRPCMessage);
    if (
      !one ||
      askers.length > 1 ||
      one.questions >= MAX_OPEN_QUESTIONS ||
      !mayAsk(one.options.clientCapabilities, method, params)
    )
      return send({ error: NOBODY });
    one.questions++;
    one.deadline.pause();
    let answers: InputAnswers | undefined;
    try {
      answers = await one.options.ask?.({ question: { method, params } });
    } catch {
      return await send({ error: { code: -32_603, message: "the question was not answered" } });
    } finally {
      if (--one.questions === 0) one.deadline.resume();
    }
    await send(answers?.["question"] ? { result: answers["question"] } : { error: NOBODY });
  }

  async function exchange({ method, params, options, headers }: Outgoing): Promise<JsonObject> {
    const id = nextId++;
    const giveUp = new AbortController();
    const { promise, resolve, reject } = Promise.withResolvers<JsonObject>();
    const one: Pending = {
      options,
      deadline: new Deadline(options.timeoutMs, () =>
        stop("timeout", `no answer within ${options.timeoutMs} ms`),
      ),
      sent: kind !== "http",
      lastProgress: -Infinity,
      questions: 0,
      resolve,
      reject,
    };
    const stop = (why: "timeout" | "cancelled", words: string): void => {
      reject(new UpstreamFault(why, words, { dispatched: one.sent }));
      if (!isModern || kind !== "http") tellCancelled(id, words);
      giveUp.abort();
    };
    const onAbort = (): void => stop("cancelled", "the call was cancelled");
    if (options.signal.aborted) {
      one.deadline.end();
      throw new UpstreamFault("cancelled", "the call was cancelled", { dispatched: false });
    }
    pending.set(id, one);
    options.signal.addEventListener("abort", onAbort, { once: true });
    try {
      inner
        .send(
          {
            jsonrpc: "2.0",
            id,
            method,
            params: options.onProgress ? withToken(params, id) : params,
          },
          {
            requestSignal: giveUp.signal,
            onRequestStreamEnd: () =>
              reject(
                new UpstreamFault("closed", "the stream ended without an answer", {
                  dispatched: true,
                }),
              ),
            headers: { ...headers, [REQUEST_MARK]: String(id) },
          },
        )
        .catch((cause: unknown) => reject(refused(cause, one.sent)));
      return await promise;
    } catch (cause) {
      // Others in flight hear the same, each for itself.
      if (cause instanceof UpstreamFault && cause.kind === "session_lost")
        ending.resolve(cause.message);
      throw cause;
    } finally {
      pending.delete(id);
      if (pending.size === 0) for (const tell of idle.splice(0)) tell();
      one.deadline.end();
      options.signal.removeEventListener("abort", onAbort);
    }
  }

  /** An answer that is no success: the server's own error if it sent one, else what the status says. */
  function refused(cause: unknown, sent: boolean): UpstreamFault {
    const status = statusOf(cause);
    if (status === null) return toUpstreamFault(cause, sent);
    const lost = statusFault(status, bodyOf(cause).slice(0, 300), {
      hasSession: inner.sessionId !== undefined,
      cause,
    });
    if (lost.kind === "session_lost" || lost.kind === "unauthorized") return lost;
    return rpcErrorIn(bodyOf(cause)) ?? lost;
  }

  function tellCancelled(requestId: number, reason: string): void {
    inner
      .send({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId, reason } })
      .catch(() => undefined);
  }

  return {
    get transport() {
      return current;
    },
    renew() {
      staleId = handshakeId;
      return (current = facade());
    },
    discovered: discovering.promise,
    get probe() {
      return probe;
    },
    exchange,
    sent(mark) {
      const one = pending.get(Number(mark));
      if (one) one.sent = true;
    },
    failed: (mark, fault) => pending.get(Number(mark))?.reject(fault),
    ended: ending.promise,
    end,
    whenIdle: () => new Promise((resolve) => (pending.size === 0 ? resolve() : idle.push(resolve))),
  };
}

function speaksModern({ supportedVersions }: JsonObject): boolean {
  const isModern = (version: unknown): boolean => typeof version === "string" && version >= MODERN;
  return Array.isArray(supportedVersions) && supportedVersions.some(isModern);
}

/** A JSON-RPC error in the body of an HTTP error. */
export function rpcErrorIn(body: string): UpstreamFault | null {
  try {
    const parsed: unknown = JSON.parse(body);
    return isObject(parsed) && isObject(parsed["error"]) ? rpcFault(parsed["error"]) : null;
  } catch {
    return null;
  }
}

export function parseProgress({ progress, total, message }: JsonObject): Progress | null {
  if (typeof progress !== "number") return null;
  return {
    progress,
    ...(typeof total === "number" ? { total } : {}),
    ...(typeof message === "string" ? { message } : {}),
  };
}

function withToken(params: JsonObject, id: number): JsonObject {
  const meta = params["_meta"];
  return { ...params, _meta: { ...(isObject(meta) ? meta : {}), progressToken: id } };
}

function logLine({ level, logger, data }: JsonObject): string {
  const text = typeof data === "string" ? data : JSON.stringify(data ?? null);
  return `${typeof level === "string" ? level : "info"}${typeof logger === "string" ? ` ${logger}` : ""}: ${text}`.slice(
    0,
    4_096,
  );
}
