// The ways a call can end, each with the same fields.
import type { Call, CancelReason, Json, JsonObject, Outcome, Status, Verdict } from "../call.ts";
import type { Code, Fault } from "../errors.ts";
import { VISIBLE } from "../gate/index.ts";
import type { RunResult } from "../run/index.ts";
import type { ExecutionRecord } from "../store/store.ts";

interface Facts {
  readonly status: Status;
  readonly output?: Json;
  readonly error?: Fault | null;
  readonly cancelReason?: CancelReason | null;
  readonly gates: readonly Verdict[];
  readonly visible?: boolean;
  readonly dispatched: boolean;
  readonly endedAt: number | null;
  readonly metadata?: JsonObject;
}

function outcome(call: Call, facts: Facts): Outcome {
  const { tool } = call;
  const visible = facts.visible ?? true;
  return {
    executionId: call.id,
    // Resolving an alias of a hidden tool would tell that it exists.
    toolName: visible ? (tool?.name ?? call.requestedName) : call.requestedName,
    requestedName: call.requestedName,
    category: visible ? (tool?.category ?? "unknown") : "unknown",
    status: facts.status,
    success: facts.status === "success",
    output: facts.output ?? null,
    error: facts.error ?? null,
    cancelReason: facts.cancelReason ?? null,
    gates: facts.gates,
    visible,
    dispatched: facts.dispatched,
    startedAt: call.startedAt,
    endedAt: facts.endedAt,
    // The clock may step back; a duration never does.
    latencyMs: facts.endedAt === null ? 0 : Math.max(0, facts.endedAt - call.startedAt),
    timeoutMs: call.timeoutMs,
    metadata: facts.metadata ?? {},
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

/** An earlier answer, told again for its idempotency key. */
export function replayedOutcome(call: Call, record: ExecutionRecord): Outcome {
  const error: Fault | null =
    record.errorCode === null
      ? null
      : { code: record.errorCode as Code, reason: record.errorReason ?? "", message: record.error ?? "", ...(record.remedy === null ? {} : { remedy: record.remedy }) }; // prettier-ignore
  return {
    executionId: record.id,
    toolName: record.toolName,
    requestedName: call.requestedName,
    category: record.category,
    status: record.status,
    success: record.status === "success",
    output: record.result,
    error,
    cancelReason: record.cancelReason,
    gates: record.gates as unknown as readonly Verdict[],
    visible: true,
    dispatched: true,
    startedAt: record.startTime,
    endedAt: record.endTime,
    latencyMs: record.executionTime ?? 0,
    timeoutMs: record.timeout,
    metadata: record.resultMetadata ?? {},
    trace: { traceId: record.traceId, spanId: record.spanId },
    replayed: true,
  };
}
