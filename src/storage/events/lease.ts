// The right to send events on: one server of those that share the store holds it, with the position up to which all is
// sent.
import type { RelayPowers } from "./relay.ts";

export interface Lease {
  /** Everything up to here is sent; null while the lease is not ours. */
  readonly sentTo: number | null;
  /** Takes it where it is free; answers `sentTo`. */
  take(): Promise<number | null>;
  /** Keeps it for as long again. */
  renew(): Promise<void>;
  /** Stores that everything up to here is sent. */
  advance(to: number): Promise<void>;
  /** Another server may reach what this one cannot. */
  giveUp(): Promise<void>;
  /** Events that still have to be sent on, of all servers. */
  pending(): Promise<number>;
}

const CURSOR = "sink";
/** One process owns a store that is not shared: its lease need not end. */
const FOR_EVER_MS = 100 * 365 * 86_400_000;

export function createLease(
  { store, owner, from, now }: Pick<RelayPowers, "store" | "owner" | "from" | "now">,
  leaseMs: number,
): Lease {
  let sentTo: number | null = null;

  async function hold(): Promise<number | null> {
    const at = now();
    const known = sentTo ?? (await store.cursors.seq(CURSOR));
    const start = known === null && from === "now" ? await store.log.head() : 0;
    return store.cursors.hold(
      CURSOR,
      owner,
      at,
      at + (store.shared ? leaseMs : FOR_EVER_MS),
      start,
    );
  }

  return {
    get sentTo() {
      return sentTo;
    },
    async take() {
      sentTo ??= await hold();
      return sentTo;
    },
    async renew() {
      if (sentTo === null) return;
      if ((await hold()) === null) sentTo = null;
    },
    async advance(to) {
      // Taken over meanwhile: the other began where we were, and sends the same again.
      if (!(await store.cursors.advance(CURSOR, owner, to))) sentTo = null;
      else if (sentTo !== null) sentTo = to;
    },
    async giveUp() {
      sentTo = null;
      await store.cursors.release(CURSOR, owner).catch(() => undefined); // it runs out by itself
    },
    async pending() {
      const [head, seq] = await Promise.all([store.log.head(), store.cursors.seq(CURSOR)]);
      return Math.max(0, head - (seq ?? (from === "now" ? head : 0)));
    },
  };
}
