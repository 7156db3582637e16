// Connections that are kept, for servers an administrator named. Each new one is judged, resolved and dialled by the guard.
import type { Dispatcher, Pool } from "undici";
import { dial, type Connect } from "./dial.ts";
import type { CheckedTarget, EgressRules, EgressSubject, Pooled, PooledFlow, PooledRequest, PooledSink } from "./egress.ts"; // prettier-ignore
import { connectFailed } from "./faults.ts";
import { fetchOver } from "./pool-fetch.ts";

export interface PoolLimits {
  readonly connectMs: number;
  readonly headersMs: number;
  readonly idleMs: number;
  readonly headerBytes: number;
}

export interface PoolPowers {
  readonly check: (url: string, subject: EgressSubject) => Promise<CheckedTarget>;
  readonly limits: PoolLimits;
  readonly ca?: readonly string[] | undefined;
  readonly connect?: Connect | undefined;
}

/** A server has one; authorization adds a few. */
const MAX_ORIGINS = 8;
const CONNECTIONS_PER_ORIGIN = 128;
/** Without a word from the server about it; shorter than what servers usually keep. */
const KEEP_ALIVE_MS = 4_000;

/** `rulesOf` judges every place that is reached through this pool. */
export async function openPool(
  rulesOf: (url: URL) => EgressRules,
  { check, limits, ca, connect }: PoolPowers,
): Promise<Pooled> {
  const { default: PoolClass } = await import("undici/lib/dispatcher/pool.js");
  const closing = new AbortController();
  const pools = new Map<string, Pool>();

  const dialled = async (origin: string) => {
    const url = new URL(origin);
    const target = await check(origin, { rules: rulesOf(url), signal: closing.signal });
    const socket = await dial(target, { signal: closing.signal, connectMs: limits.connectMs, tls: url.protocol === "https:", ca, connect }); // prettier-ignore
    // undici listens as soon as it has the socket; an error before that has nobody else to hear it.
    return socket.on("error", () => undefined).setNoDelay(true);
  };

  const poolOf = (origin: string): Pool => {
    const there = pools.get(origin);
    if (there) return there;
    if (pools.size >= MAX_ORIGINS) throw connectFailed(origin, `one server leads to more than ${MAX_ORIGINS} origins`); // prettier-ignore
    const pool = new PoolClass(origin, {
      // Addresses are checked here, literal ones too: undici's own hook sees only names.
      connect: (_options, done) =>
        void dialled(origin).then(
          (socket) => done(null, socket),
          (cause: unknown) => done(cause instanceof Error ? cause : connectFailed(origin, "the connection was given up"), null), // prettier-ignore
        ),
      connections: CONNECTIONS_PER_ORIGIN,
      pipelining: 1,
      allowH2: false,
      keepAliveTimeout: KEEP_ALIVE_MS,
      maxHeaderSize: limits.headerBytes,
      headersTimeout: 0,
      bodyTimeout: 0,
    });
    pools.set(origin, pool);
    return pool;
  };

  const pooled: Pooled = {
    send(request, sink) {
      const exchange = new Exchange(sink);
      poolOf(request.origin).dispatch(optionsOf(request), exchange);
      return exchange;
    },
    fetch: (url, init, options) =>
      fetchOver(pooled, url, init ?? {}, { headersMs: limits.headersMs, idleMs: limits.idleMs, ...options }), // prettier-ignore
    async close() {
      closing.abort(connectFailed("server", "the connection was closed"));
      await Promise.all([...pools.values()].map((pool) => pool.destroy()));
      pools.clear();
    },
  };
  return pooled;
}

function optionsOf({ origin, path, method, headers, body, headersMs, idleMs }: PooledRequest): Dispatcher.DispatchOptions {
  return { origin, path, method: method, headers: headers as string[], body: body ?? null, headersTimeout: headersMs ?? 0, bodyTimeout: idleMs ?? 0 };
} // prettier-ignore

/** Hands on what undici tells, until the end or until it is given up. */
class Exchange implements PooledFlow, Dispatcher.DispatchHandler {
  readonly #sink: PooledSink;
  #controller: Dispatcher.DispatchController | null = null;
  #ended = false;

  constructor(sink: PooledSink) {
    this.#sink = sink;
  }

  abort(): void {
    this.#ended = true;
    this.#controller?.abort(new Error("given up"));
  }

  pause(): void {
    this.#controller?.pause();
  }

  resume(): void {
    this.#controller?.resume();
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#ended) controller.abort(new Error("given up"));
    else this.#sink.started?.();
  }

  onResponseStart(_controller: unknown, status: number, headers: Parameters<PooledSink["head"]>[1]): void {
    if (!this.#ended) this.#sink.head(status, headers);
  } // prettier-ignore

  onResponseData(_controller: unknown, chunk: Buffer): void {
    // Each resume begins with nothing; whoever pauses for that would never come to anything.
    if (!this.#ended && chunk.length > 0) this.#sink.data(chunk);
  }

  onResponseEnd(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#sink.end();
  }

  onResponseError(_controller: unknown, cause: Error): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#sink.failed(cause);
  }
}
