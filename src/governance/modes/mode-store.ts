// Keeps the mode: durable, then applied, then recorded, then told. Another instance's change is never overwritten unseen.
import type { JsonObject, Mode } from "../../contract/call.ts";
import { AppError } from "../../contract/errors.ts";
import type { Action, Store } from "../../storage/store/store.ts";
import type { ModeState } from "./mode.ts";
import {
  firstMode,
  isStricter,
  lockedDown,
  MODE_FACT,
  parseStored,
  type StoredMode,
} from "./stored.ts";

export interface ModeNote {
  readonly action: Extract<Action, "mode.changed" | "mode.proposed">;
  readonly who: { readonly tenantId: string; readonly userId: string };
  readonly body: JsonObject;
}

export interface Change {
  readonly next: StoredMode;
  /** Null: not worth an entry in the record. */
  readonly note: ModeNote | null;
}

/** Decides on the newest known mode; null leaves it. Asked again when another instance was faster. */
export type Decide = (before: StoredMode) => Change | null | Promise<Change | null>;

export interface ModeStorePowers {
  readonly facts: Pick<Store["facts"], "get" | "replace">;
  readonly note: (action: Action, who: ModeNote["who"], body: JsonObject) => Promise<void>;
  /** Tells the other instances to read again. */
  readonly changed: () => Promise<void>;
  readonly now: () => number;
  readonly log: ModeLog;
  /** Where the alarm about an unreadable mode is recorded. */
  readonly tenantId: string;
}

