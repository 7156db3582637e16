// Requests that nobody answers for, per address: without a credential, with a wrong one, or anonymous. A right credential
// always works.
import { AppError } from "../../contract/errors.ts";
import type { Taken, Window } from "../../storage/state/state.ts";
import { networkOf } from "../../util/network.ts";

export interface Attempts {
  /** What to answer to a refused credential: the refusal itself, or (too many of them) another one. */
  refused(cause: unknown, ip: string | null | undefined): unknown;
  /** What to answer to an anonymous request; null: it may go on. */
  anonymous(ip: string | null | undefined): AppError | null;
}

export interface AttemptsPowers {
  /** This process's own: guessing must not reach a shared server. */
  readonly state: { take(windows: readonly Window[]): Taken };
  /** Requests per minute of one address; null: no window. */
  readonly perMinute: () => number | null;
}

/** Wrong credentials have a window of their own: after a few dozen in a minute the next wrong one is told to wait. */
const GUESSES_PER_MINUTE = 30;
const GUESSES: readonly string[] = ["bad_credentials", "key_inactive"];

export function createAttempts({ state, perMinute }: AttemptsPowers): Attempts {
  /** Seconds to wait; null: there was room. */
  const wait = (what: string, ip: string, limit: number): number | null => {
    const { ok, windows } = state.take([
      { key: `${what}:${networkOf(ip)}:minute`, limit, windowMs: 60_000 },
    ]);
    return ok ? null : Math.max(1, Math.ceil((windows[0]?.resetMs ?? 0) / 1000));
  };

  const anonymous: Attempts["anonymous"] = (ip) => {
    const limit = perMinute();
    if (limit === null || ip === null || ip === undefined) return null;
    const seconds = wait("requests", ip, limit);
    if (seconds === null) return null;
    const message = `more than ${limit} requests per minute from this address without a credential that is known (ip-minute)`;
    return tooMany(message, "send a key that is known", seconds);
  };

  const guessed = (reason: string, ip: string): AppError | null => {
    if (!GUESSES.includes(reason)) return null;
    const seconds = wait("credentials", ip, GUESSES_PER_MINUTE);
    if (seconds === null) return null;
    const message = `more than ${GUESSES_PER_MINUTE} wrong credentials per minute from this address`;
    return tooMany(message, "correct the key", seconds);
  };

  return {
    anonymous,
    refused(cause, ip) {
      if (!(cause instanceof AppError) || cause.code !== "UNAUTHORIZED") return cause;
      if (ip === null || ip === undefined) return cause;
      try {
        return guessed(cause.fault.reason, ip) ?? anonymous(ip) ?? cause;
      } catch {
        return cause; // every counter is in use: the credential stays refused for what it is
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
