// Callers with something open (a stream, a running call, an agent) are checked again with every change of rights, and
// when their key or sign-in runs out; what may not go on is notified at once.
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
  /** Their rights as of the last notification. */
  notified: string;
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

  const notify = (group: Group, now: Caller | null): void => {
    for (const changed of [...group.watchers]) changed(now);
  };

  const end = (group: Group): void => {
    if (groups.get(group.key) === group) groups.delete(group.key);
    notify(group, null);
    group.watchers.clear();
  };

  const check = (group: Group): void => {
    group.again = true;
    if (group.checking) return;
    group.checking = true;
    const done = (): void => void (group.checking = false);
    checkRights(group).then(done, done);
  };

  /** Never rejects. */
  const checkRights = async (group: Group): Promise<void> => {
    try {
      do {
        group.again = false;
        const status = await p.statusOf(group.mandate);
        group.failedSince = null;
        if (groups.get(group.key) !== group) return;
        if (status === null) return end(group);
        group.until = status.until;
        const rights = JSON.stringify(p.mandateOf(status.caller));
        if (rights !== group.notified) {
          group.notified = rights;
          notify(group, status.caller);
        }
      } while (group.again);
    } catch (cause) {
      const failedSince = (group.failedSince ??= p.now());
      if (p.now() - failedSince > UNKNOWN_FOR_MS) {
        p.report("a caller with something open could not be looked up: it is ended", {
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
          notified: key,
          until: null,
          checking: false,
          again: false,
          failedSince: null,
        };
        groups.set(key, group);
      }
      group.watchers.add(changed);
      // The rights may have been lost between identification and this moment.
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
