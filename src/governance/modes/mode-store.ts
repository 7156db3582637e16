// The mode store: a change is durable, then applied, recorded and announced. No instance overwrites a change it has
// not read.
import type { Mode } from "../../contract/call.ts";
import { AppError } from "../../contract/errors.ts";
import type { Store } from "../../storage/store/store.ts";
import {
  createModeCopy,
  createReadMode,
  refreshState,
  saveCopy,
  writeChange,
  type CopyPowers,
  type ModeCopy,
} from "./mode-copy.ts";
import { createNoteQueue, type ModeNote, type NotePowers } from "./mode-notes.ts";
import type { ModeState } from "./mode.ts";
import type { StoredMode } from "./stored.ts";

export interface ModeChange {
  readonly next: StoredMode;
  /** Null: the change is not recorded. */
  readonly note: ModeNote | null;
}

/** Decides on the newest known mode; null leaves it. Called again when another instance changed it meanwhile. */
export type Decide = (before: StoredMode) => ModeChange | null | Promise<ModeChange | null>;

export interface ModeStorePowers {
  readonly facts: Pick<Store["facts"], "get" | "replace">;
  readonly note: NotePowers["note"];
  /** Signals the other instances to read again. */
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
  const copy = createModeCopy(p.now());
  const copyPowers: CopyPowers = { ...p, notes, onAdopted: listeners.call };
  const read = createReadMode(copy, copyPowers);
  const serial = createSerial(copy, p);

  const record = async (): Promise<void> => {
    await notes.flush();
    refreshState(copy, notes);
  };

  const attempt = async (decide: Decide): Promise<"again" | ModeState | null> => {
    if (!copy.readable) await read();
    const before = copy.stored;
    const change = await decide(before);
    if (!change) return null;
    if (!(await writeChange(copy, change, copyPowers))) {
      await read();
      return "again";
    }
    await record();
    listeners.call(copy.state, before.mode);
    return copy.state;
  };

  await read();
  await record();

  return {
    get state() {
      return copy.state;
    },
    get stored() {
      return copy.stored;
    },
    get readable() {
      return copy.readable;
    },
    change: (decide) =>
      serial(async () => {
        for (let i = 0; i < MAX_ATTEMPTS; i++) {
          const done = await attempt(decide);
          if (done !== "again") return done;
        }
        throw new AppError(
          "CONFLICT",
          "stale",
          "the mode was changed by other instances with every attempt",
          {
            remedy: "check the present mode, and switch again if that is still needed",
          },
        );
      }),
    reload: () =>
      serial(async () => {
        await read();
        await record();
      }),
    settle: () =>
      serial(async () => {
        try {
          if (!copy.readable || copy.doubtful) await read();
          if (copy.unsaved && !(await saveCopy(copy, copyPowers))) await read();
        } catch (cause) {
          p.log.warn({ err: cause }, "the mode is still not in step with the store");
        }
        if (!notes.isEmpty()) await record();
      }),
    onChange: listeners.add,
  };
}

/** One change at a time. Other instances get the change signal after it, because they may make this one read again. */
function createSerial(
  copy: Pick<ModeCopy, "unannounced">,
  { changed, log }: Pick<ModeStorePowers, "changed" | "log">,
): <T>(work: () => Promise<T>) => Promise<T> {
  let queue: Promise<unknown> = Promise.resolve();

  const tellInstances = async (): Promise<void> => {
    try {
      await changed();
    } catch (cause) {
      log.warn(
        { err: cause },
        "other instances learn of the mode only with their next read of the store",
      );
    }
  };

  return async (work) => {
    const done = queue.then(work, work).then((result) => {
      const wrote = copy.unannounced;
      copy.unannounced = false;
      return { result, wrote };
    });
    queue = done.catch(() => undefined);
    const { result, wrote } = await done;
    if (wrote) await tellInstances();
    return result;
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
