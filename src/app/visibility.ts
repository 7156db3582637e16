// One change signal for what decides, besides the registry, which tools a caller sees: rights, rules, mode, servers.
import type { Doors } from "../server/doors.ts";

export interface Visibility {
  readonly on: Doors["visibility"]["on"];
  /** To be called when callers may see other tools than before. */
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
