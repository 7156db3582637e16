// Connections that are kept, for servers an administrator named. Each new one is judged, resolved and dialled by the guard.
import type { OnReadOpts, Socket } from "node:net";
import { dial, type Connect } from "./dial.ts";
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

export interface PoolPowers {
  readonly check: (url: string, subject: EgressSubject) => Promise<CheckedTarget>;
  readonly limits: PoolLimits;
  readonly ca?: readonly string[] | undefined;
  readonly connect?: Connect | undefined;
}

/** A server has one; authorization adds a few. */
const MAX_ORIGINS = 8;
const CONNECTIONS_PER_ORIGIN = 128;
const SWEEP_MS = 1_000;

/** `rulesOf` judges every place that is reached through this pool. */
export function openPool(rulesOf: (url: URL) => EgressRules, powers: PoolPowers): Pooled {
  const { limits } = powers;
  const closing = new AbortController();
  const wireRequest = createWireRequest();
  const places = new Map<string, OriginPool>();
  const sweeping = setInterval(() => {
    for (const place of places.values()) place.sweep();
  }, SWEEP_MS).unref();

  const placeOf = (origin: string): OriginPool => {
    const there = places.get(origin);
    if (there) return there;
    if (places.size >= MAX_ORIGINS)
      throw connectFailed(origin, `one server leads to more than ${MAX_ORIGINS} origins`);
    const place = new OriginPool(new URL(origin), rulesOf, powers, closing.signal);
    places.set(origin, place);
    return place;
  };

  const pooled: Pooled = {
    send(request, sink) {
      const place = placeOf(request.origin);
      const exchange = new Exchange(
        place.where,
        request,
        wireRequest(place.where, request),
        sink,
        place.leave,
      );
      place.begin(exchange);
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
      for (const place of places.values()) place.close();
      return Promise.resolve();
    },
  };
  return pooled;
}

/** The connections to one origin, and who waits for one. */
class OriginPool implements PooledConnectionEvents {
  readonly where: string;
  readonly #url: URL;
  readonly #rulesOf: (url: URL) => EgressRules;
  readonly #powers: PoolPowers;
  readonly #closing: AbortSignal;
  readonly #open = new Set<PooledConnection>();
  /** The one that was freed last is used first: the others grow old and are closed. */
  #free: PooledConnection[] = [];
  #waiting: Exchange[] = [];
  #dialling = 0;

  constructor(
    url: URL,
    rulesOf: (url: URL) => EgressRules,
    powers: PoolPowers,
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
    for (let kept = this.#free.pop(); kept; kept = this.#free.pop()) {
      if (kept.isUsable(now)) return kept.begin(exchange);
      kept.destroy();
    }
    this.#waiting.push(exchange);
    this.#dialForWaiting();
  }

  readonly leave = (exchange: Exchange): void => {
    this.#waiting = this.#waiting.filter((one) => one !== exchange);
  };

  free(kept: PooledConnection): void {
    const next = this.#waiting.shift();
    if (next) kept.begin(next);
    else this.#free.push(kept);
  }

  gone(kept: PooledConnection): void {
    this.#open.delete(kept);
    this.#free = this.#free.filter((one) => one !== kept);
    this.#dialForWaiting();
  }

  sweep(): void {
    const now = performance.now();
    for (const kept of this.#free) if (!kept.isUsable(now)) kept.destroy();
  }

  close(): void {
    for (const kept of this.#open) kept.fail(this.#closing.reason);
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

  /** Each of those who wait let one be dialled: when it fails, whoever waits longest hears of it. */
  #dial(): void {
    const kept = new PooledConnection(this.where, this.#powers.limits.headerBytes, this);
    this.#dialled(kept.onread).then(
      (socket) => {
        kept.opened(socket);
        this.#dialling--;
        this.#open.add(kept);
        // Whoever waits hears of it with the next attempt.
        if (this.#closing.aborted) kept.destroy();
        else this.free(kept);
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
