// Follows the log and sends it on. The log is the outbox: an event that is durable there will arrive, and no call
// waits for it.
import { AppError } from "../../contract/errors.ts";
import type { LedgerRow, Store } from "../store/store.ts";
import { sinkEvent } from "./event.ts";
import { atMost, createPauses } from "./pauses.ts";
import type { Sink, SinkEvent } from "./sink.ts";

export interface RelayPowers {
  readonly store: Pick<Store, "log" | "cursors" | "shared">;
  readonly sink: Sink;
  /** This server, among those that share the store. */
  readonly owner: string;
  /** Where a sink that was never sent anything begins. */
  readonly from: "start" | "now";
  readonly now: () => number;
  readonly log: Log;
  readonly timing?: Partial<Timing>;
}

interface Log {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}

/** All in ms. */
interface Timing {
  /** Another server takes over after this long without a sign of life. */
  readonly lease: number;
  /** Events are gathered this long. */
  readonly linger: number;
  /** How often the log is looked at when nobody says that it grew: other servers write it too. */
  readonly poll: number;
  readonly firstBackoff: number;
  readonly longestBackoff: number;
  /** How long a stop may take. */
  readonly close: number;
}

export interface RelayFigures {
  /** Events that still have to be sent on, of all servers on the store. */
  readonly pending: number;
  /** Why the last attempt failed; null once one succeeded. */
  readonly lastError: string | null;
  /** Epoch ms; null when this server has sent nothing yet. */
  readonly lastSuccess: number | null;
  /** False: another server does it. */
  readonly relaying: boolean;
}

export interface Relay {
  /** The log grew. Costs nothing worth mentioning, so it may be told of every event. */
  wake(): void;
  pending(): Promise<number>;
  figures(): Promise<RelayFigures>;
  /** One last attempt, then the lease is given back. */
  close(): Promise<void>;
}

const CURSOR = "sink";
const TIMING: Timing = {
  lease: 10_000,
  linger: 25,
  poll: 1_000,
  firstBackoff: 250,
  longestBackoff: 10_000,
  close: 3_000,
};
/** One process owns a store that is not shared: its lease need not end. */
const FOR_EVER_MS = 100 * 365 * 86_400_000;
const MOST_EVENTS = 500;
/** Below what a topic takes at once unless told otherwise (1 MB), keys and headers included. */
const MOST_BYTES = 800_000;
const OVERHEAD_BYTES = 300;
const WARN_EVERY_MS = 60_000;

