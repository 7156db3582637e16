// What could make the house more careful: the machine, failing tools, refused calls, a record that cannot be written.
import type { Caller, Verdict } from "../../contract/call.ts";
import { SENSORS, type SensorRule } from "../rules/governance.ts";
import { callerKey, createCallerCounts, createThrottles } from "./callers.ts";
import type { MachineReading, MachineSensors } from "./machine.ts";
import type { ModeSignal, SensorReading, Throttle } from "./mode.ts";
import { createTally } from "./tally.ts";
import type { Resource } from "../../util/exhaustion.ts";

export type SensorName = (typeof SENSORS)[number];
export type SensorRules = Readonly<Record<string, SensorRule>>;

export interface SensorStatus extends SensorReading {
  readonly name: SensorName;
  /** Over its threshold now; a firing one may be between its two thresholds. */
  readonly over: boolean;
  readonly firingSince: number | null;
  readonly forSeconds: number;
  /** Something that is over at once, and still is for a person to look into. */
  readonly incident?: string;
  /** What was used up, and during what. */
  readonly cause?: string;
}

export interface Sensors {
  /** Called for every call that ended or was refused: counts, and nothing else. */
  signal(signal: ModeSignal): void;
  /** One sample of the window. What failed while this instance was cut off from the store of all is not counted. */
  sample(options?: { cutOff?: boolean }): Promise<void>;
  /** Judges the window; answers those that began to fire. */
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
  /** A caller went over a sensor's threshold and is held to fewer calls from now on. */
  readonly onThrottle: (caller: Caller, sensor: SensorName, count: number) => void;
}

export const SAMPLE_EVERY_MS = 5_000;
/** The longest that a window can be: an hour. */
const MAX_SAMPLES = 720;
const KEEP_MS = MAX_SAMPLES * SAMPLE_EVERY_MS;
/** A rate over fewer calls says nothing. */
const MIN_CALLS = 10;
/** What the machine ran out of counts this long. */
const EXHAUSTED_MS = 60_000;
/** So long a ledger that was rolled back counts as one that cannot be written. */
const ROLLED_BACK_MS = 60_000;
const OFF: SensorRule = { action: "off", threshold: 0, clearBelow: 0, forSeconds: 60 };

interface Exhausted {
  readonly at: number;
  readonly cause: string;
}
const NEVER: Exhausted = { at: -Infinity, cause: "" };
const WORDS: Readonly<Record<Resource, string>> = {
  disk: "the disk was full",
  memory: "no memory was left",
  files: "too many files were open",
  call_memory: "a call needed too much memory",
};

interface Measured {
  readonly value: number;
  readonly over: boolean;
  readonly under: boolean;
}

