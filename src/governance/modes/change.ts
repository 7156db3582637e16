// How a change of the mode is built and recorded, and what must hold before it.
import { MODES, type JsonObject, type Mode } from "../../contract/call.ts";
import { AppError, type FieldFault } from "../../contract/errors.ts";
import type { ModeChange } from "./mode-store.ts";
import type { SensorStatus } from "./sensors.ts";
import { stricterOf, type StoredMode } from "./stored.ts";

const MIN_FOR_MS = 60_000;
const MAX_FOR_MS = 7 * 24 * 3_600_000;
const MAX_REASON = 500;

export interface ChangeDetails {
  readonly by: string;
  readonly reason: string;
  readonly tenantId: string;
  readonly until: number | null;
  readonly now: number;
  /** The sensors' values at this moment, for the record. */
  readonly sensors: JsonObject;
}

export function changeTo(before: StoredMode, to: Mode, details: ChangeDetails): ModeChange {
  const { by, reason, tenantId, until, now, sensors } = details;
  const revertTo = until === null ? null : wayBack(before, to);
  const next: StoredMode = {
    index: before.index + 1,
    mode: to,
    reason,
    by,
    since: now,
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
    sensors,
    index: next.index,
    ...confirms,
  };
  return { next, note: { action: "mode.changed", who: { tenantId, userId: by }, body } };
}

/** The sensors' values, for the record of a change. */
export function snapshotOf(statuses: readonly SensorStatus[]): JsonObject {
  return Object.fromEntries(
    statuses
      .filter(({ action }) => action !== "off")
      .map(({ name, value, threshold, firing }) => [name, { value, threshold, firing }]),
  );
}

/** Parts that do not answer, by name; empty when all do. */
export type SelfCheck = () => Promise<readonly string[]>;

/** LOCKDOWN is left, and RECOVERY left for NORMAL, only when all parts of the server answer. */
export async function requireParts(from: Mode, to: Mode, selfCheck: SelfCheck): Promise<void> {
  if (from === to || !(from === "LOCKDOWN" || (from === "RECOVERY" && to === "NORMAL"))) return;
  const missing = await selfCheck().catch(() => ["the self-checks themselves"]);
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

/**
 * Where a timed mode goes back to: the mode before, or what that one would have gone back to if it is stricter. Out of
 * LOCKDOWN the way leads through RECOVERY.
 */
function wayBack(before: StoredMode, to: Mode): Mode {
  if (to === "LOCKDOWN") return "RECOVERY";
  const base = before.mode === to ? "NORMAL" : before.mode;
  return stricterOf(base, before.revertTo ?? base);
}

export function requireValidSwitch(mode: Mode, reason: string, forMs: number | undefined): void {
  const errors: FieldFault[] = [];
  if (!MODES.includes(mode))
    errors.push({ path: "/mode", message: `expected one of ${MODES.join(", ")}` });
  if (reason.length < 1 || reason.length > MAX_REASON)
    errors.push({
      path: "/reason",
      message: `expected 1 to ${MAX_REASON} characters`,
      suggestion: "say why: it is recorded, and shown to all users",
    });
  if (forMs !== undefined && !(forMs >= MIN_FOR_MS && forMs <= MAX_FOR_MS))
    errors.push({
      path: "/forSeconds",
      message: "expected 60 (a minute) to 604800 (seven days)",
      suggestion: "leave it out for a mode that stays until it is changed",
    });
  const [first] = errors;
  if (!first) return;
  throw new AppError("BAD_REQUEST", "invalid_input", `${first.path}: ${first.message}`, {
    remedy: first.suggestion ?? "correct the fields listed in errors and send the request again",
    errors,
  });
}
