// Wrong credentials per address: after a few dozen in a minute the next wrong one is told to wait. A right one always works.
import { AppError } from "../errors.ts";
import type { Taken, Window } from "../state/state.ts";
import { networkOf } from "../util/network.ts";

export interface Attempts {
  /** What to answer to a refused credential: the refusal itself, or (too many of them) another one. */
  refused(cause: unknown, ip: string | null | undefined): unknown;
}

const PER_MINUTE = 30;
const COUNTED: readonly string[] = ["bad_credentials", "key_inactive"];

/** The counters are this process's own: guessing must not reach a shared server. */
export function createAttempts(state: { take(windows: readonly Window[]): Taken }): Attempts {
  const count = (ip: string): Taken | null => {
    const key = `credentials:${networkOf(ip)}:minute`;
    try {
      return state.take([{ key, limit: PER_MINUTE, windowMs: 60_000 }]);
    } catch {
      return null; // every counter is in use: the credential stays refused for what it is
    }
  };
  return {
    refused(cause, ip) {
      if (!(cause instanceof AppError) || !COUNTED.includes(cause.fault.reason)) return cause;
      const taken = ip === null || ip === undefined ? null : count(ip);
      if (!taken || taken.ok) return cause;
      const seconds = Math.max(1, Math.ceil((taken.windows[0]?.resetMs ?? 0) / 1000));
      return new AppError(
        "TOO_MANY_REQUESTS",
        "rate_ip",
        `more than ${PER_MINUTE} wrong credentials per minute from this address`,
        { remedy: `correct the key, then retry after ${seconds} s`, retryAfterSeconds: seconds },
      );
    },
  };
}
