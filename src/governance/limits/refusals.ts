// Refused calls have a window of their own: a caller with too many has to wait, and not each of them is recorded.
import type { Caller } from "../../contract/call.ts";
import type { Fault } from "../../contract/errors.ts";
import type { Taken, Window } from "../../storage/state/state.ts";
import { networkOf } from "../../util/network.ts";

export interface Refusals {
  /**
   * What to answer to one more refusal, and whether it is recorded: the first beyond the limit is, those after it are
   * not.
   */
  next(
    caller: Caller,
    ip: string | null,
  ): { readonly fault: Fault; readonly recorded: boolean } | null;
  /** Records what was left out so far; before the server stops. */
  flush(): Promise<void>;
}

/** Refusals of one caller that have no record each: how many, and when the first and the last one came. */
export interface Suppressed {
  readonly count: number;
  readonly since: number;
  readonly until: number;
  readonly keyId: string | null;
  readonly ip: string | null;
}

export interface RefusalsPowers {
  /** Of this process: a refusal must not reach a shared server. */
  readonly state: { take(windows: readonly Window[]): Taken };
  readonly perMinute: number;
  readonly enabled: boolean;
  readonly now: () => number;
  /** One event for all that was left out of a caller's window: nothing happens unrecorded. */
  readonly note: (who: Caller, left: Suppressed) => Promise<void>;
}

const MINUTE = 60_000;
/** Callers with something left out at a time; with more, the first of them are recorded early. */
const MOST_CALLERS = 10_000;

interface Left {
  readonly caller: Caller;
  readonly ip: string | null;
  readonly since: number;
  until: number;
  count: number;
  timer: NodeJS.Timeout;
}

export function createRefusals(powers: RefusalsPowers): Refusals {
  const { state, perMinute, enabled, now, note } = powers;
  const left = new Map<string, Left>();

  const tell = async (who: string): Promise<void> => {
    const entry = left.get(who);
    if (!entry) return;
    left.delete(who);
    clearTimeout(entry.timer);
    const { caller, ip, count, since, until } = entry;
    await note(caller, { count, since, until, keyId: caller.keyId, ip });
  };

  const leaveOut = (who: string, caller: Caller, ip: string | null, resetMs: number): void => {
    const at = now();
    const known = left.get(who);
    if (known) {
      known.count++;
      known.until = at;
      return;
    }
    const timer = setTimeout(
      () => void tell(who).catch(noted),
      Math.min(MINUTE, Math.max(1, resetMs)),
    ).unref();
    left.set(who, { caller, ip, since: at, until: at, count: 1, timer });
    const [first] = left.keys();
    if (left.size > MOST_CALLERS && first !== undefined) tell(first).catch(noted);
  };

  const take = (key: string, limit: number): Taken =>
    state.take([{ key, limit, windowMs: MINUTE }]);
  return {
    next(caller, ip) {
      if (!enabled) return null;
      const who = groupOf(caller, ip);
      const taken = take(`refusals:${who}:minute`, perMinute);
      if (taken.ok) return null;
      const seconds = Math.max(1, Math.ceil((taken.windows[0]?.resetMs ?? 0) / 1000));
      const fault: Fault = {
        code: "TOO_MANY_REQUESTS",
        reason: "rate_refusals",
        message: `more than ${perMinute} refused calls per minute`,
        remedy: `check why the calls before were refused; retry after ${seconds} s`,
        retryAfterSeconds: seconds,
      };
      const recorded = take(`refusals-told:${who}:minute`, 1).ok;
      if (!recorded) leaveOut(who, caller, ip, taken.windows[0]?.resetMs ?? MINUTE);
      return { fault, recorded };
    },
    async flush() {
      await Promise.all([...left.keys()].map(tell));
    },
  };
}

/** The recorder itself reports why it could not be written. */
const noted = (): void => undefined;

/** One group per key; callers without one are grouped by address. */
function groupOf({ tenantId, userId, keyId, via }: Caller, ip: string | null): string {
  if (via === "anonymous" && ip !== null) return networkOf(ip);
  return `${tenantId}/${userId}/${keyId ?? ""}`;
}
