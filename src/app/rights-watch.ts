// Ends what runs or is held open when the rights of its caller end: calls, agents, workflow runs, streams, and the
// approvals that wait on their behalf.
import { mandateOf } from "../contract/call.ts";
import type { Identity } from "../core/identity/index.ts";
import { createCallerWatch, type CallerWatch } from "../core/identity/caller-watch.ts";
import type { Active, ActiveEntry } from "../core/run/active.ts";

export interface RightsWatchParts {
  readonly identity: Pick<Identity, "standOf">;
  readonly active: Pick<Active, "all">;
  /** Closes approvals whose call, run or agent has ended. */
  readonly closeOver: () => Promise<unknown>;
  readonly now: () => number;
  readonly background: (work: Promise<unknown>) => void;
  readonly report: (message: string, fields: object) => void;
}

export interface RightsWatch extends Pick<CallerWatch, "watch"> {
  /** To be called when rights have changed, here or on another instance. */
  changed(): void;
  /** To be called when a run, an agent or a call has ended: approvals that waited for it are closed. */
  ended(): void;
  close(): void;
}

/** Shorter calls are not watched: most have ended before their rights could be checked again. */
const LASTING_MS = 500;
const REVOKED = "the key, sign-in or user it ran for is not active any more";

export function openRightsWatch(p: RightsWatchParts): RightsWatch {
  const callers = createCallerWatch({
    statusOf: (mandate) => p.identity.standOf(mandate),
    mandateOf,
    now: p.now,
    report: p.report,
  });
  const watched = new WeakSet<ActiveEntry>();

  const watch = (entry: ActiveEntry): void => {
    if (watched.has(entry)) return;
    watched.add(entry);
    const unwatch = callers.watch(entry.call.caller, (now) => {
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
    watch: (caller, changed) => callers.watch(caller, changed),
    changed() {
      for (const entry of p.active.all()) watch(entry);
      callers.recheck();
      p.background(closeOver());
    },
    ended: () => p.background(closeOver()),
    close() {
      clearInterval(lasting);
      callers.close();
    },
  };
}
