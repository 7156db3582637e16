// The items that this instance advances right now: it renews their leases as long as it lives.
import type { LeasedItem, Store } from "../storage/store/store.ts";

export interface HoldingPowers {
  readonly items: Pick<Store["workItems"], "renew">;
  readonly instanceId: string;
  readonly now: () => number;
  readonly report: (message: string, fields: object) => void;
  readonly leaseMs: number;
  readonly renewMs: number;
}

export interface Holding {
  hold(item: LeasedItem, until: number): { readonly signal: AbortSignal; release(): void };
  size(kind: string): number;
  /** Tells all of them to end, and waits until they are released; their leases are kept until then. */
  close(): Promise<void>;
}

interface Held {
  readonly item: LeasedItem;
  readonly controller: AbortController;
  readonly released: PromiseWithResolvers<void>;
  until: number;
}

export function createHolding(p: HoldingPowers): Holding {
  const { items, instanceId, now, report, leaseMs, renewMs } = p;
  const all = new Set<Held>();
  let closing = false;
  let renewing = false;
  let timer: NodeJS.Timeout | undefined;

  const lose = (held: Held): void => {
    const { kind, id } = held.item;
    report("the lease of background work was lost; another instance goes on with it", {
      kind,
      item: id,
    });
    held.controller.abort("lost");
  };

  async function renew(): Promise<void> {
    const mine = [...all].filter(({ controller }) => controller.signal.reason !== "lost");
    if (renewing || mine.length === 0) return;
    renewing = true;
    const until = now() + leaseMs;
    try {
      const kept = await items.renew(
        instanceId,
        mine.map(({ item }) => item),
        until,
      );
      const keys = new Set(kept.map(keyOf));
      for (const held of mine) {
        if (keys.has(keyOf(held.item))) held.until = until;
        else if (all.has(held)) lose(held);
      }
    } finally {
      renewing = false;
    }
  }

  const unrenewed = (cause: unknown): void => {
    report("leases of background work could not be renewed", { err: cause });
    // Before the lease ends: no other instance may have the item while this one still advances it.
    for (const held of all)
      if (now() + renewMs >= held.until && held.controller.signal.reason !== "lost") lose(held);
  };

  return {
    hold(item, until) {
      const controller = new AbortController();
      const held: Held = { item, controller, until, released: Promise.withResolvers() };
      all.add(held);
      if (closing) controller.abort("shutdown");
      timer ??= setInterval(() => void renew().catch(unrenewed), renewMs).unref();
      return {
        signal: controller.signal,
        release() {
          all.delete(held);
          held.released.resolve();
          if (all.size > 0) return;
          clearInterval(timer);
          timer = undefined;
        },
      };
    },
    size: (kind) => [...all].filter(({ item }) => item.kind === kind).length,
    async close() {
      closing = true;
      for (const { controller } of all) controller.abort("shutdown");
      await Promise.all([...all].map(({ released }) => released.promise));
    },
  };
}

const keyOf = ({ kind, id, lease }: Pick<LeasedItem, "kind" | "id" | "lease">): string =>
  JSON.stringify([kind, id, lease]);
