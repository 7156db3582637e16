// Reasons for a stricter mode: the machine, failing tools, refused calls, a record that cannot be written.
import type { Caller } from "../../contract/call.ts";
import { SENSORS, type SensorRule } from "../rules/governance.ts";
import type { Measured } from "./machine-window.ts";
import type { MachineSensors } from "./machine.ts";
import type { ModeSignal, SensorReading, Throttle } from "./mode.ts";
import { createSensorWindow } from "./sensor-window.ts";

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

const OFF: SensorRule = { action: "off", threshold: 0, clearBelow: 0, forSeconds: 60 };

export function createSensors(p: SensorPowers): Sensors {
  let urgent = false;
  const firing = new Map<SensorName, number>();
  const ruleOf = (name: SensorName): SensorRule => p.rules()[name] ?? OFF;
  const window = createSensorWindow(p, ruleOf);
  let lastActiveAt = window.at();

  const statusOf = (name: SensorName): SensorStatus & Measured => {
    const rule = ruleOf(name);
    const { threshold, action, forSeconds } = rule;
    const measured = window.measure(name, rule);
    const firingSince = firing.get(name) ?? null;
    const cause = window.exhaustionOf(name);
    return {
      ...measured,
      ...(window.isRolledBack(name) && { incident: "rolled_back" }),
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
      if (window.count(signal)) urgent = true;
    },
    sample: window.sample,
    evaluate() {
      urgent = false;
      const started: SensorStatus[] = [];
      for (const name of SENSORS) {
        const { action, over, under } = statusOf(name);
        if (action === "off" || (firing.has(name) && under)) firing.delete(name);
        else if (over && !firing.has(name)) {
          firing.set(name, window.at());
          started.push(statusOf(name));
        }
        if (action === "act" && firing.has(name)) lastActiveAt = window.at();
      }
      return started;
    },
    statuses: () => SENSORS.map(statusOf),
    quietSince: () =>
      [...firing.keys()].some((name) => ruleOf(name).action === "act") ? null : lastActiveAt,
    urgent: () => urgent,
    throttleOf: window.throttleOf,
  };
}