export function createSensors(p: SensorPowers): Sensors {
  let tickAt = p.now();
  let fresh = { ended: 0, failed: 0, violations: 0, auditFailures: 0 };
  const exhausted: Record<"disk" | "machine", Exhausted> = { disk: NEVER, machine: NEVER };
  /** Callers that needed more memory than one call may have. */
  const greedy = createCallerCounts();
  let rolledBackAt = -Infinity;
  let urgent = false;
  let loudUntil = tickAt;
  const tallies = {
    ended: createTally(),
    failed: createTally(),
    violations: createTally(),
    auditFailures: createTally(),
  };
  const samples: Record<keyof MachineReading, number[]> = { cpu: [], memory: [], disk: [] };
  const violators = createCallerCounts();
  /** Of all dangerous calls that were refused or held: what the house looks at. */
  const daring = createCallerCounts();
  /** Of those that the caller is to blame for. */
  const reckless = createCallerCounts();
  const throttles = createThrottles(p.now);
  const firing = new Map<SensorName, number>();
  const ruleOf = (name: SensorName): SensorRule => p.rules()[name] ?? OFF;

  /** Whatever the rule says of the house: one careless caller is slowed down before everybody is. */
  const blame = (counts: typeof daring, sensor: SensorName, caller: Caller, what: string): void => {
    const rule = ruleOf(sensor);
    if (rule.action === "off") return;
    const count = counts.add(callerKey(caller), tickAt, rule.forSeconds * 1000);
    if (!rule.throttle || count < rule.threshold) return;
    const because = `${count} ${what} within ${durationText(rule.forSeconds)}`;
    if (throttles.hold(callerKey(caller), rule.throttle, because))
      p.onThrottle(caller, sensor, count);
  };

  const countDenied = ({ caller, dangerous, verdict }: Denied): void => {
    const blamed = isMisconduct(verdict);
    if (isViolation(verdict)) {
      fresh.violations++;
      if (blamed) blame(violators, "denials", caller, "calls were forbidden");
    }
    const { action, forSeconds } = ruleOf("dangerous_calls");
    if (!dangerous || action === "off") return;
    daring.add(callerKey(caller), tickAt, forSeconds * 1000);
    if (blamed) blame(reckless, "dangerous_calls", caller, "dangerous calls were forbidden");
  };

  const measureMachine = (name: keyof MachineReading, rule: SensorRule): Measured => {
    if (name === "disk" && isRecent(exhausted.disk))
      return { value: 100, over: true, under: false };
    const wanted = Math.min(
      MAX_SAMPLES,
      Math.max(1, Math.ceil((rule.forSeconds * 1000) / SAMPLE_EVERY_MS)),
    );
    const window = samples[name].slice(-wanted);
    if (window.length === 0) return { value: 0, over: false, under: true };
    return {
      value: window.reduce((sum, value) => sum + value, 0) / window.length,
      over: window.length === wanted && Math.min(...window) >= rule.threshold,
      under: Math.max(...window) < rule.clearBelow,
    };
  };

  const countOf: Record<Exclude<SensorName, keyof MachineReading>, (since: number) => number> = {
    tool_error_rate(since) {
      const ended = tallies.ended.count(since);
      return ended < MIN_CALLS ? 0 : tallies.failed.count(since) / ended;
    },
    denials: (since) => tallies.violations.count(since),
    dangerous_calls: (since) => daring.worst(since),
    audit_failures: (since) => tallies.auditFailures.count(since),
    exhausted: (since) => greedy.callers(since),
  };

  const measure = (name: SensorName, rule: SensorRule): Measured => {
    if (name === "audit_failures" && isRolledBack())
      return { value: rule.threshold, over: true, under: false };
    if (name === "exhausted" && isRecent(exhausted.machine))
      return { value: rule.threshold, over: true, under: false };
    if (name === "cpu" || name === "memory" || name === "disk") return measureMachine(name, rule);
    const value = countOf[name](tickAt - rule.forSeconds * 1000);
    return { value, over: value >= rule.threshold, under: value < rule.clearBelow };
  };

  const isRecent = ({ at }: Exhausted): boolean => tickAt - at < EXHAUSTED_MS;
  const causeOf = (name: SensorName): { cause?: string } => {
    const found = name === "disk" ? exhausted.disk : exhausted.machine;
    return (name === "disk" || name === "exhausted") && isRecent(found)
      ? { cause: found.cause }
      : {};
  };
  const isRolledBack = (): boolean => tickAt - rolledBackAt < ROLLED_BACK_MS;

  const statusOf = (name: SensorName): SensorStatus & Measured => {
    const rule = ruleOf(name);
    const { threshold, action, forSeconds } = rule;
    const measured = measure(name, rule);
    const firingSince = firing.get(name) ?? null;
    const value = Math.round(measured.value * 1000) / 1000;
    const incident = name === "audit_failures" && isRolledBack() ? { incident: "rolled_back" } : {};
    return {
      ...measured,
      ...incident,
      ...causeOf(name),
      name,
      value,
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
        fresh.ended++;
        if (signal.failed) fresh.failed++;
      } else if (signal.kind === "denied") {
        countDenied(signal);
      } else if (signal.kind === "exhausted" && signal.resource === "call_memory") {
        if (signal.caller)
          greedy.add(callerKey(signal.caller), tickAt, ruleOf("exhausted").forSeconds * 1000);
      } else {
        urgent = true;
        if (signal.kind === "exhausted")
          exhausted[signal.resource === "disk" ? "disk" : "machine"] = {
            at: p.now(),
            cause: `${WORDS[signal.resource]}: ${signal.by}`,
          };
        else if (signal.kind === "rolled_back") rolledBackAt = p.now();
        else fresh.auditFailures++;
      }
    },
    async sample({ cutOff = false } = {}) {
      tickAt = Math.max(tickAt, p.now());
      const counted = fresh;
      fresh = { ended: 0, failed: 0, violations: 0, auditFailures: 0 };
      // Samples, not events: a hundred calls that fail in the same second are one fault, and a short one.
      counted.auditFailures = cutOff ? 0 : Math.min(1, counted.auditFailures);
      for (const name of ["ended", "failed", "violations", "auditFailures"] as const)
        if (counted[name] > 0) tallies[name].add(tickAt, counted[name], KEEP_MS);
      const machine = await p.machine.read();
      for (const name of ["cpu", "memory", "disk"] as const) {
        const value = machine[name];
        if (value === null) continue;
        samples[name].push(value);
        if (samples[name].length > MAX_SAMPLES) samples[name].shift();
      }
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
    throttleOf: throttles.of,
  };
}

type Denied = Extract<ModeSignal, { readonly kind: "denied" }>;

/** What the mode or a person's answer refuses is no misbehaviour: it would keep the mode from ever going back. */
function isViolation(verdict: Verdict | null): boolean {
  if (verdict?.code !== "FORBIDDEN") return false;
  const { reason = "" } = verdict;
  return reason !== "mode_forbids" && !reason.startsWith("approval_");
}

/** Refused because of how the caller was set up: an administrator changes that, not the caller. */
const SET_UP: readonly string[] = [
  "level_too_low",
  "scope_missing",
  "permission_missing",
  "not_allowlisted",
];

/**
 * What the caller is to blame for: it asked for what a rule forbids. To ask a person, as the rules want it, is no
 * fault.
 */
const isMisconduct = (verdict: Verdict | null): boolean =>
  isViolation(verdict) && !SET_UP.includes(verdict?.reason ?? "");

function durationText(seconds: number): string {
  if (seconds % 60 !== 0 || seconds === 60) return `${seconds} seconds`;
  return `${seconds / 60} minutes`;
}
