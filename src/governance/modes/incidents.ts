// Faults that count from their first occurrence and for a while after it: something was used up, the database was
// rolled back.
import type { Resource } from "../../util/exhaustion.ts";
import type { ModeSignal } from "./mode.ts";

/** What the machine ran out of counts this long. */
const EXHAUSTED_MS = 60_000;
/** A ledger that was rolled back counts this long as one that cannot be written. */
const ROLLED_BACK_MS = 60_000;

const CAUSES: Readonly<Record<Resource, string>> = {
  disk: "the disk was full",
  memory: "no memory was left",
  files: "too many files were open",
  call_memory: "a call needed too much memory",
};

type Exhausted = Extract<ModeSignal, { readonly kind: "exhausted" }>;

export interface Incidents {
  rolledBack(): void;
  exhausted(signal: Exhausted): void;
  isRolledBack(at: number): boolean;
  /** What was used up a short while ago, and during what; null when nothing was. */
  exhaustion(of: "disk" | "machine", at: number): string | null;
}

export function createIncidents(now: () => number): Incidents {
  let rolledBackAt = -Infinity;
  const last = {
    disk: { at: -Infinity, cause: "" },
    machine: { at: -Infinity, cause: "" },
  };
  return {
    rolledBack() {
      rolledBackAt = now();
    },
    exhausted({ resource, by }) {
      last[resource === "disk" ? "disk" : "machine"] = {
        at: now(),
        cause: `${CAUSES[resource]}: ${by}`,
      };
    },
    isRolledBack: (at) => at - rolledBackAt < ROLLED_BACK_MS,
    exhaustion(of, at) {
      const found = last[of];
      return at - found.at < EXHAUSTED_MS ? found.cause : null;
    },
  };
}
