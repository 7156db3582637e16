// stdio ⇄ HTTP: a client that speaks stdio reaches the running server, which decides and records as for anyone else.
import { Agent } from "node:http";
import type { Readable, Writable } from "node:stream";
import type { Json, JsonObject } from "../../contract/call.ts";
import { type BridgeResponse, exchange, type Target } from "./bridge-http.ts";
import { readLines } from "./lines.ts";
import { isObject } from "../mcp/json-rpc.ts";

/** Where a server answers MCP, e.g. `http://127.0.0.1:3100/mcp`, or a socket of this machine. */
export interface Place {
  readonly url: string;
  readonly socketPath?: string | undefined;
}

export interface BridgeOptions extends Place {
  readonly key: string;
  /** Asked for another address when the server no longer answers. Left out, the client gets an error. */
  readonly relocate?: (from: Place) => Promise<Place>;
  readonly input?: Readable;
  readonly output?: Writable;
  readonly maxLineBytes?: number;
}

const META = "io.modelcontextprotocol/protocolVersion";
/** Answers under way when stdin ends are given this long before they are cancelled. */
const LAST_ANSWERS_MS = 1_000;
const MAX_LINE_BYTES = 16 * 1024 * 1024;
const NOBODY_THERE = ["ECONNREFUSED", "ENOENT"];
const CUT_OFF = ["ECONNRESET", "EPIPE"];
const CUT =
  "the Ostiary process that served this request has ended; whether the call ran is in its record (ostiary history)";
const codeOf = (cause: unknown): string => (cause as NodeJS.ErrnoException).code ?? "";

/** Resolves when stdin has ended and the last answers are out. */
export async function bridgeStdio(options: BridgeOptions): Promise<void> {
  const { input = process.stdin, output = process.stdout } = options;
  const bridge = new Bridge(
    options,
    (message) => void output.write(`${JSON.stringify(message)}\n`),
  );
  try {
    for await (const line of readLines(input, options.maxLineBytes ?? MAX_LINE_BYTES)) {
      await bridge.receive(line);
    }
    await bridge.drain(LAST_ANSWERS_MS);
  } finally {
    await bridge.close();
  }
}

class Bridge {
  #target: Target;
  #place: Place;
  readonly #relocate: BridgeOptions["relocate"];
  #moving: Promise<void> | null = null;
  readonly #emit: (message: Json) => void;
  readonly #running = new Map<Json, { abort: AbortController; done: Promise<void> }>();
  readonly #closing = new AbortController();
  /** Legacy state: the handshake as it was sent, so that a session the server dropped can be opened again. */
  #session: { id: string | null; version: string | null; initialize: JsonObject } | null = null;

  constructor(options: BridgeOptions, emit: (message: Json) => void) {
    const { url, socketPath, key, relocate } = options;
    this.#place = { url, socketPath };
    this.#relocate = relocate;
    this.#target = { url: new URL(url), socketPath, key, agent: new Agent({ keepAlive: true }) };
    this.#emit = emit;
  }

  /** Requests run side by side; handshake and notifications keep their order. */
  async receive(line: Buffer): Promise<void> {
    let message: Json;
    try {
      message = JSON.parse(line.toString("utf8")) as Json;
    } catch {
      this.#emit({ jsonrpc: "2.0", id: null, error: { code: -32700, message: "Parse error" } });
      return;
    }
    if (!isObject(message) || typeof message["method"] !== "string") {
      return this.#post(line, message); // a batch or an answer to the server; anything else it will refuse
    }
    const id = message["id"];
    if (id === undefined) return this.#notify(line, message);
    const abort = new AbortController();
    const done = this.#post(line, message, abort.signal).finally(() => this.#running.delete(id));
    this.#running.set(id, { abort, done });
    if (message["method"] === "initialize") await done;
  }

  async #notify(line: Buffer, message: JsonObject): Promise<void> {
    const params = message["params"];
    if (message["method"] === "notifications/cancelled" && isObject(params)) {
      const running = this.#running.get(params["requestId"] ?? null);
      // A legacy session cancels by the notice, the modern era by closing the response; no answer is to come.
      if (this.#session?.id) await this.#post(line, message);
      running?.abort.abort();
      return;
    }
    await this.#post(line, message);
    if (message["method"] === "notifications/initialized") this.#listen();
  }

  async #post(line: Buffer, message: Json, signal?: AbortSignal): Promise<void> {
    try {
      let answer = await this.#send(line, message, signal);
      if (answer.status === 404 && this.#session?.id && !isModern(message)) {
        await answer.discard();
        await this.#reopen();
        answer = await this.#send(line, message, signal);
      }
      await this.#relay(answer, message);
    } catch (cause) {
      if (signal?.aborted || this.#closing.signal.aborted) return;
      const text = cause instanceof Error ? cause.message : String(cause);
      this.#fail(message, this.#isCut(cause) ? CUT : `the Ostiary server did not answer: ${text}`);
    }
  }

