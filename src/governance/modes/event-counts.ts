// Calls that ended or failed, violations and failed records: counted between two samples, then kept as long as the
// longest window of a sensor.
import { createTally } from "./tally.ts";

const COUNTED = ["ended", "failed", "violations", "auditFailures"] as const;
export type CountedEvent = (typeof COUNTED)[number];

export interface EventCounts {
  add(name: CountedEvent): void;
  /** Closes the present sample. Failed records are left out of it while this instance is cut off from the store. */
  sample(at: number, options: { cutOff: boolean }): void;
  count(name: CountedEvent, since: number): number;
}

export function createEventCounts(keepMs: number): EventCounts {
  let fresh = { ended: 0, failed: 0, violations: 0, auditFailures: 0 };
  const tallies = {
    ended: createTally(),
    failed: createTally(),
    violations: createTally(),
    auditFailures: createTally(),
  };
  return {
    add: (name) => void fresh[name]++,
    sample(at, { cutOff }) {
      const counted = fresh;
      fresh = { ended: 0, failed: 0, violations: 0, auditFailures: 0 };
      // Samples, not events: a hundred calls that fail in the same second are one fault, and a short one.
      counted.auditFailures = cutOff ? 0 : Math.min(1, counted.auditFailures);
      for (const name of COUNTED)
        if (counted[name] > 0) tallies[name].add(at, counted[name], keepMs);
    },
    count: (name, since) => tallies[name].count(since),
  };
}
