// Everything but the registry that decides which tools somebody sees: one place to hear that it has changed.
import type { Doors } from "../server/doors.ts";

export interface Visibility {
  readonly on: Doors["visibility"]["on"];
  /** Somebody may see other tools than before. */
  changed(): void;
}

export function createVisibility(): Visibility {
  const listeners = new Set<() => void>();
  return {
    on(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    changed() {
      for (const listener of listeners) listener();
    },
  };
}
