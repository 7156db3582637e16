// Limits requests without a valid credential, per address: none, a wrong one, or anonymous. A valid credential always
// works.
import { AppError } from "../../contract/errors.ts";
import type { Taken, Window } from "../../storage/state/state.ts";
import { networkOf } from "../../util/network.ts";

export interface AddressThrottle {
  /** The error for a refused credential: the refusal itself, or TOO_MANY_REQUESTS after too many of them. */
  afterRefusal(cause: unknown, ip: string | null | undefined): unknown;
  /** Counts an anonymous request. Null: it is allowed. */
  countAnonymous(ip: string | null | undefined): AppError | null;
}

export interface AddressThrottlePowers {
  /** In memory of this process: guessing must not load a shared state server. */
  readonly state: { take(windows: readonly Window[]): Taken };
  /** Requests per minute of one address; null: no window. */
  readonly perMinute: () => number | null;
}

/** Wrong credentials have a window of their own. */
const MAX_WRONG_PER_MINUTE = 30;
const WRONG_CREDENTIAL: readonly string[] = ["bad_credentials", "key_inactive"];

export function createAddressThrottle({
  state,
  perMinute,
}: AddressThrottlePowers): AddressThrottle {
  /** Seconds until the window resets; null: within the limit. */
  const secondsToWait = (what: string, ip: string, limit: number): number | null => {
    const { ok, windows } = state.take([
      { key: `${what}:${networkOf(ip)}:minute`, limit, windowMs: 60_000 },
    ]);
    return ok ? null : Math.max(1, Math.ceil((windows[0]?.resetMs ?? 0) / 1000));
  };

  const countAnonymous: AddressThrottle["countAnonymous"] = (ip) => {
    const limit = perMinute();
    if (limit === null || ip === null || ip === undefined) return null;
    const seconds = secondsToWait("requests", ip, limit);
    if (seconds === null) return null;
    const message = `more than ${limit} requests per minute from this address without a credential that is known (ip-minute)`;
    return tooMany(message, "send a key that is known", seconds);
  };

  const countWrong = (reason: string, ip: string): AppError | null => {
    if (!WRONG_CREDENTIAL.includes(reason)) return null;
    const seconds = secondsToWait("credentials", ip, MAX_WRONG_PER_MINUTE);
    if (seconds === null) return null;
    const message = `more than ${MAX_WRONG_PER_MINUTE} wrong credentials per minute from this address`;
    return tooMany(message, "correct the key", seconds);
  };

  return {
    countAnonymous,
    afterRefusal(cause, ip) {
      if (!(cause instanceof AppError) || cause.code !== "UNAUTHORIZED") return cause;
      if (ip === null || ip === undefined) return cause;
      try {
        return countWrong(cause.fault.reason, ip) ?? countAnonymous(ip) ?? cause;
      } catch {
        return cause; // no free counter: the refusal itself stands
      }
    },
  };
}

function tooMany(message: string, cure: string, seconds: number): AppError {
  return new AppError("TOO_MANY_REQUESTS", "rate_ip", message, {
    remedy: `${cure}, or retry after ${seconds} s`,
    retryAfterSeconds: seconds,
  });
}
