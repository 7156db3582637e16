// The one authority on the operating mode: people switch it, sensors move or propose it, a time limit ends it.
import type { Caller, JsonObject, Mode } from "../../contract/call.ts";
import { MODES } from "../../contract/call.ts";
import { AppError, type FieldFault } from "../../contract/errors.ts";
import type { Governance } from "../rules/governance.ts";
import type { Follower } from "../../storage/store/follow.ts";
import type { Action, Store } from "../../storage/store/store.ts";
import { openModeStore, type Change, type ModeLog } from "./mode-store.ts";
import type { MachineSensors } from "./machine.ts";
import type { ModeController } from "./mode.ts";
import { createSensors, SAMPLE_EVERY_MS, type SensorName } from "./sensors.ts";
import { isStricter, MODE_FACT, stricterOf, type StoredMode } from "./stored.ts";
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

/** F08: a window of 12 samples of 5 s, judged each 30 s. */
const EVALUATE_EVERY_TICKS = 6;
export const MIN_FOR_MS = 60_000;
export const MAX_FOR_MS = 7 * 24 * 3_600_000;
export const MAX_REASON = 500;

export async function createModeController(p: ModePowers): Promise<ModeController> {
  // A clock that is set back must not prolong anything.
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
  // Before the first reading is done: a change that falls between the two is heard.
  const unfollow = p.follower.on(MODE_FACT, async () => (await opening).reload());
  const keeper = await opening;
  const sensors = createSensors({
    machine: p.machine,
    rules: () => p.governance().sensors,
    now,
    onThrottle,
  });
  let ticks = 0;
  let ticking = false;
  let ownProposalAt: number | null = null;
  let proposedFor = "";
  let complainedAt = -1;

  const snapshot = (): JsonObject =>
    Object.fromEntries(
      sensors
        .statuses()
        .filter(({ action }) => action !== "off")
        .map(({ name, value, threshold, firing }) => [name, { value, threshold, firing }]),
    );

  function changeTo(
    before: StoredMode,
    to: Mode,
    more: { by: string; reason: string; tenantId: string; until: number | null },
  ): Change {
    const { by, reason, tenantId, until } = more;
    const revertTo = until === null ? null : wayBack(before, to);
    const next: StoredMode = {
      index: before.index + 1,
      mode: to,
      reason,
      by,
      since: now(),
      until,
      revertTo,
      proposal: null,
      ...(by.startsWith("sensor:") ? { before: before.mode } : {}),
    };
    const confirms = before.proposal?.mode === to ? { proposal: { ...before.proposal } } : {};
    const body = {
      from: before.mode,
      to,
      reason,
      by,
      until,
      sensors: snapshot(),
      index: next.index,
      ...confirms,
    };
    return { next, note: { action: "mode.changed", who: { tenantId, userId: by }, body } };
  }

  /** F07: LOCKDOWN and RECOVERY are left only when the parts of the house answer. */
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

  /** A change that nobody waits for: what hinders it is logged once per mode, and it is tried again. */
  async function byItself(what: string, work: () => Promise<unknown>): Promise<void> {
    try {
      await work();
    } catch (cause) {
      if (complainedAt !== keeper.stored.index)
        p.log.warn({ err: cause }, `${what} did not happen; it is tried again`);
      complainedAt = keeper.stored.index;
    }
  }

  const isDue = ({ until }: StoredMode): boolean => until !== null && now() >= until;

  const revert = () =>
    keeper.change(async (before) => {
      if (!isDue(before) || before.revertTo === null) return null;
      await assertParts(before.mode, before.revertTo);
      return changeTo(before, before.revertTo, {
        by: "timer",
        reason: `the time set for ${before.mode} is over`,
        tenantId: p.tenantId,
        until: null,
      });
    });

  const move = (seen: StoredMode, { to, by, reason }: Move) =>
    keeper.change(async (before) => {
      if (before.index !== seen.index) return null;
      await assertParts(before.mode, to);
      return changeTo(before, to, { by, reason, tenantId: p.tenantId, until: null });
    });

  const propose = (seen: StoredMode, wanted: Move) =>
    keeper.change((before) => {
      if (before.index !== seen.index) return null;
      const proposal = { mode: wanted.to, reason: wanted.reason, at: (ownProposalAt = now()) };
      proposedFor = keyOf(seen, wanted);
      const body = {
        from: before.mode,
        to: wanted.to,
        reason: wanted.reason,
        by: wanted.by,
        sensors: snapshot(),
        index: before.index,
      };
      return {
        next: { ...before, proposal },
        note: { action: "mode.proposed", who: { tenantId: p.tenantId, userId: wanted.by }, body },
      };
    });

  const withdraw = (seen: StoredMode) =>
    keeper.change((before) =>
      before.index === seen.index && before.proposal
        ? { next: { ...before, proposal: null }, note: null }
        : null,
    );

  /** One cause proposes once: with several instances, a withdrawn proposal does not come back from a quieter one. */
  async function judgeProposal(seen: StoredMode, wanted: Move | null): Promise<void> {
    const standing = seen.proposal;
    const own = !shared || standing?.at === ownProposalAt;
    if (wanted) {
      const better =
        !standing || (standing.mode !== wanted.to && (own || isStricter(wanted.to, standing.mode)));
      if (better && proposedFor !== keyOf(seen, wanted)) await propose(seen, wanted);
    } else if (standing) {
      const againstFacts = sensors.quietSince() === null && isStricter(seen.mode, standing.mode);
      if (own || againstFacts) await withdraw(seen);
    }
  }

  async function evaluate(): Promise<void> {
    for (const sensor of sensors.evaluate()) {
      const { name, value, threshold, action } = sensor;
      p.log.warn({ sensor: name, value, threshold, action }, "a sensor fires");
      warn(p.tenantId, name, { sensor: name, value, threshold, action });
    }
    const seen = keeper.stored;
    const { automatic, proposed } = nextMove(p.governance().transitions, {
      state: seen,
      sensors: sensors.statuses(),
      quietSince: sensors.quietSince(),
      now: now(),
    });
    if (automatic) await byItself("a transition", () => move(seen, automatic));
    else await byItself("a proposal", () => judgeProposal(seen, proposed));
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

  /** One instance that does not reach the store of all denies its own calls; it says nothing about the house. */
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
      await keeper.settle();
      if (isDue(keeper.stored)) await byItself("the end of a timed mode", revert);
      await sensors.sample({ cutOff: isCutOff() });
      if (++ticks % EVALUATE_EVERY_TICKS === 0 || sensors.urgent()) await evaluate();
    } finally {
      ticking = false;
    }
  }

  // What ran out while the server was down ends before the first call.
  if (isDue(keeper.stored)) await byItself("the end of a timed mode", revert);
  const stop = (p.schedule ?? every(p.log))(tick, SAMPLE_EVERY_MS);

  return {
    current() {
      if (shared) p.follower.assertFresh();
      if (!keeper.readable) throw unknownMode();
      return keeper.state;
    },
    async switch(actor, { mode, reason, forMs }) {
      const words = reason.trim();
      assertChange(mode, words, forMs);
      const changed = await keeper.change(async (before) => {
        if (before.mode === "LOCKDOWN" && mode === "NORMAL") throw lockdownFirst();
        await assertParts(before.mode, mode);
        const until = forMs === undefined ? null : now() + forMs;
        return changeTo(before, mode, {
          by: actor.userId,
          reason: words,
          tenantId: actor.tenantId,
          until,
        });
      });
      return changed ?? keeper.state;
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
    onChange: keeper.onChange,
    async close() {
      stop();
      unfollow();
      await keeper.settle();
    },
  };
}

