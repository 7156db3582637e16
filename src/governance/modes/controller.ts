// The mode controller: people switch the operating mode, sensors move or propose it, a time limit ends it.
import type { Caller, JsonObject, Mode } from "../../contract/call.ts";
import { AppError } from "../../contract/errors.ts";
import type { Governance } from "../rules/governance.ts";
import type { Follower } from "../../storage/store/follow.ts";
import type { Action, Store } from "../../storage/store/store.ts";
import { changeTo, requireValidSwitch } from "./change.ts";
import { openModeStore, type ModeLog } from "./mode-store.ts";
import type { MachineSensors } from "./machine.ts";
import type { ModeController } from "./mode.ts";
import { createUpdateProposal } from "./proposals.ts";
import { createSensors, SAMPLE_EVERY_MS, type SensorName } from "./sensors.ts";
import { MODE_FACT, type StoredMode } from "./stored.ts";
import { nextMove, type Move } from "./transitions.ts";

export interface ModePowers {
  readonly store: Pick<Store, "shared"> & {
    readonly facts: Pick<Store["facts"], "get" | "replace">;
  };
  /** Hears of other instances' changes, and tells them ours. */
  readonly follower: Pick<Follower, "on" | "changed" | "assertFresh">;
  readonly note: (
    action: Action,
    who: { tenantId: string; userId: string },
    body: JsonObject,
  ) => Promise<void>;
  readonly governance: () => Pick<Governance, "sensors" | "transitions">;
  readonly machine: MachineSensors;
  /** Parts that do not answer, by name; empty when all do. */
  readonly selfCheck: () => Promise<readonly string[]>;
  /** The tenant under which changes by sensors and timers are recorded. */
  readonly tenantId: string;
  readonly now: () => number;
  readonly log: ModeLog;
  /** Calls `tick` every so often until the function it answers is called. */
  readonly schedule?: (tick: () => Promise<void>, everyMs: number) => () => void;
}

/** A sample every 5 s, evaluated every 30 s. */
const EVALUATE_EVERY_TICKS = 6;

