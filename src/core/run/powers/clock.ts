import type { ClockPower } from "../../../contract/powers.ts";

/** The clock of the program, so that tests own the time. */
export function clockPower(now: () => number): ClockPower {
  return { now };
}
