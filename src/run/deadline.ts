// A run races its deadline and its cancel. The first to end decides; a late finish changes nothing (R137, L07).
import type { Call, CancelReason, Json } from "../call.ts";
import type { Runner, RunResult } from "./index.ts";

export type Ended =
  | { readonly kind: "finished"; readonly result: RunResult }
  | { readonly kind: "cancelled"; readonly reason: CancelReason; readonly partial: Json };

export interface DeadlinePowers {
  /** Fires the call's abort signal with the reason. */
  readonly abort: (reason: CancelReason) => void;
  /** Told of a handler that ended after its execution was closed. */
  readonly late: (call: Call) => void;
}

/** After the signal a handler has this long to hand over what it has so far (R141). */
const PARTIAL_GRACE_MS = 100;

export function runWithDeadline(
  runner: Runner,
  call: Call,
  p: DeadlinePowers,
): Ended | Promise<Ended> {
  if (call.signal.aborted) return cancelled(call, null);
  const running = runner(call);
  if (!(running instanceof Promise)) return { kind: "finished", result: running };
  return race(running, call, p);
}

function race(running: Promise<RunResult>, call: Call, p: DeadlinePowers): Promise<Ended> {
  return new Promise((resolve) => {
    let open = true;
    const deadline = setTimeout(() => p.abort("timeout"), call.timeoutMs);
    let grace: NodeJS.Timeout | undefined;
    const close = (ended: Ended): void => {
      open = false;
      clearTimeout(deadline);
      clearTimeout(grace);
      call.signal.removeEventListener("abort", onAbort);
      resolve(ended);
    };
    const onAbort = (): void => {
      grace = setTimeout(() => close(cancelled(call, null)), PARTIAL_GRACE_MS);
    };
    call.signal.addEventListener("abort", onAbort, { once: true });
    running.then(
      (result) => {
        if (!open) p.late(call);
        else if (call.signal.aborted) close(cancelled(call, result.output));
        else close(endOf(result));
      },
      // Runners answer with values; should one reject all the same, the call must not hang.
      () => (open ? close({ kind: "finished", result: BROKEN }) : p.late(call)),
    );
  });
}

/** A tool whose own, shorter limit ended its work notes `timedOut`: the call has timed out, with what there is so far. */
function endOf(result: RunResult): Ended {
  if (result.error !== null || result.metadata["timedOut"] !== true) return { kind: "finished", result };
  return { kind: "cancelled", reason: "timeout", partial: result.output };
} // prettier-ignore

const BROKEN: RunResult = {
  output: null,
  error: {
    code: "EXECUTION_FAILED",
    reason: "unexpected",
    message: "Execution error: the runner broke",
  },
  metadata: {},
};

function cancelled(call: Call, partial: Json): Ended {
  return { kind: "cancelled", reason: call.signal.reason as CancelReason, partial };
}
