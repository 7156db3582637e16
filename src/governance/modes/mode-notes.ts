// Records changes of the mode: in order, and tried again until it succeeds.
import type { JsonObject } from "../../contract/call.ts";
import type { Action } from "../../storage/store/store.ts";
import type { ModeLog } from "./mode-store.ts";

export interface ModeNote {
  readonly action: Extract<Action, "mode.changed" | "mode.proposed">;
  readonly who: { readonly tenantId: string; readonly userId: string };
  readonly body: JsonObject;
}

export interface NoteQueue {
  add(note: ModeNote): void;
  isEmpty(): boolean;
  /** Records in order what it can; the rest waits for the next time. */
  flush(): Promise<void>;
}

export interface NotePowers {
  readonly note: (action: Action, who: ModeNote["who"], body: JsonObject) => Promise<void>;
  readonly log: ModeLog;
}

export function createNoteQueue({ note, log }: NotePowers): NoteQueue {
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
