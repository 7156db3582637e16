// The mode as one durable fact, and how modes compare.
import { MODES, type Mode } from "../../contract/call.ts";
import type { ModeState } from "./mode.ts";

export const MODE_FACT = "mode";

/** `index` counts the changes: it orders them over all instances. */
export interface StoredMode extends Omit<ModeState, "unsaved"> {
  readonly index: number;
  /** The mode that a sensor moved it from; absent where a person, or a timer, did. */
  readonly before?: Mode;
}

/** Of the same rank: each refuses something that the other lets run. */
const STRICTNESS: Record<Mode, number> = {
  NORMAL: 0,
  ALERT: 1,
  DEGRADED: 2,
  RECOVERY: 2,
  LOCKDOWN: 3,
};

export const isStricter = (mode: Mode, than: Mode): boolean => STRICTNESS[mode] > STRICTNESS[than];

export const stricterOf = (a: Mode, b: Mode): Mode => (isStricter(b, a) ? b : a);

const isMode = (value: unknown): value is Mode => MODES.includes(value as Mode);

export function firstMode(now: number): StoredMode {
  return {
    index: 0,
    mode: "NORMAL",
    reason: "first start",
    by: "system",
    since: now,
    until: null,
    revertTo: null,
    proposal: null,
  };
}

/** An unreadable mode counts as the strictest one. */
export function lockedDown(now: number): StoredMode {
  const reason = "the stored mode could not be read; see the log, then switch to RECOVERY";
  return { ...firstMode(now), mode: "LOCKDOWN", reason };
}

/** Null when it is not a mode that this version knows. */
export function parseStored(text: string): StoredMode | null {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return null;
  }
  if (typeof value !== "object" || value === null) return null;
  const { index, mode, reason, by, since, until, revertTo, proposal, before } = value as Record<
    string,
    unknown
  >;
  if (!isMode(mode) || typeof reason !== "string" || typeof by !== "string") return null;
  if (!isCount(index) || !isCount(since)) return null;
  // A time limit without its way back (or the reverse) would leave a mode that never ends as it was asked to.
  const timed = isCount(until) && isMode(revertTo);
  if (!timed && (until !== null || revertTo !== null)) return null;
  return {
    index,
    mode,
    reason,
    by,
    since,
    until: timed ? until : null,
    revertTo: timed ? revertTo : null,
    proposal: parseProposal(proposal),
    ...(isMode(before) ? { before } : {}),
  };
}

/** A proposal changes nothing by itself: one that cannot be read is left out. */
function parseProposal(value: unknown): StoredMode["proposal"] {
  if (typeof value !== "object" || value === null) return null;
  const { mode, reason, at } = value as Record<string, unknown>;
  return isMode(mode) && typeof reason === "string" && isCount(at) ? { mode, reason, at } : null;
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}
