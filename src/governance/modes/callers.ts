// Refusals counted per caller, and the callers that are throttled because of them.
import type { Caller } from "../../contract/call.ts";
import type { SensorRule } from "../rules/governance.ts";
import type { Throttle } from "./mode.ts";
import { createTally, type SignalTally } from "./tally.ts";

/** A caller by name: a new key does not make a new caller. */
export const callerKey = (caller: Caller): string => `${caller.tenantId}\n${caller.userId}`;

export interface CallerCounts {
  /** Returns how many this caller has now. */
  add(caller: string, at: number, windowMs: number): number;
  /** The highest count of any caller. */
  worst(since: number): number;
  /** How many callers were counted at all. */
  callers(since: number): number;
}

/**
 * Beyond this many the one that was counted first is dropped: this bounds memory, and the counts of the others stay
 * exact.
 */
const MAX_CALLERS = 5_000;

export function createCallerCounts(): CallerCounts {
  const tallies = new Map<string, SignalTally>();
  return {
    add(caller, at, windowMs) {
      let tally = tallies.get(caller);
      if (!tally) {
        if (tallies.size >= MAX_CALLERS) dropOldest(tallies);
        tallies.set(caller, (tally = createTally()));
      }
      tally.add(at, 1, windowMs);
      return tally.count(at - windowMs);
    },
    worst(since) {
      let worst = 0;
      for (const [caller, tally] of tallies) {
        const count = tally.count(since);
        if (count === 0) tallies.delete(caller);
        else worst = Math.max(worst, count);
      }
      return worst;
    },
    callers(since) {
      let callers = 0;
      for (const [caller, tally] of tallies)
        if (tally.count(since) > 0) callers++;
        else tallies.delete(caller);
      return callers;
    },
  };
}

export interface Throttles {
  /** Null when the caller is not throttled. */
  of(caller: Caller): Throttle | null;
  /** True when the caller was not throttled before. */
  throttle(caller: string, rule: NonNullable<SensorRule["throttle"]>, because: string): boolean;
}

export function createThrottles(now: () => number): Throttles {
  const held = new Map<string, Throttle>();
  const current = (caller: string) => {
    const throttle = held.get(caller);
    if (throttle && throttle.until > now()) return throttle;
    held.delete(caller);
    return null;
  };
  return {
    of: (caller) => (held.size === 0 ? null : current(callerKey(caller))),
    throttle(caller, { callsPerMinute, forSeconds }, because) {
      const before = current(caller);
      if (!before && held.size >= MAX_CALLERS) dropOldest(held);
      // Of two rules the tighter one holds.
      const tighter = before && before.callsPerMinute < callsPerMinute ? before : null;
      const until = Math.max(now() + forSeconds * 1000, before?.until ?? 0);
      held.set(caller, { ...(tighter ?? { callsPerMinute, because }), until });
      return before === null;
    },
  };
}

function dropOldest(map: Map<string, unknown>): void {
  const [oldest] = map.keys();
  if (oldest !== undefined) map.delete(oldest);
}
