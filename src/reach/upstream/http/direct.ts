// The fast call: one POST to a server of the modern era, without the SDK. What it cannot carry it hands back undone.
import type { JsonObject } from "../../../contract/call.ts";
import type { Pooled, PooledFlow, PooledSink } from "../../egress/egress.ts";
import { parseStrict } from "../../../util/json/json.ts";
import { Deadline } from "../connection/deadline.ts";
import {
  toUpstreamFault,
  invalidResponse,
  isObject,
  rpcFault,
  statusFault,
  responseTooLarge,
} from "../connection/faults.ts";
import { parseProgress } from "../connection/pending-requests.ts";
import { rpcErrorIn, type Outgoing } from "../connection/wire.ts";
import { BlockPool, BodyBuffer } from "./body-buffer.ts";
import { eventReader } from "./events.ts";
import { headerValue, MARK } from "./headers.ts";
import type { ReadBudget, BudgetedStream } from "./read-budget.ts";
import { UpstreamFault, type ConnectionEvents, type Credential } from "../upstream.ts";

export interface Direct {
  /** Null: the server did not take it this way, and the SDK's way should be tried. */
  exchange(request: Outgoing): Promise<JsonObject | null>;
  /** Of a list that came this way: nothing in it is marked to travel as a header. */
  isPlain(list: JsonObject): boolean;
}

export interface DirectParts {
  readonly url: URL;
  readonly version: string;
  readonly credential: Credential;
  readonly pool: Pooled;
  readonly events: ConnectionEvents;
  readonly budget: ReadBudget;
  readonly maxBytes: number;
}

/** Answers by which a server says that it did not take the request: a login is needed, or it is found elsewhere. */
const NOT_TAKEN = new Set([401, 403, 405]);
const MOVED = new Set([301, 302, 303, 307, 308]);
/** A stream carries notices besides the answer. */
const STREAM_SLACK = 16_777_216;
const ERROR_BYTES = 65_536;
/** Of a body: after so many of them it is asked whether reading should rest. */
const PIECES = 512;
/** Of a stream that goes on after the answer. */
const [LINGER_MS, LINGER_BYTES] = [1_000, 4_096];

export function openDirect(p: DirectParts): Direct {
  const { origin, pathname, search } = p.url;
  const path = `${pathname}${search}`;
  const plain = new WeakSet<JsonObject>();
  const state: State = { ...p, plain, blocks: new BlockPool(), hasMoved: false };
  let lastId = 0;
  let given: Readonly<Record<string, string>> | null = null;
  let base: readonly string[] = [];

  /** The credential hands out the same object while nothing changes. */
  const baseOf = (headers: Readonly<Record<string, string>>): readonly string[] => {
    if (headers === given) return base;
    given = headers;
    const own = [
      "content-type",
      "application/json",
      "accept",
      "application/json, text/event-stream",
      "accept-encoding",
      "identity",
      "mcp-protocol-version",
      p.version,
    ];
    base = [
      ...Object.entries(headers)
        .filter(
          ([name]) =>
            !isReservedHeader(name) && !(p.credential.oauth && /^authorization$/i.test(name)),
        )
        .flat(),
      ...own,
    ];
    return base;
  };

  return {
    isPlain: (list) => plain.has(list),
    exchange(request) {
      if (state.hasMoved) return Promise.resolve(null);
      const headers = p.credential.headers();
      if (p.credential.oauth === null && !isPromise(headers)) return post(request, headers);
      return withLogin(request, headers);
    },
  };

  async function withLogin(
    request: Outgoing,
    headers: ReturnType<Credential["headers"]>,
  ): Promise<JsonObject | null> {
    const known = await headers;
    const token = (await p.credential.oauth?.tokens())?.access_token;
    return post(request, known, token);
  }

  function post(
    { method, params, options }: Outgoing,
    known: Readonly<Record<string, string>>,
    token?: string,
  ): Promise<JsonObject | null> {
    if (options.signal.aborted)
      return Promise.reject(
        new UpstreamFault("cancelled", "the call was cancelled", { dispatched: false }),
      );
    const id = ++lastId;
    const headers = ["mcp-method", method];
    const name = params["name"];
    if (typeof name === "string") headers.push("mcp-name", headerValue(name));
    if (token !== undefined) headers.push("authorization", `Bearer ${token}`);
    const sent = options.onProgress ? withToken(params, id) : params;
    const body = `{"jsonrpc":"2.0","id":${id},"method":${JSON.stringify(method)},"params":${JSON.stringify(sent)}}`;
    return new Promise((resolve, reject) => {
      const answer = new DirectResponse(id, method, options, state, resolve, reject);
      try {
        answer.flow = p.pool.send(
          { origin, path, method: "POST", headers, common: baseOf(known), body },
          answer,
        );
      } catch (cause) {
        answer.failed(cause);
      }
    });
  }
}

