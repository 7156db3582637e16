import { createMemoryState } from "./memory.ts";
import type { State } from "./state.ts";

export interface StateOptions {
  /** Of memory, for tests: otherwise a clock that never steps back. Redis has its own, which all instances share. */
  readonly now?: () => number;
  /** Called for connections that broke and listeners that threw. */
  readonly onError?: (cause: unknown) => void;
  /**
   * Begins every key and channel: installations that share a Redis server differ in it, or in the database's number.
   */
  readonly prefix?: string;
}

/** Opens the state the address names. The driver loads only when chosen. */
export async function openState(address: string, options: StateOptions = {}): Promise<State> {
  if (address === "memory") return createMemoryState(options);
  const { openRedisState } = await import("./redis.ts");
  const { now: _now, ...rest } = options;
  return openRedisState(address, rest);
}
