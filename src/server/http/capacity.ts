// Capacity limits, in all and per caller: open streams, and memory for request bodies that are being processed.
import type { Caller } from "../../contract/call.ts";
import { AppError } from "../../contract/errors.ts";

export interface Capacity {
  /** Counts a stream of this caller; throws when there are too many. The returned function releases it, once. */
  openStream(caller: Caller): () => void;
  /** A reservation for one body, empty at first. */
  reserveBody(caller: Caller): BodyReservation;
}

export interface BodyReservation {
  /** Reserves more bytes; throws when the limit is reached. */
  take(bytes: number): void;
  /** Gives everything back. */
  release(): void;
}

export interface CapacityLimits {
  readonly maxStreamsPerCaller: number;
  readonly maxStreams: number;
  /** Of all bodies together. */
  readonly maxBodiesBytes: number;
  /** The largest body; the limits above never go below it. */
  readonly maxBodyBytes: number;
}

/** Smaller bodies are not counted: the number of connections bounds them. */
const SMALL_BODY = 65_536;
/** One caller's share of the memory for all bodies. */
const CALLER_SHARE = 1 / 4;

export function createCapacity(limits: CapacityLimits): Capacity {
  const streams = createCounter();
  const bodies = createCounter();
  const maxPerCaller = Math.max(
    limits.maxBodyBytes,
    Math.floor(limits.maxBodiesBytes * CALLER_SHARE),
  );
  const maxInAll = Math.max(limits.maxBodyBytes, limits.maxBodiesBytes);
  return {
    openStream(caller) {
      const who = callerKey(caller);
      if (streams.of(who) >= limits.maxStreamsPerCaller)
        throw tooMany(`this caller has ${limits.maxStreamsPerCaller} streams open already`);
      if (streams.total() >= limits.maxStreams)
        throw tooMany(`the server has ${limits.maxStreams} streams open already`);
      streams.add(who, 1);
      let isOpen = true;
      return () => {
        if (isOpen) streams.add(who, -1);
        isOpen = false;
      };
    },
    reserveBody(caller) {
      const who = callerKey(caller);
      let [size, counted] = [0, 0];
      return {
        take(bytes) {
          size += bytes;
          if (size <= SMALL_BODY) return;
          const more = size - counted;
          if (bodies.of(who) + more > maxPerCaller || bodies.total() + more > maxInAll)
            throw bodiesExhausted();
          bodies.add(who, more);
          counted = size;
        },
        release() {
          if (counted > 0) bodies.add(who, -counted);
          [size, counted] = [0, 0];
        },
      };
    },
  };
}

const callerKey = ({ tenantId, userId, keyId }: Caller): string =>
  `${tenantId}\n${userId}\n${keyId ?? ""}`;

function createCounter() {
  const counts = new Map<string, number>();
  let total = 0;
  return {
    of: (who: string): number => counts.get(who) ?? 0,
    total: (): number => total,
    add(who: string, amount: number): void {
      const count = (counts.get(who) ?? 0) + amount;
      if (count <= 0) counts.delete(who);
      else counts.set(who, count);
      total += amount;
    },
  };
}

const tooMany = (message: string): AppError =>
  new AppError("TOO_MANY_REQUESTS", "concurrency", message, {
    remedy: "close one of them first; one event stream carries all events of its caller",
    retryAfterSeconds: 5,
  });

const bodiesExhausted = (): AppError =>
  new AppError(
    "UNAVAILABLE",
    "resource_exhausted",
    "too many large request bodies are being processed",
    { remedy: "send it again in a moment, fewer at a time", retryAfterSeconds: 2 },
  );