interface State extends DirectParts {
  readonly plain: WeakSet<JsonObject>;
  readonly blocks: BlockPool;
  /** The server points elsewhere; what may be followed is for the SDK's way to say. */
  hasMoved: boolean;
}

const isPromise = <T extends object>(value: T | Promise<T>): value is Promise<T> =>
  typeof (value as { then?: unknown }).then === "function";

/** What the protocol or the connection writes itself. */
const isReservedHeader = (name: string): boolean =>
  /^(mcp-.*|content-(type|length|encoding)|accept(-encoding)?|host|connection|transfer-encoding)$/i.test(
    name,
  );

function withToken(params: JsonObject, id: number): JsonObject {
  const meta = params["_meta"];
  return { ...params, _meta: { ...(isObject(meta) ? meta : {}), progressToken: id } };
}

/** One answer as it comes in: JSON, or events that end with it. */
class DirectResponse implements PooledSink {
  flow: PooledFlow | null = null;
  readonly #id: number;
  readonly #options: Outgoing["options"];
  readonly #parts: State;
  readonly #method: string;
  readonly #resolve: (result: JsonObject | null) => void;
  readonly #reject: (fault: UpstreamFault) => void;
  readonly #maxBytes: number;
  readonly #deadline;
  #status = 0;
  #sent = false;
  #isOver = false;
  readonly #body: BodyBuffer;
  #left: number;
  #stream: BudgetedStream | null = null;
  #read: ((chunk: Uint8Array) => number) | null = null;
  #lastProgress = -Infinity;

