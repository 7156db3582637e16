// Keeps the trouble of one server away from others: a limit of requests at once, a bounded queue, and a circuit
// breaker.
import { AppError } from "../../contract/errors.ts";
import type { ServerSettings } from "../../storage/store/store.ts";
import { UpstreamFault, type FaultKind, type ServerHealth } from "./upstream.ts";

export interface Resilience {
  /** Runs a call when there is room. Throws UNAVAILABLE / queue_full or circuit_open when it may not wait. */
  run<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T>;
  /** The same for a request that is no call: its success does not close the breaker, as calls may still fail. */
  runProbe<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T>;
  readonly breaker: ServerHealth["breaker"];
  readonly inFlight: number;
  readonly queued: number;
}

type Limits = Pick<
  ServerSettings,
  "maxConcurrent" | "maxQueued" | "breakerFailures" | "breakerResetMs"
>;

/** Faults of the server. What it refuses, or what the caller gave up, says nothing about its health. */
const COUNTED: ReadonlySet<FaultKind> = new Set([
  "unreachable",
  "closed",
  "timeout",
  "too_large",
  "protocol",
]);

export const countsAgainst = (cause: unknown): boolean =>
  cause instanceof UpstreamFault && COUNTED.has(cause.kind);

/** Loaded with the first server. */
export async function openResilience(server: string, limits: Limits): Promise<Resilience> {
  const {
    bulkhead,
    circuitBreaker,
    CircuitState,
    ConsecutiveBreaker,
    handleWhen,
    BrokenCircuitError,
    BulkheadRejectedError,
  } = await import("cockatiel");
  const slots = bulkhead(limits.maxConcurrent, limits.maxQueued);
  const breaker = circuitBreaker(handleWhen(countsAgainst), {
    halfOpenAfter: limits.breakerResetMs,
    breaker: new ConsecutiveBreaker(limits.breakerFailures),
  });
  let openedAt = 0;
  breaker.onBreak(() => (openedAt = performance.now()));
  const refusal = (cause: unknown): unknown => {
    if (cause instanceof BulkheadRejectedError)
      return new AppError(
        "UNAVAILABLE",
        "queue_full",
        `${limits.maxConcurrent} requests to ${server} are under way and ${limits.maxQueued} wait`,
        { remedy: "try again after a short while", retryAfterSeconds: 1 },
      );
    if (!(cause instanceof BrokenCircuitError)) return cause;
    const left = Math.max(
      1,
      Math.ceil((openedAt + limits.breakerResetMs - performance.now()) / 1000),
    );
    return new AppError(
      "UNAVAILABLE",
      "circuit_open",
      `${server} failed ${limits.breakerFailures} times in a row and is left alone for a while`,
      {
        remedy: "try again later; an administrator sees why with: ostiary servers show",
        retryAfterSeconds: left,
      },
    );
  };
  const states = {
    [CircuitState.Closed]: "closed",
    [CircuitState.HalfOpen]: "half_open",
    [CircuitState.Open]: "open",
    [CircuitState.Isolated]: "open",
  } as const;
  /** The breaker is inside: a request that waited for a slot fails at once if the breaker opened meanwhile. */
  const withSlot = <T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> =>
    slots.execute(work, signal).catch((cause: unknown) => {
      throw refusal(cause);
    });
  const counted = <T>(work: () => Promise<T>): Promise<T> => breaker.execute(work);
  return {
    run: (work, signal) => withSlot(() => counted(work), signal),
    runProbe: (work, signal) =>
      withSlot(() => {
        if (breaker.state !== CircuitState.Closed) return counted(work);
        return work().catch((cause: unknown) => counted(() => Promise.reject(cause as Error)));
      }, signal),
    get breaker() {
      return states[breaker.state];
    },
    get inFlight() {
      return limits.maxConcurrent - slots.executionSlots;
    },
    get queued() {
      return limits.maxQueued - slots.queueSlots;
    },
  };
}
