// One request and its response on a pooled connection, with its time limits.
import type { PooledFlow, PooledRequest, PooledSink } from "./egress.ts";
import { tooSlow } from "./faults.ts";
import type { PooledConnection } from "./pooled-connection.ts";

/** As it goes over the wire. */
export interface WireRequest {
  readonly method: string;
  readonly head: string;
  /** A string only where head and body can go in one piece. */
  readonly body: string | Uint8Array | undefined;
  /** Of both, where the body is a string; the head alone is always latin1. */
  readonly encoding: "latin1" | "utf8";
}

export class Exchange implements PooledFlow {
  readonly request: WireRequest;
  readonly #sink: PooledSink;
  readonly #where: string;
  readonly #headersMs: number;
  readonly #idleMs: number;
  /** Removes it from the exchanges that wait for a connection. */
  readonly #leave: (self: Exchange) => void;
  #connection: PooledConnection | null = null;
  #isOver = false;
  #timer: NodeJS.Timeout | null = null;
  /** What is waited for, and how long. */
  #what = "";
  #ms = 0;

  constructor(
    where: string,
    { headersMs = 0, idleMs = 0 }: PooledRequest,
    request: WireRequest,
    sink: PooledSink,
    leave: (self: Exchange) => void,
  ) {
    this.request = request;
    this.#sink = sink;
    this.#where = where;
    this.#headersMs = headersMs;
    this.#idleMs = idleMs;
    this.#leave = leave;
  }

  began(connection: PooledConnection): void {
    this.#connection = connection;
    this.#wait("the answer", this.#headersMs);
    this.#sink.started?.();
  }

  head(status: number, headers: Parameters<PooledSink["head"]>[1]): void {
    this.#wait("the next byte", this.#idleMs);
    this.#sink.head(status, headers);
  }

  data(bytes: Buffer): void {
    this.#timer?.refresh();
    this.#sink.data(bytes);
  }

  end(): void {
    this.#finish();
    // The next exchange may use the connection already and must not fail because of this one.
    try {
      this.#sink.end();
    } catch (cause) {
      this.#sink.failed(cause);
    }
  }

  failed(cause: unknown): void {
    if (this.#isOver) return;
    this.#finish();
    this.#sink.failed(cause);
  }

  abort(): void {
    if (this.#isOver) return;
    const connection = this.#connection;
    this.#finish();
    if (connection) connection.destroy();
    else this.#leave(this);
  }

  /** While the reader pauses, the server is not late. */
  pause(): void {
    this.#stopTimer();
    this.#connection?.pause();
  }

  resume(): void {
    if (!this.#connection) return;
    // A timer that was stopped cannot go on.
    if (!this.#timer) this.#wait(this.#what, this.#ms);
    this.#connection.resume();
  }

  #wait(what: string, ms: number): void {
    this.#stopTimer();
    this.#what = what;
    this.#ms = ms;
    if (ms !== 0) this.#timer = setTimeout(() => this.#late(), ms);
  }

  #late(): void {
    const connection = this.#connection;
    this.failed(tooSlow(this.#where, this.#what, this.#ms));
    connection?.destroy();
  }

  #stopTimer(): void {
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = null;
  }

  #finish(): void {
    this.#isOver = true;
    this.#connection = null;
    this.#stopTimer();
  }
}
