// Reads the table of transitions: what the sensors move by themselves, and what they only propose to a person.
import type { Mode } from "../../contract/call.ts";
import type { TransitionRule } from "../rules/governance.ts";
import type { SensorStatus } from "./sensors.ts";
import { isStricter, type StoredMode } from "./stored.ts";

export interface Move {
  readonly to: Mode;
  readonly by: string;
  readonly reason: string;
  /** When its cause began: one cause proposes once. */
  readonly cause: number;
}

export interface Situation {
  readonly state: StoredMode;
  readonly sensors: readonly SensorStatus[];
  /** Null while a sensor that acts is firing. */
  readonly quietSince: number | null;
  readonly now: number;
}

/** At most one of each; of several the strictest. A proposal is wanted only while nothing moves by itself. */
export function nextMove(
  table: readonly TransitionRule[],
  situation: Situation,
): { automatic: Move | null; proposed: Move | null } {
  let automatic: Move | null = null;
  let proposed: Move | null = null;
  for (const rule of table) {
    if (rule.from !== situation.state.mode) continue;
    const move =
      "firing" in rule.when
        ? firingMove(rule.to, rule.when.firing, situation)
        : quietMove(rule.to, rule.when.quietSeconds, situation);
    if (!move) continue;
    if (needsHuman(rule, situation.state)) proposed = stricterMove(proposed, move);
    else automatic = stricterMove(automatic, move);
  }
  return { automatic, proposed: automatic ? null : proposed };
}

/**
 * Only a person ends LOCKDOWN, whatever the table says; and a mode that a person chose does not end because no sensor
 * fires.
 */
function needsHuman(rule: TransitionRule, state: StoredMode): boolean {
  if (rule.from === "LOCKDOWN") return true;
  if (rule.needsHuman) return !goesBack(rule, state);
  return "quietSeconds" in rule.when && chosenByPerson(state);
}

/** A change by a machine sensor is undone once the fault is over: only to the mode before it, never further. */
const goesBack = ({ unlessBy = [], to }: TransitionRule, { by, before }: StoredMode): boolean =>
  before === to && unlessBy.some((name) => by === `sensor:${name}`);

const chosenByPerson = ({ by }: StoredMode): boolean =>
  !by.startsWith("sensor:") && by !== "timer" && by !== "system";

function firingMove(to: Mode, names: readonly string[], situation: Situation): Move | null {
  const { sensors } = situation;
  const sensor = sensors.find((each) => names.includes(each.name) && countsNow(each, situation));
  if (!sensor) return null;
  const { name, value, threshold, incident, cause } = sensor;
  return {
    to,
    by: `sensor:${incident ?? name}`,
    reason: `${name} is ${value}, threshold ${threshold}${cause === undefined ? "" : ` (${cause})`}`,
    cause: sensor.firingSince ?? 0,
  };
}

/**
 * A sensor moves the mode when it begins to fire in it. One that fired before moves it again only on fresh evidence,
 * a whole window of this mode, and never against a person who chose this mode while it was firing.
 */
function countsNow(
  { action, firingSince, over, forSeconds }: SensorStatus,
  { state, now }: Situation,
): boolean {
  if (action !== "act" || firingSince === null) return false;
  if (firingSince > state.since) return true;
  return over && !chosenByPerson(state) && now - state.since >= forSeconds * 1000;
}

/** A mode with a time limit goes back by its timer. */
function quietMove(
  to: Mode,
  quietSeconds: number,
  { state, quietSince, now }: Situation,
): Move | null {
  if (quietSince === null || state.until !== null) return null;
  const since = Math.max(quietSince, state.since);
  if (now - since < quietSeconds * 1000) return null;
  return {
    to,
    by: "sensor:quiet",
    reason:
      quietSeconds === 0
        ? "no sensor is firing"
        : `no sensor has been firing for ${quietSeconds} s`,
    cause: since,
  };
}

const stricterMove = (a: Move | null, b: Move): Move => (!a || isStricter(b.to, a.to) ? b : a);
