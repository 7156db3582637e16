// Reused connections to servers that an administrator named. Each new one is checked by the guard like any other
// request.
import type { OnReadOpts, Socket } from "node:net";
import { dial, type ConnectSocket } from "./dial.ts";
import type { CheckedTarget, EgressRules, EgressSubject, Pooled } from "./egress.ts";
import { Exchange } from "./exchange.ts";
import { connectFailed } from "./faults.ts";
import { PooledConnection, type PooledConnectionEvents } from "./pooled-connection.ts";
import { fetchOver } from "./pool-fetch.ts";
import { createWireRequest } from "./wire-request.ts";

export interface PoolLimits {
  readonly connectMs: number;
  readonly headersMs: number;
  readonly idleMs: number;
  readonly headerBytes: number;
}

export interface OriginPoolPowers {
  readonly check: (url: string, subject: EgressSubject) => Promise<CheckedTarget>;
  readonly limits: PoolLimits;
  readonly ca?: readonly string[] | undefined;
  readonly connect?: ConnectSocket | undefined;
}

/** A server has one origin; its authorization servers add a few. */
const MAX_ORIGINS = 8;
const CONNECTIONS_PER_ORIGIN = 128;
const SWEEP_MS = 1_000;

/** `rulesOf` returns the rules for a URL that is reached through this pool. */
export function openPool(rulesOf: (url: URL) => EgressRules, powers: OriginPoolPowers): Pooled {
  const { limits } = powers;
  const closing = new AbortController();
  const wireRequest = createWireRequest();
  const pools = new Map<string, OriginPool>();
  const sweeping = setInterval(() => {
    for (const pool of pools.values()) pool.sweep();
  }, SWEEP_MS).unref();

  const poolOf = (origin: string): OriginPool => {
    const there = pools.get(origin);
    if (there) return there;
    if (pools.size >= MAX_ORIGINS)
      throw connectFailed(origin, `one server leads to more than ${MAX_ORIGINS} origins`);
    const pool = new OriginPool(new URL(origin), rulesOf, powers, closing.signal);
    pools.set(origin, pool);
    return pool;
  };

  const pooled: Pooled = {
    send(request, sink) {
      const pool = poolOf(request.origin);
      const exchange = new Exchange(
        pool.where,
        request,
        wireRequest(pool.where, request),
        sink,
        pool.leave,
      );
      pool.begin(exchange);
      return exchange;
    },
    fetch: (url, init, options) =>
      fetchOver(pooled, url, init ?? {}, {
        headersMs: limits.headersMs,
        idleMs: limits.idleMs,
        ...options,
      }),
    close() {
      clearInterval(sweeping);
      closing.abort(connectFailed("server", "the connection was closed"));
      for (const pool of pools.values()) pool.close();
      return Promise.resolve();
    },
  };
  return pooled;
}

/** The connections to one origin, and the exchanges that wait for one. */
class OriginPool implements PooledConnectionEvents {
  readonly where: string;
  readonly #url: URL;
  readonly #rulesOf: (url: URL) => EgressRules;
  readonly #powers: OriginPoolPowers;
  readonly #closing: AbortSignal;
  readonly #open = new Set<PooledConnection>();
  /** The one that was freed last is used first, so that surplus connections become idle and are closed. */
  #free: PooledConnection[] = [];
  #waiting: Exchange[] = [];
  #dialling = 0;

  constructor(
    url: URL,
    rulesOf: (url: URL) => EgressRules,
    powers: OriginPoolPowers,
    closing: AbortSignal,
  ) {
    this.where = url.host;
    this.#url = url;
    this.#rulesOf = rulesOf;
    this.#powers = powers;
    this.#closing = closing;
  }

  begin(exchange: Exchange): void {
    const now = performance.now();
    for (let connection = this.#free.pop(); connection; connection = this.#free.pop()) {
      if (connection.isUsable(now)) return connection.begin(exchange);
      connection.destroy();
    }
    this.#waiting.push(exchange);
    this.#dialForWaiting();
  }

  readonly leave = (exchange: Exchange): void => {
    this.#waiting = this.#waiting.filter((one) => one !== exchange);
  };

  free(connection: PooledConnection): void {
    const next = this.#waiting.shift();
    if (next) connection.begin(next);
    else this.#free.push(connection);
  }

  gone(connection: PooledConnection): void {
    this.#open.delete(connection);
    this.#free = this.#free.filter((one) => one !== connection);
    this.#dialForWaiting();
  }

  sweep(): void {
    const now = performance.now();
    for (const connection of this.#free) if (!connection.isUsable(now)) connection.destroy();
  }

  close(): void {
    for (const connection of this.#open) connection.fail(this.#closing.reason);
  }

  #dialForWaiting(): void {
    while (
      this.#dialling < this.#waiting.length &&
      this.#open.size + this.#dialling < CONNECTIONS_PER_ORIGIN
    ) {
      this.#dialling++;
      this.#dial();
    }
  }

  /** One connection is dialled for each waiting exchange; if it fails, the exchange that waits longest fails. */
  #dial(): void {
    const connection = new PooledConnection(this.where, this.#powers.limits.headerBytes, this);
    this.#dialled(connection.onread).then(
      (socket) => {
        connection.opened(socket);
        this.#dialling--;
        this.#open.add(connection);
        // Waiting exchanges fail with the next attempt to dial.
        if (this.#closing.aborted) connection.destroy();
        else this.free(connection);
      },
      (cause: unknown) => {
        this.#dialling--;
        this.#waiting.shift()?.failed(cause);
        this.#dialForWaiting();
      },
    );
  }

  async #dialled(onread: OnReadOpts): Promise<Socket> {
    const { check, limits, ca, connect } = this.#powers;
    const signal = this.#closing;
    const target = await check(this.#url.origin, { rules: this.#rulesOf(this.#url), signal });
    return dial(target, {
      signal,
      connectMs: limits.connectMs,
      tls: this.#url.protocol === "https:",
      ca,
      connect,
      onread,
    });
  }
}
