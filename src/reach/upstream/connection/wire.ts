// One transport, two users: the SDK's client for handshake and change notices, and our own requests with results as
// they came.
import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/client";
import type { InputAnswers, JsonObject } from "../../../contract/call.ts";
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
import { EraProbe, MODERN_VERSION } from "./era-probe.ts";
import { PendingRequests, type PendingRequest } from "./pending-requests.ts";
import { UpstreamFault, type ConnectionEvents, type RequestOptions } from "../upstream.ts";

/** Links a POST to its request for our fetch; it is never sent. */
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

const MAX_OPEN_QUESTIONS = 8;
const NOT_SUPPORTED = { code: -32_601, message: "nobody can be asked that here" };

type TransportKind = "stdio" | "http" | "sse";

/** Our own transport for programs reports two things more than the SDK's. */
type Inner = Transport & {
  readonly endReason?: string | null;
  onfault?: ((id: string | number, fault: UpstreamFault) => void) | undefined;
};

export const openWire = (inner: Inner, events: ConnectionEvents, kind: TransportKind): Wire =>
  new SharedTransport(inner, events, kind);

class SharedTransport implements Wire {
  readonly #inner: Inner;
  readonly #events: ConnectionEvents;
  readonly #kind: TransportKind;
  readonly #pending = new PendingRequests();
  readonly #probe = new EraProbe();
  readonly #ending = Promise.withResolvers<string>();
  /** Of the modern era over HTTP: closing the stream is the cancel. */
  #isModern = false;
  #isStarted = false;
  #current: Transport;

  constructor(inner: Inner, events: ConnectionEvents, kind: TransportKind) {
    this.#inner = inner;
    this.#events = events;
    this.#kind = kind;
    this.#current = this.#facade();
  }

  get transport(): Transport {
    return this.#current;
  }

