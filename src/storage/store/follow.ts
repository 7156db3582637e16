// How instances on one shared store notice each other's changes: a number per subject that rises, and a lease.
// An instance that has not read them for as long as the lease must not trust its caches. So once the lease has passed a
// change is in force everywhere, and only then is it acknowledged.
import { AppError } from "../../contract/errors.ts";
import type { State } from "../state/state.ts";
import type { Store } from "./store.ts";

const CHANNEL = "revisions";

type Listener = () => void | Promise<void>;

export interface Follower {
  /** Resolves after the first read of the store. */
  readonly ready: Promise<void>;
  /**
   * Called after another instance changed `name`; what is changed here, through `changed`, is the caller's to apply.
   * Register first, load afterwards: then nothing falls between. A listener that throws is called again.
   */
  on(name: string, listener: Listener): () => void;
  /** After the change is stored. Resolves when every instance has noticed, or no longer trusts what it knows. */
  changed(name: string): Promise<void>;
  /** Throws while changes of other instances may be unknown here. */
  assertFresh(): void;
  close(): void;
}

export interface FollowerPowers {
  readonly store: Pick<Store, "shared" | "revisions">;
  /** Makes noticing quicker; nothing depends on it. */
  readonly state?: Pick<State, "publish" | "subscribe"> | null;
  readonly now: () => number;
  readonly pollMs?: number;
  readonly leaseMs?: number;
}

export function createFollower(powers: FollowerPowers): Follower {
  return powers.store.shared ? following(powers) : alone(powers.store);
}

/** One instance: a change is applied where it is made, and there is no other instance to notify. */
function alone(store: FollowerPowers["store"]): Follower {
  return {
    ready: Promise.resolve(),
    on: () => () => {},
    async changed(name) {
      await store.revisions.bump(name);
    },
    assertFresh() {},
    close() {},
  };
}

interface Entry {
  readonly name: string;
  readonly listener: Listener;
  /** The revision it knows. */
  seen: number;
  failed: boolean;
}

function following(powers: FollowerPowers): Follower {
  const { store, state = null, now, pollMs = 400, leaseMs = 1200 } = powers;
  const entries = new Set<Entry>();
  let known: Readonly<Record<string, number>> = {};
  let lookedAt = -Infinity;
  let timer: NodeJS.Timeout | null = null;
  let queued = false;
  let closed = false;
  let turn: Promise<unknown> = Promise.resolve();
  const { promise: ready, resolve: firstLook } = Promise.withResolvers<void>();

  /** One after the other: a read must not see a change of our own half-done and take it for a foreign one. */
  function inTurn<T>(work: () => Promise<T>): Promise<T> {
    const next = turn.then(work);
    turn = next.catch(() => {});
    return next;
  }

  async function look(): Promise<void> {
    queued = false;
    const began = now();
    try {
      known = await store.revisions.all();
      await Promise.all([...entries].map(tell));
      lookedAt = began;
      firstLook();
    } catch {
      // The store does not answer: the lease runs out, and the next look tries again.
    }
  }

  async function tell(entry: Entry): Promise<void> {
    const revision = known[entry.name] ?? 0;
    if (revision === entry.seen) return;
    try {
      await entry.listener();
      entry.seen = revision;
      entry.failed = false;
    } catch {
      // Repeated with the next read; until then nothing here counts as fresh.
      entry.failed = true;
    }
  }

  function soon(ms: number): void {
    if (timer) clearTimeout(timer);
    timer = closed ? null : setTimeout(lookNow, ms).unref();
  }

  function lookNow(): void {
    if (queued || closed) return;
    queued = true;
    inTurn(look).then(
      () => soon(pollMs),
      () => soon(pollMs),
    );
  }

  const unsubscribe = state?.subscribe(CHANNEL, lookNow);
  lookNow();

  return {
    ready,
    on(name, listener) {
      const entry: Entry = { name, listener, seen: known[name] ?? 0, failed: false };
      entries.add(entry);
      return () => entries.delete(entry);
    },
    async changed(name) {
      await inTurn(async () => {
        const revision = await store.revisions.bump(name);
        for (const entry of entries) {
          // A gap means that others changed it too: then the next read finds it.
          if (entry.name === name && entry.seen === revision - 1) entry.seen = revision;
        }
        known = { ...known, [name]: revision };
      });
      announce(state, name);
      await new Promise((resolve) => setTimeout(resolve, leaseMs));
    },
    assertFresh() {
      const age = now() - lookedAt;
      const failed = [...entries].find((entry) => entry.failed);
      if (!failed && age >= 0 && age < leaseMs) return;
      const why = failed
        ? `a change of ${failed.name} could not be applied`
        : "the store has not answered in time";
      throw new AppError(
        "UNAVAILABLE",
        "engine_unavailable",
        `changes of other instances may be missing here: ${why}`,
        {
          remedy: "it is tried again by itself; check the connection to the database",
        },
      );
    },
    close() {
      closed = true;
      if (timer) clearTimeout(timer);
      unsubscribe?.();
    },
  };
}

function announce(state: FollowerPowers["state"], name: string): void {
  // A notice that is lost costs others a poll, not the change.
  void Promise.try(() => state?.publish(CHANNEL, name)).catch(() => {});
}
