// Counters and notices that several instances share. Out of reach means an error at once: the gate then refuses.
import { Redis, type RedisOptions } from "ioredis";
import { REFUND, TAKE, type Script } from "./redis-scripts.ts";
import { assertWindow } from "./slices.ts";
import type { State, Taken, Window } from "./state.ts";

export interface RedisStateOptions {
  /** Instead of the server's own clock, which all instances share. */
  readonly now?: () => number;
  readonly prefix?: string;
  readonly onError?: (cause: unknown) => void;
}

const COMMAND_LIMIT_MS = 200;
const CONNECT_LIMIT_MS = 2_000;
/** A server that took a command and says nothing for this long gets a new connection. */
const SILENT_MS = 2_000;
const MAX_BACKOFF_MS = 1_000;

const CONNECTION = {
  lazyConnect: true,
  connectTimeout: CONNECT_LIMIT_MS,
  retryStrategy: (attempt: number) => Math.min(50 * 2 ** Math.min(attempt, 10), MAX_BACKOFF_MS),
} satisfies RedisOptions;
/** Nothing waits for a connection, and nothing is sent twice: a count that may have happened is not repeated. */
const COUNTING = {
  ...CONNECTION,
  enableOfflineQueue: false,
  autoResendUnfulfilledCommands: false,
  maxRetriesPerRequest: 0,
  socketTimeout: SILENT_MS,
} satisfies RedisOptions;
/** Subscriptions come back by themselves after a new connection. */
const LISTENING = { ...CONNECTION, maxRetriesPerRequest: null } satisfies RedisOptions;

export async function openRedisState(
  address: string,
  options: RedisStateOptions = {},
): Promise<State> {
  const { now, prefix = "ostiary", onError = () => undefined } = options;
  const redis = new Redis(address, COUNTING);
  try {
    await connect(redis);
  } catch (cause) {
    redis.disconnect();
    throw new Error(`cannot open the state ${shown(address)}: ${reasonOf(cause)}`, { cause });
  }
  redis.on("error", onError);

  // One hash tag for all counters: a script may touch only keys of one slot of a cluster.
  const keyOf = ({ key }: Window): string => `${prefix}:{rate}:${key}`;
  const channelOf = (channel: string): string => `${prefix}:${redis.options.db ?? 0}:${channel}`;
  const at = (): string => (now ? String(Math.floor(now())) : "");

  const run = async (
    script: Script,
    windows: readonly Window[],
    args: readonly string[],
  ): Promise<unknown> => {
    const rest = [...windows.map(keyOf), at(), ...args];
    try {
      return await inTime(redis.evalsha(script.sha, windows.length, ...rest));
    } catch (cause) {
      // Restarted or flushed: the server has forgotten the script.
      if (!(cause instanceof Error) || !cause.message.startsWith("NOSCRIPT")) throw cause;
      return inTime(redis.eval(script.lua, windows.length, ...rest));
    }
  };

  const look = async (windows: readonly Window[], commit: boolean): Promise<Taken> => {
    windows.forEach(assertWindow);
    const sizes = windows.flatMap(({ limit, windowMs }) => [String(limit), String(windowMs)]);
    return takenOf(await run(TAKE, windows, [commit ? "1" : "0", ...sizes]), windows.length);
  };

  const listeners = new Map<string, Set<(message: string) => void>>();
  let listening: Redis | null = null;
  const listener = (): Redis => {
    if (listening) return listening;
    listening = new Redis(address, LISTENING);
    listening.on("error", onError);
    listening.on("message", (channel: string, message: string) => {
      for (const tell of listeners.get(channel) ?? []) {
        try {
          tell(message);
        } catch (cause) {
          onError(cause);
        }
      }
    });
    return listening;
  };

  return {
    kind: "redis",
    take: (windows) => look(windows, true),
    peek: (windows) => look(windows, false),
    async refund(windows) {
      windows.forEach(assertWindow);
      await run(
        REFUND,
        windows,
        windows.map(({ windowMs }) => String(windowMs)),
      );
    },
    async publish(channel, message) {
      await inTime(redis.publish(channelOf(channel), message));
    },
    subscribe(name, tell) {
      const channel = channelOf(name);
      const all = listeners.get(channel) ?? new Set();
      listeners.set(channel, all.add(tell));
      if (all.size === 1) listener().subscribe(channel).catch(onError);
      return () => {
        if (!all.delete(tell) || all.size > 0) return;
        listener().unsubscribe(channel).catch(onError);
      };
    },
    async ping() {
      await inTime(redis.ping());
    },
    close() {
      redis.disconnect();
      listening?.disconnect();
      return Promise.resolve();
    },
  };
}

/**
 * The driver's own limit would fire before an answer that has arrived is read, when this process is busy: here the
 * answer goes first.
 */
async function inTime<T>(answer: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  let turn: NodeJS.Immediate | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    const giveUp = (): void =>
      reject(new Error(`Redis did not answer within ${COMMAND_LIMIT_MS} ms`));
    timer = setTimeout(() => (turn = setImmediate(giveUp)), COMMAND_LIMIT_MS);
  });
  try {
    return await Promise.race([answer, late]);
  } finally {
    clearTimeout(timer);
    clearImmediate(turn);
  }
}

/** Of a refused password the driver's promise knows only that the connection was closed: the event says why. */
async function connect(redis: Redis): Promise<void> {
  let why: unknown;
  const note = (cause: unknown): void => void (why ??= cause);
  redis.on("error", note);
  await redis.connect().catch((cause: unknown) => {
    throw why ?? cause;
  });
  redis.off("error", note);
}

function takenOf(answer: unknown, count: number): Taken {
  const numbers = Array.isArray(answer) ? (answer as unknown[]) : [];
  if (numbers.length !== 1 + 2 * count || !numbers.every((n) => Number.isSafeInteger(n)))
    throw new Error("Redis answered a rate script with something else than numbers");
  const [ok, ...rest] = numbers as number[];
  const windows = Array.from({ length: count }, (_, i) => ({
    remaining: rest[2 * i] ?? 0,
    resetMs: rest[2 * i + 1] ?? 0,
  }));
  return { ok: ok === 1, windows };
}

/** The address without its password. */
function shown(address: string): string {
  const url = new URL(address);
  return `${url.protocol}//${url.username ? `${url.username}@` : ""}${url.host}${url.pathname}`;
}

function reasonOf(cause: unknown): string {
  const { message, code } = cause as Error & { code?: string };
  if (/WRONGPASS|NOAUTH/.test(message)) return "the user or the password is wrong";
  if (code === "ENOTFOUND") return "there is no such host";
  return `nothing answers there; start Redis, or set state to memory (${code ?? message})`;
}