export async function createModeController(p: ModePowers): Promise<ModeController> {
  // A clock that is set back must not prolong a timed mode.
  let latest = 0;
  const now = (): number => (latest = Math.max(latest, p.now()));
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
  const sensors = createSensors({
    machine: p.machine,
    rules: () => p.governance().sensors,
    now,
    onThrottle,
  });
  let ticks = 0;
  let ticking = false;
  let warnedAtIndex = -1;

  const snapshot = (): JsonObject =>
    Object.fromEntries(
      sensors
        .statuses()
        .filter(({ action }) => action !== "off")
        .map(({ name, value, threshold, firing }) => [name, { value, threshold, firing }]),
    );
  const updateProposal = createUpdateProposal({
    modeStore,
    sensors,
    snapshot,
    shared,
    tenantId: p.tenantId,
    now,
  });

  /** LOCKDOWN is left, and RECOVERY left for NORMAL, only when all parts of the server answer. */
  async function assertParts(from: Mode, to: Mode): Promise<void> {
    if (from === to || !(from === "LOCKDOWN" || (from === "RECOVERY" && to === "NORMAL"))) return;
    const missing = await p.selfCheck().catch(() => ["the self-checks themselves"]);
    if (missing.length === 0) return;
    throw new AppError(
      "UNAVAILABLE",
      "engine_unavailable",
      `${from} is not left while parts do not answer: ${missing.join(", ")}`,
      {
        remedy: "bring them back (see /readyz), then switch again",
        retryAfterSeconds: 5,
      },
    );
  }

  /** A change without a caller: what hinders it is logged once per mode, and it is tried again. */
  async function unattended(what: string, work: () => Promise<unknown>): Promise<void> {
    try {
      await work();
    } catch (cause) {
      if (warnedAtIndex !== modeStore.stored.index)
        p.log.warn({ err: cause }, `${what} did not happen; it is tried again`);
      warnedAtIndex = modeStore.stored.index;
    }
  }

  const isDue = ({ until }: StoredMode): boolean => until !== null && now() >= until;

  const revert = () =>
    modeStore.change(async (before) => {
      if (!isDue(before) || before.revertTo === null) return null;
      await assertParts(before.mode, before.revertTo);
      return changeTo(before, before.revertTo, {
        by: "timer",
        reason: `the time set for ${before.mode} is over`,
        tenantId: p.tenantId,
        until: null,
        now: now(),
        sensors: snapshot(),
      });
    });

  const move = (seen: StoredMode, { to, by, reason }: Move) =>
    modeStore.change(async (before) => {
      if (before.index !== seen.index) return null;
      await assertParts(before.mode, to);
      return changeTo(before, to, {
        by,
        reason,
        tenantId: p.tenantId,
        until: null,
        now: now(),
        sensors: snapshot(),
      });
    });

  async function evaluate(): Promise<void> {
    for (const sensor of sensors.evaluate()) {
      const { name, value, threshold, action } = sensor;
      p.log.warn({ sensor: name, value, threshold, action }, "a sensor fires");
      warn(p.tenantId, name, { sensor: name, value, threshold, action });
    }
    const seen = modeStore.stored;
    const { automatic, proposed } = nextMove(p.governance().transitions, {
      state: seen,
      sensors: sensors.statuses(),
      quietSince: sensors.quietSince(),
      now: now(),
    });
    if (automatic) await unattended("a transition", () => move(seen, automatic));
    else await unattended("a proposal", () => updateProposal(seen, proposed));
  }

  function onThrottle(caller: Caller, sensor: SensorName, count: number): void {
    const throttle = sensors.throttleOf(caller)?.callsPerMinute ?? null;
    p.log.warn({ sensor, count, throttle, user: caller.userId }, "a caller is held to fewer calls");
    warn(caller.tenantId, sensor, { sensor, value: count, user: caller.userId, throttle });
  }

  function warn(tenantId: string, sensor: SensorName, body: JsonObject): void {
    p.note("sensor.warning", { tenantId, userId: `sensor:${sensor}` }, body).catch(
      (cause: unknown) => p.log.error({ err: cause }, "a warning could not be recorded"),
    );
  }

  /** An instance that does not reach the shared store denies its own calls; the others may be well. */
  function isCutOff(): boolean {
    if (!shared) return false;
    try {
      p.follower.assertFresh();
      return false;
    } catch {
      return true;
    }
  }

  async function tick(): Promise<void> {
    if (ticking) return;
    ticking = true;
    try {
      await modeStore.settle();
      if (isDue(modeStore.stored)) await unattended("the end of a timed mode", revert);
      await sensors.sample({ cutOff: isCutOff() });
      if (++ticks % EVALUATE_EVERY_TICKS === 0 || sensors.urgent()) await evaluate();
    } finally {
      ticking = false;
    }
  }

  // A mode whose time ran out while the server was down ends before the first call.
  if (isDue(modeStore.stored)) await unattended("the end of a timed mode", revert);
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
        await assertParts(before.mode, mode);
        const until = forMs === undefined ? null : now() + forMs;
        return changeTo(before, mode, {
          by: actor.userId,
          reason: given,
          tenantId: actor.tenantId,
          until,
          now: now(),
          sensors: snapshot(),
        });
      });
      return changed ?? modeStore.state;
    },
    readings: () =>
      sensors.statuses().map(({ name, value, threshold, action, firing }) => ({
        name,
        value,
        threshold,
        action,
        firing,
      })),
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

function every(log: ModeLog): NonNullable<ModePowers["schedule"]> {
  return (tick, everyMs) => {
    const timer = setInterval(() => {
      tick().catch((cause: unknown) => log.error({ err: cause }, "the sensors could not be read"));
    }, everyMs).unref();
    return () => clearInterval(timer);
  };
}
