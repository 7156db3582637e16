// What callers may take of the server's memory and attention at a time: streams that stay open, and bodies that are worked on.
import type { Caller } from "../../contract/call.ts";
import { AppError } from "../../contract/errors.ts";

export interface Rooms {
  /** A stream for this caller; throws when there are too many. Ends with the returned function, however often it is called. */
  stream(caller: Caller): () => void;
  /** Room for a body; throws when there is none. */
  body(caller: Caller): BodyRoom;
}

export interface BodyRoom {
  /** So many bytes more; throws when there is no room for them. */
  take(bytes: number): void;
  /** All that was taken is given back. */
  release(): void;
}

export interface RoomLimits {
  readonly maxStreamsPerCaller: number;
  readonly maxStreams: number;
  /** Of bodies in all. */
  readonly maxBodiesBytes: number;
  /** The largest one, for which one caller always has room. */
  readonly maxBodyBytes: number;
}

/** Smaller ones are not counted: there are at most as many as connections. */
const SMALL_BODY = 65_536;
/** One caller's share of what all bodies may have. */
const SHARE = 1 / 4;

export function createRooms(limits: RoomLimits): Rooms {
  const streams = createCounter();
  const bodies = createCounter();
  const bodiesOfOne = Math.max(limits.maxBodyBytes, Math.floor(limits.maxBodiesBytes * SHARE));
  const bodiesOfAll = Math.max(limits.maxBodyBytes, limits.maxBodiesBytes);
  return {
    stream(caller) {
      const who = nameOf(caller);
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
    body(caller) {
      const who = nameOf(caller);
      let [size, counted] = [0, 0];
      return {
        take(bytes) {
          size += bytes;
          if (size <= SMALL_BODY) return;
          const more = size - counted;
          if (bodies.of(who) + more > bodiesOfOne || bodies.total() + more > bodiesOfAll)
            throw noRoom();
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

const nameOf = ({ tenantId, userId, keyId }: Caller): string =>
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
    remedy: "close one of them first; an event stream tells everything that concerns its caller",
    retryAfterSeconds: 5,
  });

const noRoom = (): AppError =>
  new AppError(
    "UNAVAILABLE",
    "resource_exhausted",
    "too many large bodies are worked on at the moment",
    { remedy: "send it again in a moment, fewer at a time", retryAfterSeconds: 2 },
  );
