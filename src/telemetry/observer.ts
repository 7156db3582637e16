// Who watches one call on its way through the engine. Nobody, by default: then every step is an empty function.
import type { Call, Outcome, Verdict } from "../call.ts";

/** What the gate left behind, as far as watchers care. */
export interface Judged {
  readonly gates: readonly Verdict[];
  /** The stages that had to wait for an engine. */
  readonly waited: readonly string[] | null;
  /** When the last stage ended, in the time of `performance.now`. */
  readonly at: number;
}

/** Told in this order; a call that is refused is never started. */
export interface CallObserver {
  judged(trail: Judged): void;
  started(): void;
  finished(): void;
  /** Once the end is on record. */
  ended(outcome: Outcome): void;
  /** Instead, when it could not be recorded. */
  failed(cause: unknown): void;
}

/** Called before the first stage. */
export type Observe = (call: Call) => CallObserver;

const nothing = (): void => undefined;
const NOBODY: CallObserver = Object.freeze({
  judged: nothing,
  started: nothing,
  finished: nothing,
  ended: nothing,
  failed: nothing,
});

export const observeNothing: Observe = () => NOBODY;

/** All that are there; one alone is not wrapped. */
export function observers(all: readonly (Observe | null)[]): Observe {
  const present = all.filter((observe) => observe !== null);
  const [first = observeNothing] = present;
  return present.length < 2
    ? first
    : (call) => new Several(present.map((observe) => observe(call)));
}

class Several implements CallObserver {
  readonly #all: readonly CallObserver[];

  constructor(all: readonly CallObserver[]) {
    this.#all = all;
  }

  judged(trail: Judged): void {
    for (const one of this.#all) one.judged(trail);
  }

  started(): void {
    for (const one of this.#all) one.started();
  }

  finished(): void {
    for (const one of this.#all) one.finished();
  }

  ended(outcome: Outcome): void {
    for (const one of this.#all) one.ended(outcome);
  }

  failed(cause: unknown): void {
    for (const one of this.#all) one.failed(cause);
  }
}
