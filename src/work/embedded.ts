// The work port on the store: items that are due are leased, advanced here, and given back. The leases of an instance
// that dies remain until they expire; then another instance continues its items.
import type { LeasedItem, Store } from "../storage/store/store.ts";
import { createHolding } from "./holding.ts";
import type { Advance, AdvanceItem, Work, WorkItem } from "./work.ts";

export interface EmbeddedPowers {
  readonly items: Store["workItems"];
  /** Used by one process at a time. */
  readonly instanceId: string;
  readonly now: () => number;
  readonly report: (message: string, fields: object) => void;
  readonly times?: Partial<WorkTimes>;
}

export interface WorkTimes {
  /** How long an item of a dead instance waits at most. */
  readonly leaseMs: number;
  readonly renewMs: number;
  /** How long it takes at most until this instance sees items that other instances have added or woken. */
  readonly pollMs: number;
}

const TIMES: WorkTimes = { leaseMs: 10_000, renewMs: 3_000, pollMs: 500 };
/** Items of each kind. */
const AT_ONCE = 50;
const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 60_000;

export function createEmbeddedWork(p: EmbeddedPowers): Work {
  const { items, instanceId, now, report } = p;
  const times = { ...TIMES, ...p.times };
  const served = new Map<string, AdvanceItem>();
  const holding = createHolding({ ...p, ...times });
  let closed: Promise<void> | null = null;
  let timer: NodeJS.Timeout | undefined;
  let looking: Promise<void> | null = null;
  let again = false;
  /** Items that this instance held when it was killed are freed before it looks for the first time. */
  let freed = false;

  /** Looks at once; further requests during a look cause only one more. */
  function look(): void {
    if (closed !== null || served.size === 0) return;
    if (looking !== null) {
      again = true;
      return;
    }
    clearTimeout(timer);
    looking = takeDue()
      .catch((cause: unknown) => {
        report("background work could not be read", { err: cause });
        return times.pollMs;
      })
      .then((waitMs) => {
        looking = null;
        if (closed !== null) return;
        if (again) {
          again = false;
          look();
          return;
        }
        timer = setTimeout(look, waitMs);
        timer.unref();
      });
  }

  /** Takes what is due, and answers when to look again. */
  async function takeDue(): Promise<number> {
    if (!freed) {
      await items.free(instanceId);
      freed = true;
    }
    // Each kind has its own limit: items that wait for another kind must not block that kind.
    const kinds = [...served.keys()].filter((kind) => holding.size(kind) < AT_ONCE);
    const next = await items.nextAt(kinds);
    if (next === null) return times.pollMs;
    const at = now();
    if (next > at) return Math.min(times.pollMs, next - at);
    const until = at + times.leaseMs;
    let taken = 0;
    for (const kind of kinds) {
      const limit = AT_ONCE - holding.size(kind);
      const due = await items.lease({ kinds: [kind], instanceId, now: at, until, limit });
      for (const item of due)
        advance(item, until).catch((cause: unknown) => {
          // The lease expires by itself, and then an instance takes the item again.
          report("background work could not be given back", { err: cause, ...named(item) });
        });
      taken += due.length;
    }
    // The remaining items wait until one of these is given back, or another instance takes them.
    return taken > 0 ? 0 : times.pollMs;
  }

  async function advance(item: LeasedItem, until: number): Promise<void> {
    const held = holding.hold(item, until);
    try {
      const [end, failures] = await attempt(item, held.signal);
      // The lease is renewed until the item is given back.
      if (held.signal.reason !== "lost") await giveBack(item, end, failures);
    } finally {
      held.release();
      look();
    }
  }

  async function attempt(item: LeasedItem, signal: AbortSignal): Promise<[Advance, number]> {
    const goOn = served.get(item.kind);
    try {
      if (!goOn) throw new Error(`nobody serves ${item.kind}`);
      // Taken while this instance was stopping: another one continues it.
      if (closed !== null) return [{ done: false, at: now() }, item.failures];
      return [await goOn({ kind: item.kind, id: item.id }, signal), 0];
    } catch (cause) {
      if (signal.aborted) return [{ done: false, at: now() }, item.failures];
      const failures = item.failures + 1;
      const pause = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** Math.min(failures - 1, 16));
      report("background work failed and is tried again", {
        err: cause,
        ...named(item),
        failures,
        pauseMs: pause,
      });
      return [{ done: false, at: now() + pause }, failures];
    }
  }

  async function giveBack(item: LeasedItem, end: Advance, failures: number): Promise<void> {
    const kept = end.done
      ? await items.done(item, now())
      : await items.giveBack(item, { at: end.at, now: now(), failures });
    if (!kept) report("background work was taken by another instance", named(item));
  }

  return {
    async add({ kind, id }, at = now()) {
      await items.add({ kind, id, at, now: now() });
      look();
    },
    async wake({ kind, id }) {
      if (await items.wake(kind, id, now())) look();
    },
    serve(kind, advanceItem) {
      served.set(kind, advanceItem);
      look();
    },
    close() {
      closed ??= (async () => {
        clearTimeout(timer);
        await looking;
        await holding.close();
      })();
      return closed;
    },
  };
}

const named = ({ kind, id }: WorkItem): { kind: string; item: string } => ({ kind, item: id });
