// The mode controller: people switch the operating mode, sensors move or propose it, a time limit ends it.
import { AppError } from "../../contract/errors.ts";
import type { Governance } from "../rules/governance.ts";
import type { Follower } from "../../storage/store/follow.ts";
import type { Store } from "../../storage/store/store.ts";
import {
  changeTo,
  requireParts,
  requireValidSwitch,
  snapshotOf,
  type SelfCheck,
} from "./change.ts";
import { openModeStore, type ModeStore } from "./mode-store.ts";
import type { MachineSensors } from "./machine.ts";
import type { ModeController, SensorReading } from "./mode.ts";
import { SAMPLE_EVERY_MS } from "./sensor-window.ts";
import { createSensors, type Sensors, type SensorStatus } from "./sensors.ts";
import { MODE_FACT } from "./stored.ts";
import { createUnattendedChanges, isDue, type UnattendedChanges } from "./unattended.ts";
import { createSensorWarnings, type SensorWarnings, type WarningPowers } from "./warnings.ts";

export interface ModePowers extends WarningPowers {
  readonly store: Pick<Store, "shared"> & {
    readonly facts: Pick<Store["facts"], "get" | "replace">;
  };
  /** Passes changes of the mode between instances. */
  readonly follower: Pick<Follower, "on" | "changed" | "assertFresh">;
  readonly governance: () => Pick<Governance, "sensors" | "transitions">;
  readonly machine: MachineSensors;
  readonly selfCheck: SelfCheck;
  /** The tenant under which changes and warnings by sensors and timers are recorded. */
  readonly tenantId: string;
  readonly now: () => number;
  /** Calls `tick` at this interval until the returned function is called. */
  readonly schedule?: (tick: () => Promise<void>, everyMs: number) => () => void;
}

/** A sample every 5 s, evaluated every 30 s. */
const EVALUATE_EVERY_TICKS = 6;

export async function createModeController(p: ModePowers): Promise<ModeController> {
  const now = neverBack(p.now);
  const { shared } = p.store;
  const opening = openModeStore({
    facts: p.store.facts,
    note: p.note,
    changed: () => p.follower.changed(MODE_FACT),
    now,
    log: p.log,
    tenantId: p.tenantId,
  });
  // Subscribed before the first reading has ended, so that no change in between is missed.
  const unfollow = p.follower.on(MODE_FACT, async () => (await opening).reload());
  const modeStore = await opening;
  const warnings = createSensorWarnings(p);
  const sensors: Sensors = createSensors({
    machine: p.machine,
    rules: () => p.governance().sensors,
    now,
    onThrottle: (caller, sensor, count) =>
      warnings.throttles(caller, sensor, count, sensors.throttleOf(caller)?.callsPerMinute ?? null),
  });
  const unattended = createUnattendedChanges({
    modeStore,
    sensors,
    transitions: () => p.governance().transitions,
    selfCheck: p.selfCheck,
    shared,
    tenantId: p.tenantId,
    now,
    log: p.log,
  });
  const isCutOff = (): boolean => shared && !isFresh(p.follower);

  // A mode whose time ran out while the server was down ends before the first call.
  if (isDue(modeStore.stored, now)) await unattended.revert();
  const tick = createTick({ modeStore, sensors, warnings, unattended, isCutOff, now });
  const stop = (p.schedule ?? every(p.log))(tick, SAMPLE_EVERY_MS);

  return {
    current() {
      if (shared) p.follower.assertFresh();
      if (!modeStore.readable) throw unknownMode();
      return modeStore.state;
    },
    async switch(actor, { mode, reason, forMs }) {
      const given = reason.trim();
      requireValidSwitch(mode, given, forMs);
      const changed = await modeStore.change(async (before) => {
        if (before.mode === "LOCKDOWN" && mode === "NORMAL") throw lockdownFirst();
        await requireParts(before.mode, mode, p.selfCheck);
        const until = forMs === undefined ? null : now() + forMs;
        return changeTo(before, mode, {
          by: actor.userId,
          reason: given,
          tenantId: actor.tenantId,
          until,
          now: now(),
          sensors: snapshotOf(sensors.statuses()),
        });
      });
      return changed ?? modeStore.state;
    },
    readings: () => sensors.statuses().map(readingOf),
    signal: sensors.signal,
    throttleOf: sensors.throttleOf,
    onChange: modeStore.onChange,
    async close() {
      stop();
      unfollow();
      await modeStore.settle();
    },
  };
}

/** A clock that is set back must not prolong a timed mode. */
function neverBack(clock: () => number): () => number {
  let latest = 0;
  return () => (latest = Math.max(latest, clock()));
}

/** An instance that does not reach the shared store denies its own calls; the others may be well. */
function isFresh(follower: Pick<Follower, "assertFresh">): boolean {
  try {
    follower.assertFresh();
    return true;
  } catch {
    return false;
  }
}

interface TickParts {
  readonly modeStore: ModeStore;
  readonly sensors: Sensors;
  readonly warnings: Pick<SensorWarnings, "fires">;
  readonly unattended: UnattendedChanges;
  readonly isCutOff: () => boolean;
  readonly now: () => number;
}

/** One round of upkeep, a sample and, every few samples, an evaluation. A round that takes long is not overtaken. */
function createTick(parts: TickParts): () => Promise<void> {
  const { modeStore, sensors, warnings, unattended, isCutOff, now } = parts;
  let ticks = 0;
  let ticking = false;
  return async () => {
    if (ticking) return;
    ticking = true;
    try {
      await modeStore.settle();
      if (isDue(modeStore.stored, now)) await unattended.revert();
      await sensors.sample({ cutOff: isCutOff() });
      if (++ticks % EVALUATE_EVERY_TICKS !== 0 && !sensors.urgent()) return;
      for (const sensor of sensors.evaluate()) warnings.fires(sensor);
      await unattended.transition();
    } finally {
      ticking = false;
    }
  };
}

function readingOf({ name, value, threshold, action, firing }: SensorStatus): SensorReading {
  return { name, value, threshold, action, firing };
}

function unknownMode(): AppError {
  return new AppError(
    "UNAVAILABLE",
    "engine_unavailable",
    "the mode that holds is not known: it could not be read after a change",
    {
      remedy: "it is tried again by itself; check the store (see /readyz)",
      retryAfterSeconds: 5,
    },
  );
}

function lockdownFirst(): AppError {
  return new AppError("CONFLICT", "mode_order", "LOCKDOWN does not lead to NORMAL directly", {
    remedy: "switch to RECOVERY first; once the server is stable, switch to NORMAL",
  });
}

function every(log: ModePowers["log"]): NonNullable<ModePowers["schedule"]> {
  return (tick, everyMs) => {
    const timer = setInterval(() => {
      tick().catch((cause: unknown) => log.error({ err: cause }, "the sensors could not be read"));
    }, everyMs).unref();
    return () => clearInterval(timer);
  };
}
