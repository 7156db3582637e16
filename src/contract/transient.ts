// Failures that pass by themselves: the same call may succeed a moment later.
import type { Code, Fault } from "./errors.ts";

/** The way to another machine failed. Tools, models, databases and upstream servers share these reasons. */
const NETWORK: ReadonlySet<string> = new Set([
  "dns_failed",
  "connect_failed",
  "upstream_unavailable",
]);

/** A broken or missing connection, or another machine that took too long to answer. */
export const isNetworkFault = ({ code, reason }: Pick<Fault, "code" | "reason">): boolean =>
  code === "TIMEOUT" || (code === "EXECUTION_FAILED" && NETWORK.has(reason));

const LATER: Partial<Record<Code, readonly string[] | "all">> = {
  TOO_MANY_REQUESTS: "all",
  EXECUTION_FAILED: ["upstream_rate"],
  UNAVAILABLE: [
    "engine_unavailable",
    "circuit_open",
    "resource_exhausted",
    "queue_full",
    "provider_quota",
  ],
};

/** Lack of room, now: worth a second try only after the wait that comes with it. */
export function isLackOfRoom({ code, reason }: Pick<Fault, "code" | "reason">): boolean {
  const reasons = LATER[code];
  return reasons === "all" || reasons?.includes(reason) === true;
}
