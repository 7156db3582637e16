// What runs or is held open ends with the rights of whoever it is for: calls under way, agents, runs, streams, and the
// questions that wait on their behalf.
import { mandateOf } from "../contract/call.ts";
import type { Identity } from "../core/identity/index.ts";
import { createCallerWatch, type CallerWatch } from "../core/identity/caller-watch.ts";
import type { Active, ActiveEntry } from "../core/run/active.ts";

export interface StandingParts {
  readonly identity: Pick<Identity, "standOf">;
  readonly active: Pick<Active, "all">;
  /** Ends approvals that nobody waits for any more. */
  readonly closeOver: () => Promise<unknown>;
  readonly now: () => number;
  readonly background: (work: Promise<unknown>) => void;
  readonly report: (message: string, fields: object) => void;
}

export interface OpenedStanding extends Pick<CallerWatch, "watch"> {
  /** Somebody's rights have changed, here or on another instance. */
  changed(): void;
  /** A run, an agent or a call has ended: what waited on its behalf is over. */
  ended(): void;
  close(): void;
}

/** Most calls are over sooner, and are never looked at. */
const LASTING_MS = 500;
const REVOKED = "the key, sign-in or user it ran for is not active any more";

export function openStanding(p: StandingParts): OpenedStanding {
  const standing = createCallerWatch({
    statusOf: (mandate) => p.identity.standOf(mandate),
    mandateOf,
    now: p.now,
    report: p.report,
  });
  const watched = new WeakSet<ActiveEntry>();

  const watch = (entry: ActiveEntry): void => {
    if (watched.has(entry)) return;
    watched.add(entry);
    const unwatch = standing.watch(entry.call.caller, (now) => {
      if (now !== null) return;
      entry.note ??= REVOKED;
      entry.abort("user");
    });
    entry.ended.then(unwatch, unwatch);
  };

  const lasting = setInterval(() => {
    const before = p.now() - LASTING_MS;
    for (const entry of p.active.all()) if (entry.call.startedAt <= before) watch(entry);
  }, LASTING_MS);
  lasting.unref();

  let closing = false;
  let again = false;
  const closeOver = async (): Promise<void> => {
    again = true;
    if (closing) return;
    closing = true;
    try {
      while (again) {
        again = false;
        await p.closeOver();
      }
    } finally {
      closing = false;
    }
  };

  return {
    watch: (caller, changed) => standing.watch(caller, changed),
    changed() {
      for (const entry of p.active.all()) watch(entry);
      standing.recheck();
      p.background(closeOver());
    },
    ended: () => p.background(closeOver()),
    close() {
      clearInterval(lasting);
      standing.close();
    },
  };
}
