// The ways a call can end, each with the same fields.
import type { Call, CancelReason, Json, JsonObject, Outcome, Status, Verdict } from "../call.ts";
import type { Code, Fault } from "../errors.ts";
import { VISIBLE } from "../gate/index.ts";
import type { RunResult } from "../run/index.ts";
import type { ExecutionRecord } from "../store/store.ts";

/** What most outcomes have in common; each kind says what differs. */
const PLAIN = {
  output: null as Json,
  error: null as Fault | null,
  cancelReason: null as CancelReason | null,
  visible: true,
  metadata: {} as JsonObject,
};

interface Facts extends Partial<typeof PLAIN> {
  readonly status: Status;
  readonly gates: readonly Verdict[];
  readonly dispatched: boolean;
  readonly endedAt: number | null;
}

function outcome(call: Call, facts: Facts): Outcome {
  const { visible, ...all } = { ...PLAIN, ...facts };
  // Resolving an alias of a hidden tool would tell that it exists.
  const tool = visible ? call.tool : null;
  return {
    executionId: call.id,
    toolName: tool?.name ?? call.requestedName,
    requestedName: call.requestedName,
    category: tool?.category ?? "unknown",
    ...all,
    success: facts.status === "success",
    visible,
    startedAt: call.startedAt,
    // The clock may step back; a duration never does.
    latencyMs: facts.endedAt === null ? 0 : Math.max(0, facts.endedAt - call.startedAt),
    timeoutMs: call.timeoutMs,
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
  return outcome(call, { status, gates, dispatched: true, endedAt: null });
}

export function finishedOutcome(
  call: Call,
  gates: readonly Verdict[],
  result: RunResult,
  endedAt: number,
): Outcome {
  const { output, error, metadata } = result;
  return outcome(call, { status: error ? "failed" : "success", output, error, gates, dispatched: true, endedAt, metadata }); // prettier-ignore
}

export function refusedOutcome(
  call: Call,
  gates: readonly Verdict[],
  error: Fault,
  endedAt: number,
): Outcome {
  // One of the hiding stages said no, or could not say: the caller learns nothing about the name.
  const visible = gates.slice(0, VISIBLE.length).every((gate) => gate.verdict === "allow");
  return outcome(call, { status: "failed", error, gates, visible, dispatched: false, endedAt });
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
  const metadata = note === null ? {} : { cancelNote: note };
  return outcome(call, { status: "cancelled", output: partial, error: cancelFault(call, reason), cancelReason: reason, gates, dispatched, endedAt, metadata }); // prettier-ignore
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
  return { ...outcome(earlier, { status, output, error: faultOfRecord(record), cancelReason, gates, dispatched: true, endedAt, metadata }), replayed: true }; // prettier-ignore
}

function faultOfRecord({ errorCode, errorReason, error, remedy }: ExecutionRecord): Fault | null {
  if (errorCode === null) return null;
  const fault = { code: errorCode as Code, reason: String(errorReason), message: String(error) };
  return remedy === null ? fault : { ...fault, remedy };
}
