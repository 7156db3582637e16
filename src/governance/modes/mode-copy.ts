// This instance's copy of the stored mode: what it has read, what it could not write yet, and how both come together
// again.
import type { Mode } from "../../contract/call.ts";
import { AppError } from "../../contract/errors.ts";
import type { ModeNote, NoteQueue } from "./mode-notes.ts";
import type { ModeChange, ModeStorePowers } from "./mode-store.ts";
import type { ModeState } from "./mode.ts";
import {
  firstMode,
  isStricter,
  lockedDown,
  MODE_FACT,
  parseStored,
  type StoredMode,
} from "./stored.ts";

export interface ModeCopy {
  /** The text in the store, as last read or written; null when there is none. */
  raw: string | null;
  stored: StoredMode;
  /** What callers see of `stored`. */
  state: ModeState;
  /** False when another instance changed it and it could not be read since. */
  readable: boolean;
  /** It holds here but not in the store. */
  unsaved: boolean;
  /** A write that failed and may still have arrived. */
  doubtful: { readonly text: string; readonly note: ModeNote | null } | null;
  /** Written here, but not announced to the other instances yet. */
  unannounced: boolean;
}

export function createModeCopy(now: number): ModeCopy {
  const stored = firstMode(now);
  return {
    raw: null,
    stored,
    state: viewOf(stored, false),
    readable: true,
    unsaved: false,
    doubtful: null,
    unannounced: false,
  };
}

/** Brings what callers see in line with the copy. Until then they get the same object. */
export function refreshState(copy: ModeCopy, notes: Pick<NoteQueue, "isEmpty">): void {
  copy.state = viewOf(copy.stored, copy.unsaved || !notes.isEmpty());
}

function viewOf(
  { index: _index, before: _before, ...shown }: StoredMode,
  unsaved: boolean,
): ModeState {
  return Object.freeze(unsaved ? { ...shown, unsaved: true as const } : shown);
}

export interface CopyPowers extends Pick<ModeStorePowers, "facts" | "now" | "log" | "tenantId"> {
  readonly notes: NoteQueue;
  /** Calls the listeners after the copy has taken over another mode. */
  readonly onAdopted: (state: ModeState, before: Mode) => void;
}

/** Reads the store into the copy; throws when the store does not answer. */
export function createReadMode(copy: ModeCopy, p: CopyPowers): () => Promise<void> {
  /** The stored mode becomes the effective one; an unreadable text is LOCKDOWN. */
  const adopt = (text: string | null): void => {
    copy.readable = true;
    if (text === copy.raw && !copy.unsaved) return;
    const mine = copy.doubtful?.text === text ? copy.doubtful : null;
    copy.doubtful = null;
    if (mine?.note && !copy.unsaved) p.notes.add(mine.note);
    copy.unannounced ||= mine !== null;
    copy.raw = text;
    // Deleted while the server runs: the mode stays, and the next change writes it again.
    if (text === null) return;
    const found = parseStored(text);
    if (copy.unsaved && found && !mine && isStricter(copy.stored.mode, found.mode)) {
      // Ours is stricter: it is written over theirs, as the later change.
      copy.stored = { ...copy.stored, index: Math.max(copy.stored.index, found.index + 1) };
      return;
    }
    copy.unsaved = false;
    const before = copy.stored.mode;
    copy.stored = found ?? { ...lockedDown(p.now()), index: copy.stored.index };
    if (!found) {
      p.log.error(
        { alarm: "mode_unreadable", text: text.slice(0, 200) },
        "the stored mode cannot be read: LOCKDOWN",
      );
      p.notes.add(lockdownNote(before, copy.stored, p.tenantId));
    }
    refreshState(copy, p.notes);
    p.onAdopted(copy.state, before);
  };

  return async () => {
    try {
      adopt(await p.facts.get(MODE_FACT));
    } catch (cause) {
      copy.readable = false;
      throw unavailable("the mode cannot be read", cause);
    }
  };
}

function lockdownNote(from: Mode, to: StoredMode, tenantId: string): ModeNote {
  const { mode, reason, by, index } = to;
  const body = { from, to: mode, reason, by, until: null, sensors: {}, index };
  return { action: "mode.changed", who: { tenantId, userId: by }, body };
}

/**
 * Writes a change to the store and takes it over; false when another instance changed the mode meanwhile. A stricter
 * mode holds here even if it cannot be stored yet; throws for any other.
 */
export async function writeChange(
  copy: ModeCopy,
  { next, note }: ModeChange,
  p: Pick<CopyPowers, "facts" | "log" | "notes">,
): Promise<boolean> {
  const text = JSON.stringify(next);
  let written: boolean | "not yet";
  try {
    written = await p.facts.replace(MODE_FACT, copy.raw, text);
  } catch (cause) {
    copy.doubtful = { text, note };
    if (!isStricter(next.mode, copy.stored.mode))
      throw unavailable("the mode stays as it is, because the change cannot be stored", cause);
    p.log.error({ err: cause, mode: next.mode }, "the mode holds here, but cannot be stored yet");
    written = "not yet";
  }
  if (written === false) return false;
  if (written === "not yet") copy.unsaved = true;
  else markStored(copy, text);
  if (note) p.notes.add(note);
  copy.stored = next;
  refreshState(copy, p.notes);
  return true;
}

/** Writes the mode that holds here only; false when another instance changed it meanwhile. */
export async function saveCopy(
  copy: ModeCopy,
  p: Pick<CopyPowers, "facts" | "log" | "notes">,
): Promise<boolean> {
  const text = JSON.stringify(copy.stored);
  copy.doubtful = { text, note: null };
  if (!(await p.facts.replace(MODE_FACT, copy.raw, text))) return false;
  markStored(copy, text);
  refreshState(copy, p.notes);
  p.log.info({ mode: copy.stored.mode }, "the mode is stored now");
  return true;
}

function markStored(copy: ModeCopy, text: string): void {
  copy.raw = text;
  copy.unsaved = false;
  copy.doubtful = null;
  copy.unannounced = true;
}

function unavailable(what: string, cause: unknown): AppError {
  return new AppError("UNAVAILABLE", "engine_unavailable", `${what}: the store does not answer`, {
    remedy:
      "bring the store back (see /readyz), then try again; a stricter mode can be set meanwhile",
    retryAfterSeconds: 5,
    cause,
  });
}
