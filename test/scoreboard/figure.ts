// What a check of the scoreboard found, and what a probe is.
import type { OpenTarget } from "../attack/target.ts";

export interface Figure {
  /** How much was tried; of what is in `unit`. */
  readonly tried: number;
  readonly held: number;
  /** For example "calls". */
  readonly unit: string;
  /** Measured values beside the count, for example "p99 120 ms". */
  readonly figures?: string;
  /** Legal use through the same door. */
  readonly control: { readonly tried: number; readonly held: number };
  /** What missed the target, each in a sentence; empty when all held. */
  readonly faults: readonly string[];
  /** What is smaller than the check asks for: then it is held in part only. */
  readonly lacks?: string;
  /** What else is to be known. */
  readonly note?: string;
}

export interface ProbeContext {
  readonly seed: number;
  /** Opens a server in a process of its own; it is closed after the probe. */
  open(settings?: Record<string, string>): Promise<OpenTarget>;
  /** Ends with the probe. */
  readonly signal: AbortSignal;
}

/** A check that no other command makes: small, through the real door. */
export type Probe = (context: ProbeContext) => Promise<Figure>;

/** Collects cases: what is expected of each, and what came. */
export function openCount(unit: string) {
  const faults: string[] = [];
  const control = { tried: 0, held: 0 };
  let tried = 0;
  let held = 0;
  return {
    /** Null: held. */
    add(fault: string | null): void {
      tried++;
      if (fault === null) held++;
      else faults.push(fault);
    },
    control(works: boolean, what: string): void {
      control.tried++;
      if (works) control.held++;
      else faults.push(`control: ${what}`);
    },
    figure: (more: { figures?: string; lacks?: string; note?: string } = {}): Figure => ({
      tried,
      held,
      unit,
      control,
      faults,
      ...more,
    }),
  };
}

/** True when the target is met: everything tried was held, and the control worked. */
export const meetsTarget = ({ tried, held, control, faults }: Figure): boolean =>
  tried > 0 &&
  held === tried &&
  faults.length === 0 &&
  control.tried > 0 &&
  control.held === control.tried;
