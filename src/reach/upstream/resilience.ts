// Keeps the trouble of one server away from others: a limit of requests at once, a bounded queue, and a circuit
// breaker.
import { AppError } from "../../contract/errors.ts";
import type { Tool } from "../../contract/tool.ts";
import type { ServerSettings } from "../../storage/store/store.ts";
import { openBreaker, type BreakerState } from "../breaker.ts";
import { UpstreamFault, type FaultKind } from "./upstream.ts";

export interface Resilience {
  /** Runs a call when there is room. Throws UNAVAILABLE / queue_full or circuit_open when it may not wait. */
  run<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T>;
  /** The same for a request that is no call: its success does not close the breaker, as calls may still fail. */
  runProbe<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T>;
  readonly breaker: BreakerState;
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

/** A broken connection of a call that did not begin, or that may begin twice: any other failure would happen again. */
export function mayRepeat(cause: unknown, { idempotent }: Pick<Tool, "idempotent">): boolean {
  if (!(cause instanceof UpstreamFault)) return false;
  if (cause.kind === "session_lost") return true; // the server says that it does not know the session: it did nothing
  return (
    (cause.kind === "closed" || cause.kind === "unreachable") && (!cause.dispatched || idempotent)
  );
}

/** Loaded with the first server. */
export async function openResilience(
  server: string,
  limits: Limits,
  onState?: (state: BreakerState) => void,
): Promise<Resilience> {
  const { bulkhead, BulkheadRejectedError } = await import("cockatiel");
  const slots = bulkhead(limits.maxConcurrent, limits.maxQueued);
  const breaker = await openBreaker({
    name: server,
    failures: limits.breakerFailures,
    resetMs: limits.breakerResetMs,
    counts: countsAgainst,
    remedy: "try again later; an administrator sees why with: ostiary servers show",
    ...(onState ? { onState } : {}),
  });
  const full = (cause: unknown): AppError =>
    new AppError(
      "UNAVAILABLE",
      "queue_full",
      `${limits.maxConcurrent} requests to ${server} are under way and ${limits.maxQueued} wait`,
      { remedy: "try again after a short while", retryAfterSeconds: 1, cause },
    );
  /** The breaker is inside: a request that waited for a slot fails at once if the breaker opened meanwhile. */
  const withSlot = <T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> =>
    slots.execute(work, signal).catch((cause: unknown) => {
      throw cause instanceof BulkheadRejectedError ? full(cause) : breaker.translate(cause);
    });
  return {
    run: (work, signal) => withSlot(() => breaker.run(work), signal),
    runProbe: (work, signal) =>
      withSlot(() => {
        if (breaker.state !== "closed") return breaker.run(work);
        return work().catch((cause: unknown) => breaker.run(() => Promise.reject(cause as Error)));
      }, signal),
    get breaker() {
      return breaker.state;
    },
    get inFlight() {
      return limits.maxConcurrent - slots.executionSlots;
    },
    get queued() {
      return limits.maxQueued - slots.queueSlots;
    },
  };
}
