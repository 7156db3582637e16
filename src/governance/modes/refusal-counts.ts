// Refused and held calls per caller: what the sensors count, and which callers are slowed down because of them.
import type { Caller, Verdict } from "../../contract/call.ts";
import type { SensorRule } from "../rules/governance.ts";
import { callerKey, createCallerCounts, createThrottles, type CallerCounts } from "./callers.ts";
import type { ModeSignal } from "./mode.ts";
import type { SensorName, Sensors } from "./sensors.ts";

type Denied = Extract<ModeSignal, { readonly kind: "denied" }>;

export interface RefusalCounts {
  /** True when it was a violation. */
  add(refused: Denied, at: number): boolean;
  /** The most dangerous calls of one caller that were refused or held since then. */
  dangerousAttempts(since: number): number;
  readonly throttleOf: Sensors["throttleOf"];
}

export function createRefusalCounts(p: {
  readonly ruleOf: (name: SensorName) => SensorRule;
  readonly now: () => number;
  readonly onThrottle: (caller: Caller, sensor: SensorName, count: number) => void;
}): RefusalCounts {
  const violators = createCallerCounts();
  /** All dangerous calls that were refused or held: the sensor counts these. */
  const dangerous = createCallerCounts();
  /** Those of them that the caller is to blame for. */
  const reckless = createCallerCounts();
  const throttles = createThrottles(p.now);

  /** One careless caller is slowed down before the mode changes for all. */
  const blame = (
    counts: CallerCounts,
    sensor: SensorName,
    caller: Caller,
    at: number,
    what: string,
  ): void => {
    const rule = p.ruleOf(sensor);
    if (rule.action === "off") return;
    const count = counts.add(callerKey(caller), at, rule.forSeconds * 1000);
    if (!rule.throttle || count < rule.threshold) return;
    const because = `${count} ${what} within ${durationText(rule.forSeconds)}`;
    if (throttles.throttle(callerKey(caller), rule.throttle, because))
      p.onThrottle(caller, sensor, count);
  };

  return {
    add({ caller, dangerous: isDangerous, verdict }, at) {
      const violation = isViolation(verdict);
      const blamed = isMisconduct(verdict);
      if (blamed) blame(violators, "denials", caller, at, "calls were forbidden");
      const { action, forSeconds } = p.ruleOf("dangerous_calls");
      if (!isDangerous || action === "off") return violation;
      dangerous.add(callerKey(caller), at, forSeconds * 1000);
      if (blamed) blame(reckless, "dangerous_calls", caller, at, "dangerous calls were forbidden");
      return violation;
    },
    dangerousAttempts: dangerous.worst,
    throttleOf: throttles.of,
  };
}

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
