import { createMemoryState } from "./memory.ts";
import type { State } from "./state.ts";

export interface StateOptions {
  /** For tests; memory and Redis otherwise use clocks that suit them better than the machine's. */
  readonly now?: () => number;
  /** Told of connections that broke and of listeners that threw. */
  readonly onError?: (cause: unknown) => void;
  /** Begins every key and channel: installations that share a Redis server differ in it, or in the database's number. */
  readonly prefix?: string;
}

/** Opens the state the address names. The driver loads only when chosen. */
export async function openState(address: string, options: StateOptions = {}): Promise<State> {
  if (address === "memory") return createMemoryState(options);
  const { openRedisState } = await import("./redis.ts");
  return openRedisState(address, options);
}
