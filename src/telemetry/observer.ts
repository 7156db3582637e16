// Observes one call on its way through the engine. The default observer does nothing.
import type { Call, Outcome, Verdict } from "../contract/call.ts";

/** The result of the gate, as far as observers need it. */
export interface Judged {
  readonly gates: readonly Verdict[];
  /** The stages that had to wait for an engine. */
  readonly waited: readonly string[] | null;
  /** When the last stage ended, in the time of `performance.now`. */
  readonly at: number;
}

/** Called in this order; a call that is refused is never started. */
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

/** Combines those that exist; a single one is not wrapped. */
export function observers(all: readonly (Observe | null)[]): Observe {
  const present = all.filter((observe) => observe !== null);
  const [first = observeNothing, ...others] = present;
  return others.reduce((one, other) => (call) => new Both(one(call), other(call)), first);
}

class Both implements CallObserver {
  readonly #one: CallObserver;
  readonly #other: CallObserver;

  constructor(one: CallObserver, other: CallObserver) {
    this.#one = one;
    this.#other = other;
  }

  judged(trail: Judged): void {
    this.#one.judged(trail);
    this.#other.judged(trail);
  }

  started(): void {
    this.#one.started();
    this.#other.started();
  }

  finished(): void {
    this.#one.finished();
    this.#other.finished();
  }

  ended(outcome: Outcome): void {
    this.#one.ended(outcome);
    this.#other.ended(outcome);
  }

  failed(cause: unknown): void {
    this.#one.failed(cause);
    this.#other.failed(cause);
  }
}