  renew(): Transport {
    this.#probe.replaceHandshake();
    return (this.#current = this.#facade());
  }

  get discovered(): Promise<JsonObject> {
    return this.#probe.discovered;
  }

  get probe(): Wire["probe"] {
    return this.#probe.state;
  }

  get ended(): Promise<string> {
    return this.#ending.promise;
  }

  sent(mark: string): void {
    const one = this.#pending.get(mark);
    if (one) one.sent = true;
  }

  failed(mark: string, fault: UpstreamFault): void {
    this.#pending.get(mark)?.reject(fault);
  }

  end(why: string): void {
    this.#ending.resolve(why);
    this.#pending.rejectAll(why);
  }

  whenIdle(): Promise<void> {
    return this.#pending.whenIdle();
  }

  async exchange({ method, params, options, headers }: Outgoing): Promise<JsonObject> {
    const id = this.#pending.newId();
    const giveUp = new AbortController();
    const { promise, resolve, reject } = Promise.withResolvers<JsonObject>();
    const one: PendingRequest = {
      options,
      deadline: new Deadline(options.timeoutMs, () =>
        stop("timeout", `no answer within ${options.timeoutMs} ms`),
      ),
      sent: this.#kind !== "http",
      lastProgress: -Infinity,
      questions: 0,
      resolve,
      reject,
    };
    const stop = (why: "timeout" | "cancelled", message: string): void => {
      reject(new UpstreamFault(why, message, { dispatched: one.sent }));
      if (!this.#isModern || this.#kind !== "http") this.#sendCancelled(id, message);
      giveUp.abort();
    };
    const onAbort = (): void => stop("cancelled", "the call was cancelled");
    if (options.signal.aborted) {
      one.deadline.end();
      throw new UpstreamFault("cancelled", "the call was cancelled", { dispatched: false });
    }
    this.#pending.add(id, one);
    options.signal.addEventListener("abort", onAbort, { once: true });
    try {
      this.#inner
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
        .catch((cause: unknown) => reject(this.#sendFault(cause, one.sent)));
      return await promise;
    } catch (cause) {
      // Other requests in flight get the same answer, each for itself.
      if (cause instanceof UpstreamFault && cause.kind === "session_lost")
        this.#ending.resolve(cause.message);
      throw cause;
    } finally {
      this.#pending.remove(id);
      one.deadline.end();
      options.signal.removeEventListener("abort", onAbort);
    }
  }

  /** What a client of the SDK holds; only the newest one is connected. */
  #facade(): Transport {
    const inner = this.#inner;
    const isCurrent = (): boolean => own === this.#current;
    const own: Transport = {
      start: () => this.#start(),
      send: async (message, options) => {
        if (!isCurrent()) return;
        if ("method" in message && "id" in message)
          this.#probe.requested(message.method, message.id);
        await inner.send(message, options);
      },
      close: () => (isCurrent() ? inner.close() : Promise.resolve()),
      get sessionId() {
        return inner.sessionId;
      },
      get hasPerRequestStream() {
        return inner.hasPerRequestStream ?? false;
      },
      setProtocolVersion: (version) => {
        this.#isModern = version >= MODERN_VERSION;
        inner.setProtocolVersion?.(version);
      },
      setSupportedProtocolVersions: (versions) => inner.setSupportedProtocolVersions?.(versions),
    };
    // How the SDK recognises a program, which may stay silent when it does not know the probe.
    if (this.#kind === "stdio") Object.assign(own, { stderr: null, pid: null });
    return own;
  }

  #start(): Promise<void> {
    if (this.#isStarted) return Promise.resolve();
    this.#isStarted = true;
    const inner = this.#inner;
    inner.onmessage = (message, extra) =>
      void (this.#handles(message) || this.#current.onmessage?.(message, extra));
    inner.onerror = (cause) => {
      this.#current.onerror?.(cause);
      if (this.#losesStream(cause)) this.end("the server's event stream ended");
    };
    inner.onclose = () => {
      this.end(inner.endReason ?? "the connection was closed");
      this.#current.onclose?.();
    };
    inner.onfault = (id, fault) => this.#pending.get(id)?.reject(fault);
    return inner.start();
  }

  #losesStream(cause: Error): boolean {
    // The transport of 2024 would come back as another session; what is in flight is lost either way.
    if (this.#kind === "sse") return cause.constructor.name === "SseError";
    // No further notifications come, and the server cannot be reached to ask for them again.
    return (
      this.#kind === "http" &&
      cause.message.startsWith("Maximum reconnection attempts") &&
      this.#pending.size === 0
    );
  }

  /** True: the message was for us alone, and the SDK's client must not see it. */
  #handles(message: JSONRPCMessage): boolean {
    if (!("method" in message)) return this.#answered(message as unknown as JsonObject);
    const params = (message.params ?? {}) as JsonObject;
    if ("id" in message) {
      if (!isQuestion(message.method)) return false;
      this.#asked(message.id, message.method, params).catch(() => undefined);
      return true;
    }
    if (message.method === "notifications/progress") {
      this.#pending.progressed(params);
      return true;
    }
    if (message.method === "notifications/message") this.#events.logged(logLine(params));
    this.#events.notified(message.method, params);
    return false;
  }

  #answered(message: JsonObject): boolean {
    if (this.#probe.answered(message)) return true;
    const { id, result, error } = message;
    const one = this.#pending.get(id);
    if (!one) return this.#pending.isOurs(id); // late: the request was given up
    if (error !== undefined) one.reject(rpcFault(error));
    else if (isObject(result)) one.resolve(result);
    else one.reject(invalidResponse("it has neither result nor error"));
    return true;
  }

  async #asked(id: string | number, method: string, params: JsonObject): Promise<void> {
    const one = this.#pending.asker();
    const send = (rest: object): Promise<void> =>
      this.#inner.send({ jsonrpc: "2.0", id, ...rest } as JSONRPCMessage);
    if (
      !one ||
      one.questions >= MAX_OPEN_QUESTIONS ||
      !mayAsk(one.options.clientCapabilities, method, params)
    )
      return send({ error: NOT_SUPPORTED });
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
    await send(answers?.["question"] ? { result: answers["question"] } : { error: NOT_SUPPORTED });
  }

  /** A request that was refused: the server's own error if it sent one, else what the status says. */
  #sendFault(cause: unknown, sent: boolean): UpstreamFault {
    const status = statusOf(cause);
    if (status === null) return toUpstreamFault(cause, sent);
    const fault = statusFault(status, bodyOf(cause).slice(0, 300), {
      hasSession: this.#inner.sessionId !== undefined,
      cause,
    });
    if (fault.kind === "session_lost" || fault.kind === "unauthorized") return fault;
    return rpcErrorIn(bodyOf(cause)) ?? fault;
  }

  #sendCancelled(requestId: number, reason: string): void {
    this.#inner
      .send({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId, reason } })
      .catch(() => undefined);
  }
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