export function startRelay(p: RelayPowers): Relay {
  const { store, sink, owner } = p;
  const timing = { ...TIMING, ...p.timing };
  const pauses = createPauses();
  /** How far it is sent; null while the lease is not ours. */
  let sentTo: number | null = null;
  let grown = false;
  let pageSize = MOST_EVENTS;
  let failures = 0;
  let warnedAt = 0;
  let lastError: string | null = null;
  let lastSuccess: number | null = null;

  async function hold(): Promise<number | null> {
    const now = p.now();
    const known = sentTo ?? (await store.cursors.seq(CURSOR));
    const start = known === null && p.from === "now" ? await store.log.head() : 0;
    return store.cursors.hold(
      CURSOR,
      owner,
      now,
      now + (store.shared ? timing.lease : FOR_EVER_MS),
      start,
    );
  }

  /** Sends one batch. */
  async function step(): Promise<"more" | "done" | "not ours"> {
    sentTo ??= await hold();
    if (sentTo === null) return "not ours";
    const rows = await store.log.read(sentTo, pageSize);
    const [first] = rows;
    if (first === undefined) return "done";
    if (first.seq > sentTo + 1)
      p.log.warn(
        { from: sentTo + 1, to: first.seq - 1 },
        "events that lie in the archive only are not sent on",
      );
    const batch = gather(rows);
    pageSize = Math.max(
      1,
      Math.min(MOST_EVENTS, Math.ceil((2 * MOST_BYTES * batch.events.length) / batch.bytes)),
    );
    await sink.deliver(batch.events);
    lastSuccess = p.now();
    // Taken over meanwhile: the other began where we were, and sends the same again.
    if (!(await store.cursors.advance(CURSOR, owner, batch.last))) sentTo = null;
    else if (sentTo !== null) sentTo = batch.last;
    // A page ends early where events are large: only an empty one is the end.
    return "more";
  }

  async function attempt(): Promise<"more" | "done" | "not ours" | "failed"> {
    try {
      const outcome = await step();
      if (failures > 0 && outcome !== "not ours")
        p.log.info({ attempts: failures }, "audit events are sent on again");
      failures = 0;
      lastError = null;
      return outcome;
    } catch (cause) {
      failures++;
      lastError = cause instanceof AppError ? cause.message : "the log cannot be read";
      if (failures === 1 || p.now() - warnedAt >= WARN_EVERY_MS) {
        warnedAt = p.now();
        p.log.warn(
          { err: cause, attempts: failures },
          "audit events cannot be sent on; they wait in the log",
        );
      }
      await giveUpLease();
      return "failed";
    }
  }

  /** Another server may reach what this one cannot. */
  async function giveUpLease(): Promise<void> {
    sentTo = null;
    await store.cursors.release(CURSOR, owner).catch(() => undefined); // it runs out by itself
  }

  async function run(): Promise<void> {
    while (!pauses.stopped) {
      grown = false;
      const outcome = await attempt();
      if (outcome === "failed") await pauses.rest(backoff());
      else if (outcome === "not ours") await pauses.rest(timing.lease / 3);
      else if (outcome === "done" && !grown) await pauses.untilWoken(timing.poll);
      if (outcome === "done") await pauses.rest(timing.linger);
    }
  }

  function backoff(): number {
    const whole = Math.min(
      timing.longestBackoff,
      timing.firstBackoff * 2 ** Math.min(failures - 1, 20),
    );
    return whole * (0.5 + Math.random() / 2);
  }

  async function renew(): Promise<void> {
    if (sentTo === null) return;
    if ((await hold()) === null) sentTo = null;
  }

  async function pending(): Promise<number> {
    const [head, seq] = await Promise.all([store.log.head(), store.cursors.seq(CURSOR)]);
    return Math.max(0, head - (seq ?? (p.from === "now" ? head : 0)));
  }

  const heartbeat = store.shared
    ? setInterval(() => {
        renew().catch(() => undefined); // no answer: it still holds, or runs out
      }, timing.lease / 3)
    : undefined;
  heartbeat?.unref();
  const running = run();
  let closing: Promise<void> | null = null;

  async function shutDown(): Promise<void> {
    const deadline = performance.now() + timing.close;
    pauses.stop();
    const drained = running.then(async () => {
      while (performance.now() < deadline && (await attempt()) === "more");
    });
    await atMost(timing.close, drained);
    clearInterval(heartbeat);
    // Ends an attempt that is still under way.
    await sink.close();
    await atMost(timing.close, drained);
    await giveUpLease();
  }

  return {
    wake() {
      if (grown) return;
      grown = true;
      pauses.wake();
    },
    pending,
    figures: async () => ({
      pending: await pending(),
      lastError,
      lastSuccess,
      relaying: sentTo !== null,
    }),
    close: () => (closing ??= shutDown()),
  };
}

/** As many as fit, one at least. */
function gather(rows: readonly LedgerRow[]): { events: SinkEvent[]; bytes: number; last: number } {
  const events: SinkEvent[] = [];
  let bytes = 0;
  let last = 0;
  for (const row of rows) {
    const event = sinkEvent(row);
    const size = Buffer.byteLength(event.line) + OVERHEAD_BYTES;
    if (events.length > 0 && bytes + size > MOST_BYTES) break;
    events.push(event);
    bytes += size;
    last = row.seq;
  }
  return { events, bytes, last };
}
