// The state port: fast, shared, losable. Memory on one machine, Redis beyond it; one suite proves both alike.
import { z } from "zod";

export const stateConfig = z
  .string()
  .regex(/^(memory|rediss?:\/\/.+)$/, "expected memory, or redis://host:port")
  .describe("Counters of rate limits and notices between instances: memory, or redis://host:port.");

/** One sliding window: at most `limit` within any `windowMs`. Zero lets nothing through. */
export interface Window {
  /** Unique over everything that is counted, e.g. `user:local/ada:60`. */
  readonly key: string;
  readonly limit: number;
  readonly windowMs: number;
}

export interface WindowState {
  /** How many more would pass now. */
  readonly remaining: number;
  /** Until at least one more passes (when none does), else until the window is empty again. */
  readonly resetMs: number;
}

export interface Taken {
  /** True: every window had room and counts this one. False: none counts it. */
  readonly ok: boolean;
  /** In the order of the windows. */
  readonly windows: readonly WindowState[];
}

/** A negative, broken or missing counter is a fault of the engine, never a free pass: take and peek throw. */
export interface State {
  readonly kind: "memory" | "redis";
  /** All windows or none, atomically. */
  take(windows: readonly Window[]): Taken | Promise<Taken>;
  peek(windows: readonly Window[]): Taken | Promise<Taken>;
  /** Gives one back to each; never below zero. */
  refund(windows: readonly Window[]): void | Promise<void>;
  /** Signals every instance, this one included; may be lost, so only speed may depend on it. */
  publish(channel: string, message: string): void | Promise<void>;
  subscribe(channel: string, listener: (message: string) => void): () => void;
  ping(): Promise<void>;
  close(): Promise<void>;
}
