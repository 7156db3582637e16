// One connection that is reused for one request after the other. It always reads into the same buffer: a new buffer
// for each read lies outside the heap, and many of them cause long garbage collections.
import type { OnReadOpts, Socket } from "node:net";
import { InvalidResponse, KEEP_MS, type ResponseHead } from "./response-head.ts";
import { ResponseReader, type ResponseEvents } from "./response-reader.ts";
import type { Exchange } from "./exchange.ts";
import { connectFailed, translated } from "./faults.ts";

/** `free`: the next request may begin. `gone`: called once, and last. */
export interface PooledConnectionEvents {
  free(connection: PooledConnection): void;
  gone(connection: PooledConnection): void;
}

/** Size of the read buffer. Small, as each connection has its own. */
const READ_BYTES = 16_384;
const NOTHING = Buffer.alloc(0);

export class PooledConnection implements ResponseEvents {
  readonly #where: string;
  readonly #events: PooledConnectionEvents;
  readonly #reader: ResponseReader;
  #socket: Socket | null = null;
  #exchange: Exchange | null = null;
  #head: ResponseHead | null = null;
  #fault: unknown = null;
  #freeUntil = 0;
  /** While bytes are read that arrived during a pause. */
  #isBehind = false;

  constructor(where: string, maxHeadBytes: number, events: PooledConnectionEvents) {
    this.#where = where;
    this.#events = events;
    this.#reader = new ResponseReader(maxHeadBytes, this);
  }

  /** For the socket. A TLS socket ignores it and emits its bytes as events. */
  readonly onread: OnReadOpts = {
    buffer: Buffer.allocUnsafeSlow(READ_BYTES),
    callback: (length, buffer) => {
      this.#read((buffer as Buffer).subarray(0, length));
      return true;
    },
  };

  opened(socket: Socket): void {
    // An idle connection does not keep the process alive.
    this.#socket = socket.setNoDelay(true).unref();
    this.#freeUntil = performance.now() + KEEP_MS;
    socket.on("error", (cause) => (this.#fault ??= cause));
    socket.on("close", () => this.#closed());
    socket.on("data", (bytes: Buffer) => this.#read(bytes));
  }

  /** now: on the clock of `performance`. */
  isUsable(now: number): boolean {
    return this.#freeUntil > now && this.#socket?.writable === true;
  }

  begin(exchange: Exchange): void {
    const socket = this.#socket;
    if (!socket) throw new Error("not opened");
    const { head, body, method, encoding } = exchange.request;
    this.#exchange = exchange;
    this.#reader.expect(method);
    socket.ref();
    exchange.began(this);
    if (typeof body === "string") socket.write(head + body, encoding);
    else {
      socket.cork();
      socket.write(head, "latin1");
      if (body) socket.write(body);
      socket.uncork();
    }
  }

  pause(): void {
    this.#reader.isPaused = true;
    this.#socket?.pause();
  }

  resume(): void {
    if (!this.#reader.isPaused) return;
    this.#reader.isPaused = false;
    this.#isBehind = true;
    this.#read(NOTHING);
    this.#isBehind = false;
    // The reader may have paused again.
    if (!this.#isPaused()) this.#socket?.resume();
  }

  /** The exchange is over without its end, or nobody needs the connection. */
  destroy(): void {
    this.#exchange = null;
    this.#reader.stop();
    this.#socket?.destroy();
  }

  head(head: ResponseHead): void {
    this.#head = head;
    this.#exchange?.head(head.status, head.headers);
  }

  data(bytes: Buffer): void {
    this.#exchange?.data(bytes);
  }

  end(isClean: boolean): void {
    const [exchange, keepMs] = [this.#exchange, this.#head?.keepMs ?? 0];
    this.#exchange = null;
    // A server may answer before it has read the whole request; such a connection cannot be reused.
    if (isClean && keepMs > 0 && !this.#isBehind && this.#socket?.writableLength === 0)
      this.#release(keepMs);
    else this.destroy();
    exchange?.end();
  }

  #release(keepMs: number): void {
    this.#freeUntil = performance.now() + keepMs;
    this.resume();
    this.#socket?.unref();
    this.#events.free(this);
  }

  #isPaused(): boolean {
    return this.#reader.isPaused;
  }

  #read(bytes: Buffer): void {
    try {
      this.#reader.read(bytes);
    } catch (cause) {
      this.fail(
        cause instanceof InvalidResponse
          ? connectFailed(this.#where, `the answer is not valid HTTP: ${cause.message}`, cause)
          : cause,
      );
    }
  }

  #closed(): void {
    if (this.#fault !== null || !this.#reader.closed())
      this.fail(
        this.#fault === null
          ? connectFailed(this.#where, "the connection was closed early")
          : translated(this.#where, this.#fault),
      );
    this.#events.gone(this);
  }

  fail(cause: unknown): void {
    const exchange = this.#exchange;
    this.destroy();
    exchange?.failed(cause);
  }
}