const keyOf = ({ index }: StoredMode, { to, cause }: Move): string => `${index} ${to} ${cause}`;

/**
 * Where a timed mode goes back to: the mode before, or what that one would have gone back to if it is stricter. Out of
 * LOCKDOWN the way leads through RECOVERY.
 */
function wayBack(before: StoredMode, to: Mode): Mode {
  if (to === "LOCKDOWN") return "RECOVERY";
  const base = before.mode === to ? "NORMAL" : before.mode;
  return stricterOf(base, before.revertTo ?? base);
}

function assertChange(mode: Mode, reason: string, forMs: number | undefined): void {
  const errors: FieldFault[] = [];
  if (!MODES.includes(mode))
    errors.push({ path: "/mode", message: `expected one of ${MODES.join(", ")}` });
  if (reason.length < 1 || reason.length > MAX_REASON)
    errors.push({
      path: "/reason",
      message: `expected 1 to ${MAX_REASON} characters`,
      suggestion: "say why: it stands in the record and is shown to everybody",
    });
  if (forMs !== undefined && !(forMs >= MIN_FOR_MS && forMs <= MAX_FOR_MS))
    errors.push({
      path: "/forSeconds",
      message: "expected 60 (a minute) to 604800 (seven days)",
      suggestion: "leave it out for a mode that stays until somebody changes it",
    });
  const [first] = errors;
  if (!first) return;
  throw new AppError("BAD_REQUEST", "invalid_input", `${first.path}: ${first.message}`, {
    remedy: first.suggestion ?? "correct the fields listed in errors and send the request again",
    errors,
  });
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
    remedy: "switch to RECOVERY first; once the house is stable, switch to NORMAL",
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
