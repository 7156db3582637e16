// Runs an admitted call: waits for its durable start and its slot, then the runner races the deadline.
import type { Call, CancelReason, Outcome } from "../../contract/call.ts";
import { AppError, faultOf } from "../../contract/errors.ts";
import type { Tool } from "../../contract/tool.ts";
import type { CallObserver } from "../../telemetry/observer.ts";
import type { ActiveEntry } from "../run/active.ts";
import { runWithDeadline, type Stopped } from "../run/deadline.ts";
import type { Admitted } from "./admit.ts";
import { cancelledOutcome, finishedOutcome, refusedOutcome, type Cancelled } from "./outcome.ts";
import type { EnginePowers } from "./powers.ts";

export async function runAdmitted(
  entry: ActiveEntry,
  { trail, ticket, begun }: Admitted,
  observer: CallObserver,
  p: EnginePowers,
): Promise<Outcome> {
  const { call } = entry;
  try {
    // A tool without effects may run while its start is being made durable: its end is appended after it.
    if (!hasNoEffect(call.tool)) await begun;
    if (ticket.ready) await ticket.ready;
    entry.status = "running";
    const runner = p.runners[call.tool?.provider ?? "native"];
    if (!runner)
      throw new AppError("UNSUPPORTED_PROVIDER", "native", "no runner for this provider");
    observer.started();
    // A call that a person approved needs no narrow sandbox.
    const confined: Call =
      trail.confined && call.grant === null ? { ...call, confined: true } : call;
    const limited = trail.egress ? { ...confined, egress: trail.egress } : confined;
    const ended = await runWithDeadline(runner, limited, {
      abort: (reason) => entry.abort(reason),
      late: () => p.metrics.late(),
    });
    observer.finished();
    return ended.kind === "finished"
      ? finishedOutcome(call, trail, ended.result, p.now())
      : cancelledOutcome(call, trail, cancelledBy(entry, ended, true, p), p.now());
  } catch (cause) {
    if (!call.signal.aborted) return refusedOutcome(call, trail, faultOf(cause), p.now());
    return cancelledOutcome(call, trail, cancelledBy(entry, notStarted(call), false, p), p.now());
  } finally {
    ticket.release();
  }
}

/** Where the call's own time was not up, the limit is that of the call that waits for it. */
function cancelledBy(
  { outerLimit, note }: ActiveEntry,
  { reason, result, limit }: Omit<Stopped, "kind">,
  dispatched: boolean,
  { maxTimeoutMs }: EnginePowers,
): Cancelled {
  return { reason, result, limit: limit ?? outerLimit, maxTimeoutMs, note, dispatched };
}

function notStarted({ signal }: Call): Omit<Stopped, "kind"> {
  return { reason: signal.reason as CancelReason, result: null, limit: null };
}

function hasNoEffect(tool: Tool | null): boolean {
  return tool?.effects === "read_only" || tool?.effects === "essential_health_check";
}
