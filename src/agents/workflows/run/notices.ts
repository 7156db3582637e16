// Notifies the code in this process that waits for a run, or drives it, of a change. This only saves time: the store is
// authoritative, and a reader that misses a notice reads the change there.
import type { RunRow } from "../../../storage/store/store.ts";

export interface Notices {
  /** A change of the run is durable. */
  changed(run: RunRow): void;
  onChanged(runId: string, listener: (run: RunRow) => void): () => void;
  /** A person requested something of the run, or what one of its steps waits for has come. */
  nudge(runId: string): void;
  onNudge(runId: string, listener: () => void): () => void;
}

export function createNotices(): Notices {
  const changes = createListeners<RunRow>();
  const nudges = createListeners<void>();
  return {
    changed: (run) => changes.tell(run.id, run),
    onChanged: (runId, listener) => changes.add(runId, listener),
    nudge: (runId) => nudges.tell(runId, undefined),
    onNudge: (runId, listener) => nudges.add(runId, listener),
  };
}

function createListeners<T>() {
  const byRun = new Map<string, Set<(told: T) => void>>();
  return {
    tell(runId: string, told: T): void {
      for (const listener of [...(byRun.get(runId) ?? [])]) listener(told);
    },
    add(runId: string, listener: (told: T) => void): () => void {
      const mine = byRun.get(runId) ?? new Set();
      byRun.set(runId, mine.add(listener));
      return () => {
        mine.delete(listener);
        if (mine.size === 0 && byRun.get(runId) === mine) byRun.delete(runId);
      };
    },
  };
}
