// Whoever holds something open (a stream, a running call, an agent) is looked at again whenever somebody's rights
// change, and when their time is over: what stands no more is told so at once.
import type { Caller, Mandate } from "../../contract/call.ts";

/** A caller as they are now, and when that runs out by itself. */
export interface CallerStatus {
  readonly caller: Caller;
  readonly until: number | null;
}

export interface CallerWatch {
  /**
   * `changed` hears the caller as they are from now on whenever their rights have changed, and null once they stand no
   * more: the key was revoked or has run out, the sign-in has ended, the user is gone. Then the watch is over.
   */
  watch(caller: Caller, changed: (now: Caller | null) => void): () => void;
  /** Keys, users, capsules or sign-ins have changed. */
  recheck(): void;
  close(): void;
}

export interface CallerWatchPowers {
  /** Null: stands no more. Rejects when the store does not answer. */
  readonly statusOf: (mandate: Mandate) => Promise<CallerStatus | null>;
  readonly mandateOf: (caller: Caller) => Mandate;
  readonly now: () => number;
  readonly report: (message: string, fields: object) => void;
}

interface Group {
  readonly key: string;
  readonly mandate: Mandate;
  readonly watchers: Set<(now: Caller | null) => void>;
  /** Their rights as they were told last. */
  told: string;
  until: number | null;
  checking: boolean;
  again: boolean;
  failedSince: number | null;
}

const TICK_MS = 200;
/** Who cannot be looked up for so long is taken for gone: nothing may outlive a revocation that cannot be heard. */
const UNKNOWN_FOR_MS = 5_000;

export function createCallerWatch(p: CallerWatchPowers): CallerWatch {
  const groups = new Map<string, Group>();
  let timer: NodeJS.Timeout | undefined;

  const tell = (group: Group, now: Caller | null): void => {
    for (const changed of [...group.watchers]) changed(now);
  };

  const end = (group: Group): void => {
    if (groups.get(group.key) === group) groups.delete(group.key);
    tell(group, null);
    group.watchers.clear();
  };

  const check = (group: Group): void => {
    group.again = true;
    if (group.checking) return;
    group.checking = true;
    const done = (): void => void (group.checking = false);
    lookAt(group).then(done, done);
  };

  /** Never rejects. */
  const lookAt = async (group: Group): Promise<void> => {
    try {
      do {
        group.again = false;
        const stand = await p.statusOf(group.mandate);
        group.failedSince = null;
        if (groups.get(group.key) !== group) return;
        if (stand === null) return end(group);
        group.until = stand.until;
        const rights = JSON.stringify(p.mandateOf(stand.caller));
        if (rights !== group.told) {
          group.told = rights;
          tell(group, stand.caller);
        }
      } while (group.again);
    } catch (cause) {
      const failedSince = (group.failedSince ??= p.now());
      if (p.now() - failedSince > UNKNOWN_FOR_MS) {
        p.report("whoever holds something open could not be looked up: it is ended", {
          err: cause,
        });
        end(group);
      }
    }
  };

  const tick = (): void => {
    const now = p.now();
    for (const group of groups.values()) {
      if (group.failedSince !== null || (group.until !== null && group.until <= now)) check(group);
    }
    if (groups.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };

  return {
    watch(caller, changed) {
      const mandate = p.mandateOf(caller);
      const key = JSON.stringify(mandate);
      let group = groups.get(key);
      if (!group) {
        group = {
          key,
          mandate,
          watchers: new Set(),
          told: key,
          until: null,
          checking: false,
          again: false,
          failedSince: null,
        };
        groups.set(key, group);
      }
      group.watchers.add(changed);
      // Between the moment somebody was identified and this one they may have lost it.
      check(group);
      timer ??= setInterval(tick, TICK_MS).unref();
      const mine = group;
      return () => {
        mine.watchers.delete(changed);
        if (mine.watchers.size === 0 && groups.get(key) === mine) groups.delete(key);
      };
    },
    recheck() {
      for (const group of groups.values()) check(group);
    },
    close() {
      clearInterval(timer);
      groups.clear();
    },
  };
}
