// What may call for a stricter mode: the machine, failing tools, refused calls, a record that cannot be written.
import type { Caller } from "../../contract/call.ts";
import { SENSORS, type SensorRule } from "../rules/governance.ts";
import { callerKey, createCallerCounts } from "./callers.ts";
import { createEventCounts } from "./event-counts.ts";
import { createIncidents } from "./incidents.ts";
import { createMachineWindow, type Measured } from "./machine-window.ts";
import type { MachineReading, MachineSensors } from "./machine.ts";
import type { ModeSignal, SensorReading, Throttle } from "./mode.ts";
import { createRefusalCounts } from "./refusal-counts.ts";

export type SensorName = (typeof SENSORS)[number];
export type SensorRules = Readonly<Record<string, SensorRule>>;

export interface SensorStatus extends SensorReading {
  readonly name: SensorName;
  /** Over its threshold now; a firing one may be between its two thresholds. */
  readonly over: boolean;
  readonly firingSince: number | null;
  readonly forSeconds: number;
  /** An incident that ends by itself, but that a person should look into. */
  readonly incident?: string;
  /** What was used up, and during what. */
  readonly cause?: string;
}

export interface Sensors {
  /** Called for every call that ended or was refused: counts, and nothing else. */
  signal(signal: ModeSignal): void;
  /** One sample of the window. What failed while this instance did not reach the shared store is not counted. */
  sample(options?: { cutOff?: boolean }): Promise<void>;
  /** Evaluates the window; returns those that began to fire. */
  evaluate(): readonly SensorStatus[];
  statuses(): readonly SensorStatus[];
  /** Since when no sensor that acts has been firing; null while one is. */
  quietSince(): number | null;
  /** Something happened that should not wait for the next evaluation. */
  urgent(): boolean;
  throttleOf(caller: Caller): Throttle | null;
}

export interface SensorPowers {
  readonly machine: MachineSensors;
  readonly rules: () => SensorRules;
  readonly now: () => number;
  /** A caller went over a sensor's threshold and is throttled from now on. */
  readonly onThrottle: (caller: Caller, sensor: SensorName, count: number) => void;
}

export const SAMPLE_EVERY_MS = 5_000;
/** The longest that a window can be: an hour. */
const MAX_SAMPLES = 720;
/** A rate over fewer calls says nothing. */
const MIN_CALLS = 10;
const OFF: SensorRule = { action: "off", threshold: 0, clearBelow: 0, forSeconds: 60 };

export function createSensors(p: SensorPowers): Sensors {
  let tickAt = p.now();
  let urgent = false;
  let loudUntil = tickAt;
  const firing = new Map<SensorName, number>();
  const ruleOf = (name: SensorName): SensorRule => p.rules()[name] ?? OFF;
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
      ? incidents.exhaustion(name === "disk" ? "disk" : "machine", tickAt)
      : null;

  const measure = (name: SensorName, rule: SensorRule): Measured => {
    const incident =
      exhaustionOf(name) !== null || (name === "audit_failures" && incidents.isRolledBack(tickAt));
    if (incident)
      return { value: name === "disk" ? 100 : rule.threshold, over: true, under: false };
    if (name === "cpu" || name === "memory" || name === "disk") return machine.measure(name, rule);
    const value = countOf[name](tickAt - rule.forSeconds * 1000);
    return { value, over: value >= rule.threshold, under: value < rule.clearBelow };
  };

  const statusOf = (name: SensorName): SensorStatus & Measured => {
    const rule = ruleOf(name);
    const { threshold, action, forSeconds } = rule;
    const measured = measure(name, rule);
    const firingSince = firing.get(name) ?? null;
    const isRolledBack = name === "audit_failures" && incidents.isRolledBack(tickAt);
    const cause = exhaustionOf(name);
    return {
      ...measured,
      ...(isRolledBack && { incident: "rolled_back" }),
      ...(cause !== null && { cause }),
      name,
      value: Math.round(measured.value * 1000) / 1000,
      threshold,
      action,
      firing: firingSince !== null,
      firingSince,
      forSeconds,
    };
  };

  return {
    signal(signal) {
      if (signal.kind === "ended") {
        counts.add("ended");
        if (signal.failed) counts.add("failed");
      } else if (signal.kind === "denied") {
        if (refusals.add(signal, tickAt)) counts.add("violations");
      } else if (signal.kind === "exhausted" && signal.resource === "call_memory") {
        if (signal.caller)
          memoryHungry.add(callerKey(signal.caller), tickAt, ruleOf("exhausted").forSeconds * 1000);
      } else {
        urgent = true;
        if (signal.kind === "exhausted") incidents.exhausted(signal);
        else if (signal.kind === "rolled_back") incidents.rolledBack();
        else counts.add("auditFailures");
      }
    },
    async sample({ cutOff = false } = {}) {
      tickAt = Math.max(tickAt, p.now());
      counts.sample(tickAt, { cutOff });
      await machine.sample();
    },
    evaluate() {
      urgent = false;
      const started: SensorStatus[] = [];
      for (const name of SENSORS) {
        const { action, over, under } = statusOf(name);
        if (action === "off" || (firing.has(name) && under)) firing.delete(name);
        else if (over && !firing.has(name)) {
          firing.set(name, tickAt);
          started.push(statusOf(name));
        }
        if (action === "act" && firing.has(name)) loudUntil = tickAt;
      }
      return started;
    },
    statuses: () => SENSORS.map(statusOf),
    quietSince: () =>
      [...firing.keys()].some((name) => ruleOf(name).action === "act") ? null : loudUntil,
    urgent: () => urgent,
    throttleOf: refusals.throttleOf,
  };
}
