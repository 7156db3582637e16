// Follows the log and sends it on. The log is the outbox: an event that is durable there will arrive, and no call
// waits for it.
import { AppError } from "../../contract/errors.ts";
import type { Store } from "../store/store.ts";
import { createLease } from "./lease.ts";
import { atMost, createPauses } from "./pauses.ts";
import { createBatchSender } from "./send-batch.ts";
import type { Sink } from "./sink.ts";

export interface RelayPowers {
  readonly store: Pick<Store, "log" | "cursors" | "shared">;
  readonly sink: Sink;
  /** This server, among those that share the store. */
  readonly owner: string;
  /** Where a sink begins that nothing was sent to yet. */
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
  /** How often the log is read without a signal that it grew: other servers write it too. */
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
  /** The log grew. Cheap enough to be called for every event. */
  wake(): void;
  pending(): Promise<number>;
  figures(): Promise<RelayFigures>;
  /** One last attempt, then the lease is given back. */
  close(): Promise<void>;
}

const TIMING: Timing = {
  lease: 10_000,
  linger: 25,
  poll: 1_000,
  firstBackoff: 250,
  longestBackoff: 10_000,
  close: 3_000,
};
const WARN_EVERY_MS = 60_000;

export function startRelay(p: RelayPowers): Relay {
  const { store, sink } = p;
  const timing = { ...TIMING, ...p.timing };
  const pauses = createPauses();
  const lease = createLease(p, timing.lease);
  const sender = createBatchSender(p, lease);
  let grown = false;
  let failures = 0;
  let warnedAt = 0;
  let lastError: string | null = null;

  async function attempt(): Promise<"more" | "done" | "not ours" | "failed"> {
    try {
      const outcome = await sender.send();
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
      await lease.giveUp();
      return "failed";
    }
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

  const heartbeat = store.shared
    ? setInterval(() => {
        lease.renew().catch(() => undefined); // no answer: it still holds, or runs out
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
    await lease.giveUp();
  }

  return {
    wake() {
      if (grown) return;
      grown = true;
      pauses.wake();
    },
    pending: lease.pending,
    figures: async () => ({
      pending: await lease.pending(),
      lastError,
      lastSuccess: sender.lastSuccess,
      relaying: lease.sentTo !== null,
    }),
    close: () => (closing ??= shutDown()),
  };
}