export interface ModeLog {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

export interface ModeStore {
  /** What callers see. */
  readonly state: ModeState;
  readonly stored: StoredMode;
  /** False when another instance changed it and it could not be read since. */
  readonly readable: boolean;
  change(decide: Decide): Promise<ModeState | null>;
  /** Reads it again, because another instance changed it. */
  reload(): Promise<void>;
  /** Tries again what could not be read, written or recorded. */
  settle(): Promise<void>;
  onChange(listener: (state: ModeState, before: Mode) => void): () => void;
}

const MAX_ATTEMPTS = 5;

export async function openModeStore(p: ModeStorePowers): Promise<ModeStore> {
  const listeners = new Set<(state: ModeState, before: Mode) => void>();
  let raw: string | null = null;
  let stored = firstMode(p.now());
  let state: ModeState = viewOf(stored, false);
  let readable = true;
  /** It holds here but not in the store. */
  let unsaved = false;
  let unrecorded: ModeNote[] = [];
  /** A write that failed and may still have arrived. */
  let doubtful: { readonly text: string; readonly note: ModeNote | null } | null = null;
  /** Written here, and the other instances do not know yet. */
  let untold = false;
  let queue: Promise<unknown> = Promise.resolve();

  /** One after the other. Other instances are told outside, by whoever wrote: they may make us read again. */
  const serial = async <T>(work: () => Promise<T>): Promise<T> => {
    const done = queue.then(work, work).then((result) => {
      const wrote = untold;
      untold = false;
      return { result, wrote };
    });
    queue = done.catch(() => undefined);
    const { result, wrote } = await done;
    if (wrote) await tell();
    return result;
  };
  const refresh = (): void => {
    state = viewOf(stored, unsaved || unrecorded.length > 0);
  };
  const tellListeners = (before: Mode): void => {
    for (const listener of listeners) {
      try {
        listener(state, before);
      } catch (cause) {
        p.log.error({ err: cause }, "a listener to the mode failed");
      }
    }
  };

  const record = async (): Promise<void> => {
    for (let first = unrecorded[0]; first; first = unrecorded[0]) {
      try {
        await p.note(first.action, first.who, first.body);
      } catch (cause) {
        p.log.error(
          { err: cause },
          "a change of the mode could not be recorded; it is tried again",
        );
        break;
      }
      unrecorded = unrecorded.slice(1);
    }
    refresh();
  };

  const tell = async (): Promise<void> => {
    try {
      await p.changed();
    } catch (cause) {
      p.log.warn(
        { err: cause },
        "other instances hear of the mode only when they look by themselves",
      );
    }
  };

  /** What the store says becomes what holds; an unreadable text is LOCKDOWN. */
  const adopt = (text: string | null): void => {
    readable = true;
    if (text === raw && !unsaved) return;
    const mine = doubtful?.text === text ? doubtful : null;
    doubtful = null;
    if (mine?.note && !unsaved) unrecorded = [...unrecorded, mine.note];
    untold ||= mine !== null;
    raw = text;
    // Gone from a running house: what held goes on, and the next change writes it anew.
    if (text === null) return;
    const found = parseStored(text);
    if (unsaved && found && !mine && isStricter(stored.mode, found.mode)) {
      // Ours is stricter: it is written over theirs, as the later change.
      stored = { ...stored, index: Math.max(stored.index, found.index + 1) };
      return;
    }
    unsaved = false;
    const before = stored.mode;
    stored = found ?? { ...lockedDown(p.now()), index: stored.index };
    if (!found) {
      p.log.error(
        { alarm: "mode_unreadable", text: text.slice(0, 200) },
        "the stored mode cannot be read: LOCKDOWN",
      );
      const { mode: to, reason, by, index } = stored;
      const body = { from: before, to, reason, by, until: null, sensors: {}, index };
      unrecorded = [
        ...unrecorded,
        { action: "mode.changed", who: { tenantId: p.tenantId, userId: by }, body },
      ];
    }
    refresh();
    tellListeners(before);
  };

  const read = async (): Promise<void> => {
    try {
      adopt(await p.facts.get(MODE_FACT));
    } catch (cause) {
      readable = false;
      throw unavailable("the mode cannot be read", cause);
    }
  };

  const attempt = async (decide: Decide): Promise<"again" | ModeState | null> => {
    if (!readable) await read();
    const before = stored;
    const change = await decide(before);
    if (!change) return null;
    const text = JSON.stringify(change.next);
    let written: boolean | "not yet";
    try {
      written = await p.facts.replace(MODE_FACT, raw, text);
    } catch (cause) {
      doubtful = { text, note: change.note };
      if (!isStricter(change.next.mode, before.mode))
        throw unavailable("the mode stays as it is, because the change cannot be stored", cause);
      p.log.error(
        { err: cause, mode: change.next.mode },
        "the mode holds here, but cannot be stored yet",
      );
      written = "not yet";
    }
    if (written === false) {
      await read();
      return "again";
    }
    unsaved = written === "not yet";
    if (!unsaved) {
      raw = text;
      doubtful = null;
      untold = true;
    }
    if (change.note) unrecorded = [...unrecorded, change.note];
    stored = change.next;
    refresh();
    await record();
    tellListeners(before.mode);
    return state;
  };

  const save = async (): Promise<void> => {
    const text = JSON.stringify(stored);
    doubtful = { text, note: null };
    if (await p.facts.replace(MODE_FACT, raw, text)) {
      raw = text;
      unsaved = false;
      doubtful = null;
      refresh();
      p.log.info({ mode: stored.mode }, "the mode is stored now");
      untold = true;
    } else await read();
  };

  await read();
  await record();

  return {
    get state() {
      return state;
    },
    get stored() {
      return stored;
    },
    get readable() {
      return readable;
    },
    change: (decide) =>
      serial(async () => {
        for (let i = 0; i < MAX_ATTEMPTS; i++) {
          const done = await attempt(decide);
          if (done !== "again") return done;
        }
        throw new AppError("CONFLICT", "stale", "the mode was changed by others all the while", {
          remedy: "look at the mode that holds now, and switch again if it is still needed",
        });
      }),
    reload: () =>
      serial(async () => {
        await read();
        await record();
      }),
    settle: () =>
      serial(async () => {
        try {
          if (!readable || doubtful) await read();
          if (unsaved) await save();
        } catch (cause) {
          p.log.warn({ err: cause }, "the mode is still not in step with the store");
        }
        if (unrecorded.length > 0) await record();
      }),
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

function viewOf(
  { index: _index, before: _before, ...shown }: StoredMode,
  unsaved: boolean,
): ModeState {
  return Object.freeze(unsaved ? { ...shown, unsaved: true as const } : shown);
}

function unavailable(what: string, cause: unknown): AppError {
  return new AppError("UNAVAILABLE", "engine_unavailable", `${what}: the store does not answer`, {
    remedy:
      "bring the store back (see /readyz), then try again; a stricter mode can be set meanwhile",
    retryAfterSeconds: 5,
    cause,
  });
}
