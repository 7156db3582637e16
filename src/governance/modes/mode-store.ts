// The mode store: a change is durable, then applied, recorded and announced. No instance overwrites a change it has
// not read.
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
  /** Null: the change is not recorded. */
  readonly note: ModeNote | null;
}

/** Decides on the newest known mode; null leaves it. Called again when another instance changed it meanwhile. */
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
  const listeners = createListeners(p.log);
  const notes = createNoteQueue(p);
  let raw: string | null = null;
  let stored = firstMode(p.now());
  let state: ModeState = viewOf(stored, false);
  let readable = true;
  /** It holds here but not in the store. */
  let unsaved = false;
  /** A write that failed and may still have arrived. */
  let doubtful: { readonly text: string; readonly note: ModeNote | null } | null = null;
  /** Written here, but the other instances have not been told yet. */
  let unannounced = false;
  let queue: Promise<unknown> = Promise.resolve();

  /** One change at a time. Other instances are told after it, because they may make this one read again. */
  const serial = async <T>(work: () => Promise<T>): Promise<T> => {
    const done = queue.then(work, work).then((result) => {
      const wrote = unannounced;
      unannounced = false;
      return { result, wrote };
    });
    queue = done.catch(() => undefined);
    const { result, wrote } = await done;
    if (wrote) await tellInstances();
    return result;
  };
  const refresh = (): void => {
    state = viewOf(stored, unsaved || !notes.isEmpty());
  };
  const record = async (): Promise<void> => {
    await notes.flush();
    refresh();
  };

  const tellInstances = async (): Promise<void> => {
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
    if (mine?.note && !unsaved) notes.add(mine.note);
    unannounced ||= mine !== null;
    raw = text;
    // Deleted while the server runs: the mode stays, and the next change writes it again.
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
      notes.add({ action: "mode.changed", who: { tenantId: p.tenantId, userId: by }, body });
    }
    refresh();
    listeners.call(state, before);
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
      unannounced = true;
    }
    if (change.note) notes.add(change.note);
    stored = change.next;
    refresh();
    await record();
    listeners.call(state, before.mode);
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
      unannounced = true;
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
        if (!notes.isEmpty()) await record();
      }),
    onChange: listeners.add,
  };
}

interface Listeners {
  readonly add: ModeStore["onChange"];
  call(state: ModeState, before: Mode): void;
}

function createListeners(log: ModeLog): Listeners {
  const listeners = new Set<(state: ModeState, before: Mode) => void>();
  return {
    add(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    call(state, before) {
      for (const listener of listeners) {
        try {
          listener(state, before);
        } catch (cause) {
          log.error({ err: cause }, "a listener to the mode failed");
        }
      }
    },
  };
}

interface NoteQueue {
  add(note: ModeNote): void;
  isEmpty(): boolean;
  /** Records in order what it can; the rest waits for the next time. */
  flush(): Promise<void>;
}

function createNoteQueue({ note, log }: Pick<ModeStorePowers, "note" | "log">): NoteQueue {
  let waiting: readonly ModeNote[] = [];
  return {
    add: (added) => void (waiting = [...waiting, added]),
    isEmpty: () => waiting.length === 0,
    async flush() {
      for (let first = waiting[0]; first; first = waiting[0]) {
        try {
          await note(first.action, first.who, first.body);
        } catch (cause) {
          log.error(
            { err: cause },
            "a change of the mode could not be recorded; it is tried again",
          );
          return;
        }
        waiting = waiting.slice(1);
      }
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