  constructor(
    id: number,
    method: string,
    options: Outgoing["options"],
    parts: State,
    resolve: (result: JsonObject | null) => void,
    reject: (fault: UpstreamFault) => void,
  ) {
    this.#id = id;
    this.#method = method;
    this.#options = options;
    this.#parts = parts;
    this.#body = new BodyBuffer(parts.blocks);
    this.#resolve = resolve;
    this.#reject = reject;
    this.#maxBytes = Math.min(options.maxResultBytes ?? Infinity, parts.maxBytes);
    this.#left = this.#maxBytes;
    this.#deadline = new Deadline(options.timeoutMs, () =>
      this.#stop(
        new UpstreamFault("timeout", `no answer within ${options.timeoutMs} ms`, {
          dispatched: this.#sent,
        }),
      ),
    );
    options.signal.addEventListener("abort", this.#onAbort, { once: true });
  }

  readonly #onAbort = (): void =>
    this.#stop(
      new UpstreamFault("cancelled", "the call was cancelled", { dispatched: this.#sent }),
    );

  started(): void {
    this.#sent = true;
  }

  head(status: number, headers: Parameters<PooledSink["head"]>[1]): void {
    if (status < 200) return;
    this.#status = status;
    if (MOVED.has(status)) this.#parts.hasMoved = true;
    if (NOT_TAKEN.has(status) || MOVED.has(status)) return this.#stop(null);
    if (status !== 200) return void (this.#left = ERROR_BYTES);
    const type = String(headers["content-type"] ?? "").toLowerCase();
    if (headers["content-encoding"] !== undefined && headers["content-encoding"] !== "identity")
      return this.#stop(invalidResponse("it is compressed, which nobody asked for"));
    // Nothing of what is too large anyway needs to be read.
    if (Number(headers["content-length"]) > this.#left)
      return this.#stop(responseTooLarge(this.#maxBytes));
    if (type.startsWith("text/event-stream")) {
      this.#left += STREAM_SLACK;
      const stream = (this.#stream = this.#parts.budget.stream());
      this.#read = eventReader(this.#maxBytes, (data) => {
        const message = data === null || this.#isOver ? undefined : stream.read(data);
        if (message !== undefined) this.#heard(message);
      });
    } else if (!type.startsWith("application/json")) {
      this.#stop(invalidResponse(`its content type is ${JSON.stringify(type.slice(0, 60))}`));
    }
  }

  data(chunk: Uint8Array): void {
    this.#left -= chunk.length;
    if (this.#isOver) return this.#left < 0 ? this.flow?.abort() : undefined;
    if (this.#left < 0)
      return this.#stop(this.#status === 200 ? responseTooLarge(this.#maxBytes) : this.#refused());
    if (this.#read) {
      try {
        this.#rest(this.#stream?.pauseMs(this.#read(chunk)) ?? 0);
      } catch (cause) {
        this.#stop(toUpstreamFault(cause, true));
      }
      return;
    }
    this.#body.add(chunk);
    if (this.#body.pieces % PIECES !== 0) return;
    this.#stream ??= this.#parts.budget.stream();
    this.#rest(this.#stream.pauseMs(0, PIECES));
  }

  end(): void {
    if (this.#isOver) return;
    if (this.#status !== 200) return this.#stop(this.#refused());
    if (this.#read)
      return this.#stop(
        new UpstreamFault("closed", "the stream ended without an answer", { dispatched: true }),
      );
    try {
      this.#heard(parseStrict(this.#body.bytes));
      if (!this.#isOver) this.#stop(invalidResponse("it is not the response to this request"));
    } catch (cause) {
      this.#stop(toUpstreamFault(cause, true));
    }
    this.#body.release();
  }

  failed(cause: unknown): void {
    this.#stop(toUpstreamFault(cause, this.#sent));
  }

  #refused(): UpstreamFault {
    const text = this.#body.bytes.toString("utf8");
    return rpcErrorIn(text) ?? statusFault(this.#status, text.slice(0, 300), { hasSession: false });
  }

  #heard(message: unknown): void {
    if (this.#isOver) return;
    if (!isObject(message) || message["jsonrpc"] !== "2.0")
      return this.#stop(invalidResponse("it is no JSON-RPC message"));
    const { method, params, id, result, error } = message;
    if (typeof method === "string") {
      if (id === undefined) this.#noticed(method, isObject(params) ? params : {});
      return;
    }
    if (id !== this.#id) return this.#stop(invalidResponse("it answers another request"));
    if (error !== undefined) return this.#stop(rpcFault(error));
    if (!isObject(result)) return this.#stop(invalidResponse("it has neither result nor error"));
    this.#finish();
    if (this.#method === "tools/list" && !this.#read && !this.#body.bytes.includes(MARK))
      this.#parts.plain.add(result);
    this.#resolve(result);
    // Most streams end with the answer, and their connection can be used again; nothing is wanted of one that goes on.
    if (!this.#read) return;
    this.#left = LINGER_BYTES;
    setTimeout(() => this.flow?.abort(), LINGER_MS).unref();
  }

  #rest(ms: number): void {
    if (ms === 0 || this.#isOver) return;
    this.flow?.pause();
    setTimeout(() => this.#isOver || this.flow?.resume(), ms).unref();
  }

  #noticed(method: string, params: JsonObject): void {
    if (method === "notifications/message") this.#options.onMessage?.(params);
    if (method !== "notifications/progress") return this.#parts.events.notified(method, params);
    const progress = params["progressToken"] === this.#id ? parseProgress(params) : null;
    if (!progress || progress.progress <= this.#lastProgress) return;
    this.#lastProgress = progress.progress;
    this.#deadline.restart();
    this.#options.onProgress?.(progress);
  }

  #stop(fault: UpstreamFault | null): void {
    if (this.#isOver) return;
    this.#finish();
    this.#body.release();
    this.flow?.abort();
    if (fault) this.#reject(fault);
    else this.#resolve(null);
  }

  #finish(): void {
    this.#isOver = true;
    this.#stream?.end();
    this.#deadline.end();
    this.#options.signal.removeEventListener("abort", this.#onAbort);
  }
}
