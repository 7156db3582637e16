// What the sensors have counted and measured in the time that their rules look back.
import type { SensorRule } from "../rules/governance.ts";
import { callerKey, createCallerCounts } from "./callers.ts";
import { createEventCounts } from "./event-counts.ts";
import { createIncidents } from "./incidents.ts";
import { createMachineWindow, type Measured } from "./machine-window.ts";
import type { MachineReading } from "./machine.ts";
import type { ModeSignal } from "./mode.ts";
import { createRefusalCounts } from "./refusal-counts.ts";
import type { SensorName, SensorPowers, Sensors } from "./sensors.ts";

export interface SensorWindow extends Pick<Sensors, "sample" | "throttleOf"> {
  /** The time of the last sample. */
  at(): number;
  /** True for a signal that should not wait for the next evaluation. */
  count(signal: ModeSignal): boolean;
  measure(name: SensorName, rule: SensorRule): Measured;
  /** What was used up, and during what; null: nothing. */
  exhaustionOf(name: SensorName): string | null;
  isRolledBack(name: SensorName): boolean;
}

export const SAMPLE_EVERY_MS = 5_000;
/** The longest that a window can be: an hour. */
const MAX_SAMPLES = 720;
/** A rate over fewer calls says nothing. */
const MIN_CALLS = 10;

export function createSensorWindow(
  p: Pick<SensorPowers, "machine" | "now" | "onThrottle">,
  ruleOf: (name: SensorName) => SensorRule,
): SensorWindow {
  let at = p.now();
  const counts = createEventCounts(MAX_SAMPLES * SAMPLE_EVERY_MS);
  const machine = createMachineWindow(p.machine, {
    maxSamples: MAX_SAMPLES,
    everyMs: SAMPLE_EVERY_MS,
  });
  const incidents = createIncidents(p.now);
  const refusals = createRefusalCounts({ ruleOf, now: p.now, onThrottle: p.onThrottle });
  /** Callers that needed more memory than one call may have. */
  const memoryHungry = createCallerCounts();

  const countOf: Record<Exclude<SensorName, keyof MachineReading>, (since: number) => number> = {
    tool_error_rate(since) {
      const ended = counts.count("ended", since);
      return ended < MIN_CALLS ? 0 : counts.count("failed", since) / ended;
    },
    denials: (since) => counts.count("violations", since),
    dangerous_calls: refusals.dangerousAttempts,
    audit_failures: (since) => counts.count("auditFailures", since),
    exhausted: memoryHungry.callers,
  };

  const exhaustionOf = (name: SensorName): string | null =>
    name === "disk" || name === "exhausted"
      ? incidents.exhaustion(name === "disk" ? "disk" : "machine", at)
      : null;
  const isRolledBack = (name: SensorName): boolean =>
    name === "audit_failures" && incidents.isRolledBack(at);

  return {
    at: () => at,
    exhaustionOf,
    isRolledBack,
    throttleOf: refusals.throttleOf,
    measure(name, rule) {
      if (exhaustionOf(name) !== null || isRolledBack(name))
        return { value: name === "disk" ? 100 : rule.threshold, over: true, under: false };
      if (name === "cpu" || name === "memory" || name === "disk")
        return machine.measure(name, rule);
      const value = countOf[name](at - rule.forSeconds * 1000);
      return { value, over: value >= rule.threshold, under: value < rule.clearBelow };
    },
    count(signal) {
      if (signal.kind === "ended") {
        counts.add("ended");
        if (signal.failed) counts.add("failed");
        return false;
      }
      if (signal.kind === "denied") {
        if (refusals.add(signal, at)) counts.add("violations");
        return false;
      }
      if (signal.kind === "exhausted" && signal.resource === "call_memory") {
        const forMs = ruleOf("exhausted").forSeconds * 1000;
        if (signal.caller) memoryHungry.add(callerKey(signal.caller), at, forMs);
        return false;
      }
      if (signal.kind === "exhausted") incidents.exhausted(signal);
      else if (signal.kind === "rolled_back") incidents.rolledBack();
      else counts.add("auditFailures");
      return true;
    },
    async sample({ cutOff = false } = {}) {
      at = Math.max(at, p.now());
      counts.sample(at, { cutOff });
      await machine.sample();
    },
  };
}
