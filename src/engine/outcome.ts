// The ways a call can end, each with the same fields.
import type { Call, CancelReason, Json, JsonObject, Outcome, Status, Verdict } from "../call.ts";
import type { Code, Fault } from "../errors.ts";
import { VISIBLE } from "../gate/index.ts";
import type { RunResult } from "../run/index.ts";
import type { ExecutionRecord } from "../store/store.ts";

interface Facts {
  readonly status: Status;
  readonly output: Json;
  readonly error: Fault | null;
  readonly cancelReason: CancelReason | null;
  readonly gates: readonly Verdict[];
  readonly visible: boolean;
  readonly dispatched: boolean;
  readonly endedAt: number | null;
  readonly metadata: JsonObject;
}

const NOTHING = Object.freeze({});

/** Field by field: one is made for every call, and copying objects is what would cost. */
function outcome(call: Call, facts: Facts): Outcome {
  const { status, visible, endedAt } = facts;
  // Resolving an alias of a hidden tool would tell that it exists.
  const tool = visible ? call.tool : null;
  return {
    executionId: call.id,
    toolName: tool?.name ?? call.requestedName,
    requestedName: call.requestedName,
    category: tool?.category ?? "unknown",
    status,
    success: status === "success",
    output: facts.output,
    error: facts.error,
    cancelReason: facts.cancelReason,
    gates: facts.gates,
    visible,
    dispatched: facts.dispatched,
    startedAt: call.startedAt,
    endedAt,
    // The clock may step back; a duration never does.
    latencyMs: endedAt === null ? 0 : Math.max(0, endedAt - call.startedAt),
    timeoutMs: call.timeoutMs,
    metadata: facts.metadata,
    trace: call.trace,
    replayed: false,
  };
}

/** Accepted and durable: it runs, or waits for a slot. */
export function acceptedOutcome(
  call: Call,
  gates: readonly Verdict[],
  status: "running" | "pending",
): Outcome {
  return outcome(call, { status, output: null, error: null, cancelReason: null, gates, visible: true, dispatched: true, endedAt: null, metadata: NOTHING }); // prettier-ignore
}

export function finishedOutcome(
  call: Call,
  gates: readonly Verdict[],
  result: RunResult,
  endedAt: number,
): Outcome {
  const { output, error, metadata } = result;
  return outcome(call, { status: error ? "failed" : "success", output, error, cancelReason: null, gates, visible: true, dispatched: true, endedAt, metadata }); // prettier-ignore
}

export function refusedOutcome(
  call: Call,
  gates: readonly Verdict[],
  error: Fault,
  endedAt: number,
): Outcome {
  // One of the hiding stages said no, or could not say: the caller learns nothing about the name.
  const visible = gates.slice(0, VISIBLE.length).every((gate) => gate.verdict === "allow");
  return outcome(call, { status: "failed", output: null, error, cancelReason: null, gates, visible, dispatched: false, endedAt, metadata: NOTHING }); // prettier-ignore
}

export interface Cancelled {
  readonly reason: CancelReason;
  readonly partial: Json;
  readonly dispatched: boolean;
  readonly note: string | null;
}

export function cancelledOutcome(
  call: Call,
  gates: readonly Verdict[],
  cancelled: Cancelled,
  endedAt: number,
): Outcome {
  const { reason, partial, dispatched, note } = cancelled;
  const metadata = note === null ? NOTHING : { cancelNote: note };
  return outcome(call, { status: "cancelled", output: partial, error: cancelFault(call, reason), cancelReason: reason, gates, visible: true, dispatched, endedAt, metadata }); // prettier-ignore
}

function cancelFault(call: Call, reason: CancelReason): Fault {
  if (reason === "timeout") {
    return {
      code: "TIMEOUT",
      reason: "timeout",
      message: `Tool execution timeout (${call.timeoutMs / 1000}s)`,
      remedy: "ask for less, or give a longer timeout (at most 300000 ms)",
    };
  }
  const message = reason === "user" ? "The execution was cancelled" : "The server is shutting down";
  return { code: "CANCELLED", reason, message };
}

/** An earlier answer, told again for its idempotency key. The record is of a finished execution. */
export function replayedOutcome(call: Call, record: ExecutionRecord): Outcome {
  const { id, startTime: startedAt, timeout: timeoutMs, traceId, spanId } = record;
  const earlier: Call = { ...call, id, startedAt, timeoutMs, trace: { traceId, spanId } };
  const { status, cancelReason, result: output, endTime: endedAt } = record;
  const gates = record.gates as unknown as readonly Verdict[];
  const metadata = record.resultMetadata ?? {};
  return { ...outcome(earlier, { status, output, error: faultOfRecord(record), cancelReason, gates, visible: true, dispatched: true, endedAt, metadata }), replayed: true }; // prettier-ignore
}

function faultOfRecord({ errorCode, errorReason, error, remedy }: ExecutionRecord): Fault | null {
  if (errorCode === null) return null;
  const fault = { code: errorCode as Code, reason: String(errorReason), message: String(error) };
  return remedy === null ? fault : { ...fault, remedy };
}
