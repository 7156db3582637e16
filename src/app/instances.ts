// Each instance on a shared database writes a sign of life every two seconds. When one is silent too long, another one
// closes what it left open. An instance that was only slow detects this, and returns no outcome that was overruled.
import { performance } from "node:perf_hooks";
import type { ExecutionRecord, InstanceRow, Store } from "../storage/store/store.ts";
import type { Base } from "./base.ts";
import type { Logging } from "./logging.ts";

export interface LostInstance extends InstanceRow {
  /** Executions that it began later, by its own clock, it began after it had come back. */
  readonly begunUntil: number;
}

export interface Instances {
  /**
   * Call it once an end is durable: whether another instance had closed the execution before. Undefined: certainly
   * not.
   */
  isOvertaken(executionId: string): Promise<boolean> | undefined;
  /** From now on this instance signals that it is alive; for each lost one, one of the others calls `close`. */
  watch(close: (gone: LostInstance) => Promise<void>): Promise<void>;
}

export interface InstanceTimes {
  readonly beatMs: number;
  readonly lookMs: number;
  /** An instance that is silent for this long is lost. Measured here: the clocks of hosts need not agree. */
  readonly lostAfterMs: number;
}

const TIMES: InstanceTimes = { beatMs: 2_000, lookMs: 1_000, lostAfterMs: 7_000 };

export interface InstanceWatchPowers {
  readonly instances: Store["instances"];
  readonly executions: { get(id: string): Promise<Pick<ExecutionRecord, "errorReason"> | null> };
  readonly id: string;
  readonly now: () => number;
  /** No call lasts longer. */
  readonly longestCallMs: number;
  readonly log: Pick<Logging["log"], "warn" | "error">;
  readonly times?: Partial<InstanceTimes>;
}

export interface InstanceWatch extends Instances {
  close(): Promise<void>;
}

export function openInstances(
  { store, dataDir, config, now, closing }: Base,
  log: Logging["log"],
): Instances {
  // One process owns a database in a file: there are no other instances to watch.
  if (!store.shared) return { isOvertaken: () => undefined, watch: async () => undefined };
  const watch = createInstanceWatch({
    instances: store.instances,
    executions: store.executions,
    id: dataDir.instanceId,
    now,
    longestCallMs: config.execution.maxTimeoutMs + config.execution.maxQueueWaitMs,
    log,
  });
  closing.defer(() => watch.close());
  return watch;
}

export function createInstanceWatch(p: InstanceWatchPowers): InstanceWatch {
  const { instances, id, log } = p;
  const { beatMs, lookMs, lostAfterMs } = { ...TIMES, ...p.times };
  /** The last sign of life of each other instance, and since when it has not changed. */
  const seen = new Map<string, { readonly said: string; readonly since: number }>();
  /** When the last beat that arrived was begun. */
  let beatAt = performance.now();
  let lookedAt = performance.now();
  /** Until then ends are compared with the record: another may have closed what was begun before. */
  let doubtUntil = -Infinity;
  let timers: NodeJS.Timeout[] = [];
  let working: Promise<unknown> = Promise.resolve();

  async function beat(): Promise<void> {
    const at = performance.now();
    if (!(await instances.seen(id, p.now()))) {
      doubtUntil = Infinity;
      await instances.started(id, p.now());
      doubtUntil = performance.now() + p.longestCallMs;
      log.warn(
        { instanceId: id, silentMs: Math.round(at - beatAt) },
        "another instance took this one for dead, and closed what it was doing as OUTCOME_UNKNOWN",
      );
    }
    beatAt = at;
  }

  async function look(close: (gone: LostInstance) => Promise<void>): Promise<void> {
    const at = performance.now();
    // If this instance was frozen or could not read, it does not know whether the others were silent.
    if (at - lookedAt > lookMs + beatMs) seen.clear();
    const rows = await instances.all();
    lookedAt = performance.now();
    if (lookedAt - at > beatMs) seen.clear();
    for (const name of seen.keys()) if (!rows.some((row) => row.id === name)) seen.delete(name);
    for (const row of rows.filter((one) => one.id !== id)) {
      const said = `${row.seenAt}/${row.lostAt}`;
      const before = seen.get(row.id);
      if (before?.said !== said) seen.set(row.id, { said, since: at });
      else if (at - before.since >= lostAfterMs) await closeOne(row, close);
    }
  }

  async function closeOne(
    row: InstanceRow,
    close: (gone: LostInstance) => Promise<void>,
  ): Promise<void> {
    const lostAt = p.now();
    if (!(await instances.claim(row, lostAt))) return;
    // If this fails, or this instance dies with it, it is claimed again.
    await close({ ...row, lostAt, begunUntil: row.seenAt + lostAfterMs });
    await instances.closed(row.id, lostAt);
  }

  /** One after the other; what fails is tried again at the next turn. */
  const every = (ms: number, what: string, work: () => Promise<void>): NodeJS.Timeout => {
    let busy = false;
    return setInterval(() => {
      if (busy) return;
      busy = true;
      const done = work()
        .catch((cause: unknown) => log.error({ err: cause }, what))
        .finally(() => (busy = false));
      // Without their values: each would hold the one before it.
      working = Promise.all([working, done]).then(() => undefined);
    }, ms).unref();
  };

  return {
    isOvertaken(executionId) {
      const now = performance.now();
      if (now - beatAt < lostAfterMs && now > doubtUntil) return undefined;
      return p.executions.get(executionId).then((row) => row?.errorReason === "crashed");
    },
    async watch(close) {
      await instances.started(id, p.now());
      beatAt = lookedAt = performance.now();
      timers = [
        every(beatMs, "this instance could not say that it is there", beat),
        every(lookMs, "other instances could not be watched", () => look(close)),
      ];
    },
    async close() {
      if (timers.length === 0) return;
      for (const timer of timers) clearInterval(timer);
      await working;
      await instances
        .closed(id, null)
        .catch((cause: unknown) => log.warn({ err: cause }, "could not be written while stopping"));
    },
  };
}
