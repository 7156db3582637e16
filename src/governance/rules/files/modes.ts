// modes.yaml: the five modes, what is watched, and when the mode may change.
import { MODES, type Mode } from "../../../contract/call.ts";
import { SENSORS, type SensorRule, type TransitionRule } from "../governance.ts";
import type { YamlEntry } from "./yaml.ts";

/** Those that are counted per caller too, and may slow one caller down. */
const PER_CALLER: readonly string[] = ["denials", "dangerous_calls"];

export interface ModesFile {
  readonly modes: Readonly<Record<Mode, { description: string; callsPerMinute: number | null }>>;
  readonly sensors: Readonly<Record<string, SensorRule>>;
  readonly transitions: readonly TransitionRule[];
}

const HOUR_SECONDS = 3_600;
const DAY_SECONDS = 86_400;
const MAX_PER_MINUTE = 1_000_000;

export function readModes(file: YamlEntry): ModesFile {
  const { modes, sensors, transitions } = file.fields(["modes", "sensors", "transitions"]);
  const named = modes.fields(MODES);
  return {
    modes: Object.fromEntries(
      MODES.map((mode) => [mode, readMode(named[mode])]),
    ) as ModesFile["modes"],
    sensors: readSensors(sensors),
    transitions: readTransitions(transitions),
  };
}

function readMode(entry: YamlEntry): { description: string; callsPerMinute: number | null } {
  const fields = entry.fields(["description", "calls_per_minute"]);
  return {
    description: fields.description.text() ?? "",
    callsPerMinute: fields.calls_per_minute.limit(MAX_PER_MINUTE) ?? null,
  };
}

/** Files that were written before this one existed do not name it: then it is off. */
const LATER_ADDED = ["exhausted"] as const;
const OFF: SensorRule = { action: "off", threshold: 1, clearBelow: 1, forSeconds: 60 };
const isLaterAdded = (name: (typeof SENSORS)[number]): name is (typeof LATER_ADDED)[number] =>
  (LATER_ADDED as readonly string[]).includes(name);

function readSensors(entry: YamlEntry): Record<string, SensorRule> {
  const required = SENSORS.filter((name) => !isLaterAdded(name));
  const named = entry.fields(required, LATER_ADDED);
  return Object.fromEntries(
    SENSORS.map((name) => {
      const rule = named[name];
      return [name, rule === undefined ? OFF : readSensor(name, rule)];
    }),
  );
}

function readSensor(name: string, entry: YamlEntry): SensorRule {
  const fields = entry.fields(["action", "threshold", "clear_below", "for_seconds"], ["throttle"]);
  const threshold = fields.threshold.number(0, 1_000_000) ?? 0;
  const clearBelow = fields.clear_below.number(0, 1_000_000) ?? 0;
  if (clearBelow > threshold)
    fields.clear_below.fault(
      `${clearBelow} lies above the threshold ${threshold}; it would never be quiet`,
    );
  const rule: SensorRule = {
    action: fields.action.choice(["off", "warn", "act"]) ?? "off",
    threshold,
    clearBelow,
    forSeconds: fields.for_seconds.whole(0, HOUR_SECONDS) ?? 0,
  };
  if (!fields.throttle) return rule;
  if (!PER_CALLER.includes(name))
    fields.throttle.fault(
      `only ${PER_CALLER.join(" and ")} are counted per caller and can slow one down`,
    );
  const throttle = fields.throttle.fields(["calls_per_minute", "for_seconds"]);
  return {
    ...rule,
    throttle: {
      callsPerMinute: throttle.calls_per_minute.whole(0, MAX_PER_MINUTE) ?? 0,
      forSeconds: throttle.for_seconds.whole(1, DAY_SECONDS) ?? 1,
    },
  };
}

function readTransitions(entry: YamlEntry): TransitionRule[] {
  const seen = new Set<string>();
  return entry.items().map((item) => {
    const fields = item.fields(
      ["from", "to"],
      ["firing", "quiet_seconds", "needs_human", "unless_by"],
    );
    const from = fields.from.choice(MODES) ?? "NORMAL";
    const to = fields.to.choice(MODES) ?? "NORMAL";
    const pair = `${from} to ${to}`;
    if (seen.has(pair)) item.fault(`the way from ${pair} is written twice`);
    seen.add(pair);
    if (fields.firing && fields.quiet_seconds)
      item.fault("takes firing or quiet_seconds, not both");
    if (!fields.firing && !fields.quiet_seconds)
      item.fault("needs firing (names of sensors) or quiet_seconds");
    const needsHuman = fields.needs_human?.flag() ?? false;
    const unlessBy = (fields.unless_by?.items() ?? []).map((name) => name.choice(SENSORS) ?? "cpu");
    if (fields.unless_by && !(fields.quiet_seconds && needsHuman))
      fields.unless_by.fault("goes with quiet_seconds and needs_human");
    if (fields.quiet_seconds)
      return {
        from,
        to,
        when: { quietSeconds: fields.quiet_seconds.whole(0, DAY_SECONDS) ?? 0 },
        needsHuman,
        ...(unlessBy.length > 0 ? { unlessBy } : {}),
      };
    const firing = (fields.firing?.items() ?? []).map((name) => name.choice(SENSORS) ?? "cpu");
    if (fields.firing && firing.length === 0) fields.firing.fault("names no sensor");
    return { from, to, when: { firing }, needsHuman };
  });
}
