// Counters of one process. Synchronous: on a single machine a rate limit must cost next to nothing.
import { assertWindow, RING, SLICES, sliceMsOf } from "./slices.ts";
import type { State, Taken, Window, WindowState } from "./state.ts";

export interface MemoryOptions {
  /** ms. Default: a clock that never steps back. */
  readonly now?: () => number;
  /** Counters kept at once; while all are in use a new one is refused: a counter is never forgotten early. */
  readonly maxCounters?: number;
  readonly onError?: (cause: unknown) => void;
}

interface Counter {
  readonly sliceMs: number;
  /** Count of slice `n` at `n % RING`. */
  readonly ring: number[];
  newest: number;
  total: number;
}

/** The same port, answering at once. */
export interface MemoryState extends State {
  take(windows: readonly Window[]): Taken;
  peek(windows: readonly Window[]): Taken;
  refund(windows: readonly Window[]): void;
  publish(channel: string, message: string): void;
}

const SWEEP_EVERY_MS = 30_000;
const MAX_COUNTERS = 250_000;

export function createMemoryState(options: MemoryOptions = {}): MemoryState {
  const { now = () => performance.now(), maxCounters = MAX_COUNTERS, onError } = options;
  const counters = new Map<string, Counter>();
  const listeners = new Map<string, Set<(message: string) => void>>();
  let sweepAt = 0;

  /** What the counter says at this moment; null while nothing has been counted. */
  const find = (window: Window, at: number): Counter | null => {
    assertWindow(window);
    const counter = counters.get(window.key);
    if (counter === undefined) return null;
    if (counter.sliceMs !== sliceMsOf(window.windowMs))
      throw new TypeError(`the counter ${window.key} belongs to a window of another length`);
    advance(counter, at);
    return counter;
  };

  const create = (window: Window, at: number): Counter => {
    if (counters.size >= maxCounters) sweep(at);
    if (counters.size >= maxCounters) throw new Error("all counters of rate limits are in use");
    const sliceMs = sliceMsOf(window.windowMs);
    const ring = new Array<number>(RING).fill(0);
    const counter = { sliceMs, ring, newest: Math.floor(at / sliceMs), total: 0 };
    counters.set(window.key, counter);
    return counter;
  };

  const sweep = (at: number): void => {
    sweepAt = at + SWEEP_EVERY_MS;
    for (const [key, { sliceMs, newest }] of counters)
      if (Math.floor(at / sliceMs) - newest > SLICES) counters.delete(key);
  };

  return {
    kind: "memory",
    take(windows) {
      const at = now();
      if (at >= sweepAt) sweep(at);
      // All are there before the first is counted: running out of counters must not leave half a call behind.
      const found = windows.map((window) => find(window, at) ?? create(window, at));
      const ok = windows.every((window, i) => (found[i]?.total ?? 0) < window.limit);
      if (ok) for (const counter of found) countOne(counter);
      return { ok, windows: windows.map((window, i) => stateOf(window, found[i] ?? null, at)) };
    },
    peek(windows): Taken {
      const at = now();
      const states = windows.map((window) => stateOf(window, find(window, at), at));
      return { ok: states.every(({ remaining }) => remaining > 0), windows: states };
    },
    refund(windows) {
      const at = now();
      for (const window of windows) giveBack(find(window, at));
    },
    publish(channel, message) {
      for (const listener of listeners.get(channel) ?? []) {
        try {
          listener(message);
        } catch (cause) {
          onError?.(cause);
        }
      }
    },
    subscribe(channel, listener) {
      const all = listeners.get(channel) ?? new Set();
      listeners.set(channel, all.add(listener));
      return () => void all.delete(listener);
    },
    ping: () => Promise.resolve(),
    close: () => Promise.resolve(),
  };
}

/** Drops the slices that no longer count. A clock that steps back stands still here. */
function advance(counter: Counter, at: number): void {
  const slice = Math.floor(at / counter.sliceMs);
  const steps = Math.min(slice - counter.newest, RING);
  for (let i = 1; i <= steps; i++) {
    const old = (counter.newest + i) % RING;
    counter.total -= counter.ring[old] ?? 0;
    counter.ring[old] = 0;
  }
  if (steps > 0) counter.newest = slice;
}

function countOne(counter: Counter): void {
  const at = counter.newest % RING;
  counter.ring[at] = (counter.ring[at] ?? 0) + 1;
  counter.total++;
}

/** The last slice that holds something; there is one. */
function youngest({ ring, newest }: Counter): number {
  let slice = newest;
  while (!ring[slice % RING]) slice--;
  return slice;
}

/** From the youngest slice that has one: it was taken a moment ago. */
function giveBack(counter: Counter | null): void {
  if (!counter || counter.total === 0) return;
  counter.ring[youngest(counter) % RING]!--;
  counter.total--;
}

function stateOf(window: Window, counter: Counter | null, at: number): WindowState {
  const { limit, windowMs } = window;
  if (limit === 0) return { remaining: 0, resetMs: windowMs };
  if (!counter || counter.total === 0) return { remaining: limit, resetMs: 0 };
  const { ring, newest, sliceMs, total } = counter;
  const remaining = Math.max(0, limit - total);
  let slice: number;
  if (remaining > 0) {
    // Empty again when the youngest slice goes.
    slice = youngest(counter);
  } else {
    // A first place is free once enough of the oldest have gone.
    slice = newest - RING;
    for (let left = total; left >= limit;) left -= ring[++slice % RING] ?? 0;
  }
  return { remaining, resetMs: Math.ceil((slice + RING) * sliceMs - at) };
}