  async #send(body: Buffer, message: Json, signal?: AbortSignal): Promise<BridgeResponse> {
    const signals = [this.#closing.signal, ...(signal ? [signal] : [])];
    const outgoing = {
      method: "POST" as const,
      body,
      headers: this.#headers(message),
      signal: AbortSignal.any(signals),
    };
    const target = this.#target;
    try {
      return await exchange(target, outgoing);
    } catch (cause) {
      // No connection came about, so nothing was sent: it can be sent to another.
      if (!this.#relocate || !NOBODY_THERE.includes(codeOf(cause))) throw cause;
      if (target === this.#target) await (this.#moving ??= this.#move(this.#relocate));
      return exchange(this.#target, outgoing);
    }
  }

  async #move(relocate: NonNullable<BridgeOptions["relocate"]>): Promise<void> {
    try {
      this.#place = await relocate(this.#place);
      const { url, socketPath } = this.#place;
      this.#target.agent.destroy();
      const agent = new Agent({ keepAlive: true });
      this.#target = { ...this.#target, url: new URL(url), socketPath, agent };
    } finally {
      this.#moving = null;
    }
  }

  /** The process at the other end went away with the request in its hands. */
  #isCut(cause: unknown): boolean {
    return this.#relocate !== undefined && CUT_OFF.includes(codeOf(cause));
  }

  #headers(message: Json): Record<string, string> {
    if (isModern(message)) return modernHeaders(message);
    const { id = null, version = null } = this.#session ?? {};
    return {
      ...(id !== null && { "mcp-session-id": id }),
      ...(version !== null && { "mcp-protocol-version": version }),
    };
  }

  async #relay(answer: BridgeResponse, sent: Json): Promise<void> {
    let answered = false;
    const id = isObject(sent) ? (sent["id"] ?? null) : null;
    for await (const message of answer.messages()) {
      if (!isObject(message)) {
        this.#emit(message);
        answered = true;
        continue;
      }
      if (isObject(sent) && sent["method"] === "initialize") this.#opened(sent, message, answer);
      const isReply = "result" in message || "error" in message;
      if (isReply && id === null) continue; // a refused notification: nobody waits for it
      // An error from before the body was read carries no id; the client knows only its own.
      this.#emit(isReply && message["id"] == null ? { ...message, id } : message);
      answered ||= isReply;
    }
    if (!answered) this.#fail(sent, `the server answered HTTP ${answer.status} without a message`);
  }

  #opened(initialize: JsonObject, message: JsonObject, answer: BridgeResponse): void {
    const result = message["result"];
    if (!isObject(result)) return;
    const version = result["protocolVersion"];
    this.#session = {
      id: answer.header("mcp-session-id") ?? null,
      version: typeof version === "string" ? version : null,
      initialize,
    };
  }

  /** The server drops idle sessions. Nothing ran, so the handshake is repeated and the message sent again. */
  async #reopen(): Promise<void> {
    const initialize = this.#session?.initialize;
    if (!initialize) return;
    this.#session = null;
    const answer = await this.#send(Buffer.from(JSON.stringify(initialize)), initialize);
    for await (const message of answer.messages()) {
      if (isObject(message)) this.#opened(initialize, message, answer);
    }
    const ready = { jsonrpc: "2.0", method: "notifications/initialized" };
    await (await this.#send(Buffer.from(JSON.stringify(ready)), ready)).discard();
    this.#listen();
  }

  /** Notices of the server outside any request; a server without them answers 405. */
  #listen(): void {
    if (!this.#session?.id) return;
    const headers = { ...this.#headers(null), accept: "text/event-stream" };
    const signal = this.#closing.signal;
    const listening = async (): Promise<void> => {
      const answer = await exchange(this.#target, { method: "GET", headers, signal });
      if (answer.status !== 200) return answer.discard();
      for await (const message of answer.messages()) this.#emit(message);
    };
    listening().catch(() => undefined); // requests continue without change signals
  }

  #fail(message: Json, text: string): void {
    if (!isObject(message) || message["id"] === undefined || !("method" in message)) return;
    this.#emit({ jsonrpc: "2.0", id: message["id"], error: { code: -32603, message: text } });
  }

  async drain(graceMs: number): Promise<void> {
    const all = Promise.all([...this.#running.values()].map(({ done }) => done));
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<void>((resolve) => (timer = setTimeout(resolve, graceMs)));
    await Promise.race([all, late]);
    clearTimeout(timer);
  }

  async close(): Promise<void> {
    const session = this.#session;
    if (session?.id) {
      const ended = exchange(this.#target, {
        method: "DELETE",
        headers: this.#headers(null),
        signal: AbortSignal.timeout(LAST_ANSWERS_MS),
      });
      await ended.then((answer) => answer.discard()).catch(() => undefined); // it would time out by itself
    }
    this.#closing.abort();
    this.#target.agent.destroy();
  }
}

function isModern(message: Json): message is JsonObject {
  if (!isObject(message) || !isObject(message["params"])) return false;
  const meta = message["params"]["_meta"];
  return isObject(meta) && META in meta;
}

/** What the modern era repeats in headers: version, method, and the name or address the method acts on. */
function modernHeaders(message: JsonObject): Record<string, string> {
  const params = message["params"] as JsonObject; // isModern has looked
  const version = (params["_meta"] as JsonObject)[META];
  const named = message["method"] === "resources/read" ? params["uri"] : params["name"];
  return {
    ...(typeof version === "string" && { "mcp-protocol-version": encodeHeader(version) }),
    ...(typeof message["method"] === "string" && { "mcp-method": encodeHeader(message["method"]) }),
    ...(typeof named === "string" && { "mcp-name": encodeHeader(named) }),
  };
}

/** Plain where a header can carry it, else the Base64 form of the transport's specification. */
function encodeHeader(value: string): string {
  const plain = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(value);
  const looksEncoded = value.startsWith("=?base64?") && value.endsWith("?=");
  if (plain && !looksEncoded) return value;
  return `=?base64?${Buffer.from(value, "utf8").toString("base64")}?=`;
}
