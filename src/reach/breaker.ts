// A circuit breaker: what failed several times in a row is left alone for a while, then one call tries it again.
import { AppError } from "../contract/errors.ts";

export type BreakerState = "closed" | "half_open" | "open";

export interface BreakerSettings {
  /** What is called, as the refusal names it. */
  readonly name: string;
  /** So many failures in a row open it. */
  readonly failures: number;
  readonly resetMs: number;
  /** Is this exception a failure of what is called? */
  readonly counts: (cause: unknown) => boolean;
  readonly remedy: string;
  readonly onState?: (state: BreakerState) => void;
}

export interface Breaker {
  /** Rejects while it is open. While one call tries it again, others wait for its end. */
  run<T>(work: () => Promise<T>): Promise<T>;
  /** What `run` rejected with, for a caller: UNAVAILABLE / circuit_open, or the cause as it is. */
  translate(cause: unknown): unknown;
  readonly state: BreakerState;
}

/** The package is loaded with the first breaker. */
export async function openBreaker(settings: BreakerSettings): Promise<Breaker> {
  const { circuitBreaker, CircuitState, ConsecutiveBreaker, handleWhen, BrokenCircuitError } =
    await import("cockatiel");
  const { name, failures, resetMs } = settings;
  const states = {
    [CircuitState.Closed]: "closed",
    [CircuitState.HalfOpen]: "half_open",
    [CircuitState.Open]: "open",
    [CircuitState.Isolated]: "open",
  } as const;
  const breaker = circuitBreaker(handleWhen(settings.counts), {
    halfOpenAfter: resetMs,
    breaker: new ConsecutiveBreaker(failures),
  });
  let openedAt = 0;
  breaker.onBreak(() => (openedAt = performance.now()));
  breaker.onStateChange((state) => settings.onState?.(states[state]));
  const refusal = (cause: unknown): AppError =>
    new AppError(
      "UNAVAILABLE",
      "circuit_open",
      `${name} failed ${failures} times in a row and is left alone for a while`,
      {
        remedy: settings.remedy,
        retryAfterSeconds: Math.max(1, Math.ceil((openedAt + resetMs - performance.now()) / 1000)),
        cause,
      },
    );
  return {
    run: (work) => breaker.execute(work),
    translate: (cause) => (cause instanceof BrokenCircuitError ? refusal(cause) : cause),
    get state() {
      return states[breaker.state];
    },
  };
}
