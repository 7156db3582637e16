// The ways a call can end, each with the same fields.
import type {
  ApprovalNotice,
  Call,
  CancelReason,
  Json,
  JsonObject,
  Outcome,
  Status,
  TimeLimit,
  Verdict,
} from "../../contract/call.ts";
import type { Code, Fault } from "../../contract/errors.ts";
import { VISIBLE, type Trail } from "../gate/index.ts";
import type { RunResult } from "../run/index.ts";
import type { ExecutionRecord } from "../../storage/store/store.ts";

interface Facts {
  readonly status: Status;
  readonly output: Json;
  readonly recorded?: Json | undefined;
  readonly error: Fault | null;
  readonly cancelReason: CancelReason | null;
  readonly trail: GateReport;
  readonly visible: boolean;
  readonly dispatched: boolean;
  readonly endedAt: number | null;
  readonly metadata: JsonObject;
  readonly approval?: ApprovalNotice;
}

/** What the answer shows of the gate. */
export type GateReport = Pick<Trail, "gates" | "windows">;

const NOTHING = Object.freeze({});

/** Field by field: one is made for every call, and copying objects is what would cost. */
function outcome(call: Call, facts: Facts): Outcome {
  const { status, visible, endedAt } = facts;
  // Resolving an alias of a hidden tool would reveal that it exists.
  const tool = visible ? call.tool : null;
  return {
    executionId: call.id,
    toolName: tool?.name ?? call.requestedName,
    requestedName: call.requestedName,
    category: tool?.category ?? "unknown",
    status,
    success: status === "success",
    output: facts.output,
    recorded: facts.recorded,
    error: facts.error,
    cancelReason: facts.cancelReason,
    gates: facts.trail.gates,
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
    approval: facts.approval ?? null,
    rate: facts.trail.windows,
  };
}

/** Accepted and durable: it runs, or waits for a slot. */
export function acceptedOutcome(
  call: Call,
  trail: GateReport,
  status: "running" | "pending",
): Outcome {
  return outcome(call, {
    status,
    output: null,
    error: null,
    cancelReason: null,
    trail,
    visible: true,
    dispatched: true,
    endedAt: null,
    metadata: NOTHING,
  });
}

export function finishedOutcome(
  call: Call,
  trail: GateReport,
  result: RunResult,
  endedAt: number,
): Outcome {
  const { output, recorded, error, metadata } = result;
  return outcome(call, {
    status: error ? "failed" : "success",
    output,
    recorded,
    error,
    cancelReason: null,
    trail,
    visible: true,
    dispatched: true,
    endedAt,
    metadata,
  });
}

export function refusedOutcome(
  call: Call,
  trail: GateReport,
  error: Fault,
  endedAt: number,
): Outcome {
  return outcome(call, {
    status: "failed",
    output: null,
    error,
    cancelReason: null,
    trail,
    visible: !trail.gates.some(hidesTool),
    dispatched: false,
    endedAt,
    metadata: NOTHING,
  });
}

/**
 * A stage of VISIBLE denied or failed: the caller learns nothing about the tool. FORBIDDEN is used for visible tools
 * only.
 */
export function hidesTool({ stage, verdict, code }: Verdict): boolean {
  return verdict !== "allow" && code !== "FORBIDDEN" && HIDING.has(stage);
}

const HIDING = new Set(VISIBLE.map((stage) => stage.name));

/**
 * Waits for a person. `id` is the execution that waits: the call's own, or the same caller's same call that came
 * before.
 */
export function heldOutcome(
  call: Call,
  trail: GateReport,
  approval: ApprovalNotice,
  id: string,
): Outcome {
  const held = outcome(call, {
    status: "pending",
    output: null,
    error: null,
    cancelReason: null,
    trail,
    visible: true,
    dispatched: false,
    endedAt: null,
    metadata: NOTHING,
    approval,
  });
  return id === call.id ? held : { ...held, executionId: id, replayed: true };
}

export interface Cancelled {
  readonly reason: CancelReason;
  /** What the tool handed over when it was stopped. */
  readonly result: RunResult | null;
  /** Of a timeout: the time that was up. */
  readonly limit: TimeLimit | null;
  /** The longest timeout that a caller may give. */
  readonly maxTimeoutMs: number;
  readonly dispatched: boolean;
  readonly note: string | null;
}

export function cancelledOutcome(
  call: Call,
  trail: GateReport,
  cancelled: Cancelled,
  endedAt: number,
): Outcome {
  const { reason, result, dispatched, note } = cancelled;
  const noted = result?.metadata ?? NOTHING;
  return outcome(call, {
    status: "cancelled",
    output: result?.output ?? null,
    recorded: result?.recorded,
    error: reason === "timeout" ? timeoutFault(call, cancelled) : stopFault(reason),
    cancelReason: reason,
    trail,
    visible: true,
    dispatched,
    endedAt,
    metadata: note === null ? noted : { ...noted, cancelNote: note },
  });
}

function timeoutFault(call: Call, { limit, maxTimeoutMs }: Cancelled): Fault {
  const { ms, whose } = limit ?? { ms: call.timeoutMs, whose: null };
  const longer = ms < maxTimeoutMs ? `, or give a longer timeout (at most ${maxTimeoutMs} ms)` : "";
  return {
    code: "TIMEOUT",
    reason: "timeout",
    message: `Tool execution timeout (${ms / 1000}s)${whose === null ? "" : `: ${whose}`}`,
    remedy: `ask for less${whose === null ? longer : ", or give more time where this limit is set"}`,
  };
}

function stopFault(reason: "user" | "shutdown"): Fault {
  const message = reason === "user" ? "The execution was cancelled" : "The server is shutting down";
  return { code: "CANCELLED", reason, message };
}

/** What the record says of an execution, as the answer would have been. */
export function recordedOutcome(record: ExecutionRecord, approval: ApprovalNotice | null): Outcome {
  const { id, status, startTime: startedAt, endTime: endedAt } = record;
  const notKept = notKeptFault(record);
  return {
    executionId: id,
    toolName: record.toolName,
    requestedName: record.requestedName,
    category: record.category,
    status,
    success: status === "success" && notKept === null,
    // A beginning must not pass for the whole.
    output: notKept ? null : record.result,
    error: faultOfRecord(record) ?? notKept,
    cancelReason: record.cancelReason,
    gates: record.gates as unknown as readonly Verdict[],
    visible: true,
    dispatched: endedAt !== null && reachedTool(record),
    startedAt,
    endedAt,
    latencyMs: endedAt === null ? 0 : Math.max(0, endedAt - startedAt),
    timeoutMs: record.timeout,
    metadata: record.resultMetadata ?? NOTHING,
    trace: { traceId: record.traceId, spanId: record.spanId },
    replayed: false,
    approval,
    rate: [],
  };
}

/** Every stage agreed, and there was room to run it. A tool may fail with the same codes as the gate. */
function reachedTool({ gates, errorCode }: ExecutionRecord): boolean {
  const verdicts = gates as unknown as readonly Verdict[];
  return (
    verdicts.length > 0 &&
    verdicts.every(({ verdict }) => verdict === "allow") &&
    errorCode !== "UNAVAILABLE"
  );
}

/** An earlier answer, given again for its idempotency key. */
export const replayedOutcome = (
  record: ExecutionRecord,
  approval: ApprovalNotice | null,
): Outcome => ({ ...recordedOutcome(record, approval), replayed: true });

/** It ran; what it gave is not there any more. */
function notKeptFault({ id, status, resultCut }: ExecutionRecord): Fault | null {
  if (resultCut === null) return null;
  return {
    code: "CONFLICT",
    reason: "result_not_kept",
    message: `${id} ended as ${status}; its result was not kept: ${resultCut.size} bytes, sha-256 ${resultCut.sha256}`,
    remedy: `it has run: its record has the beginning of the result (GET /api/v1/executions/${id})`,
  };
}

function faultOfRecord({ errorCode, errorReason, error, remedy }: ExecutionRecord): Fault | null {
  if (errorCode === null) return null;
  const fault = { code: errorCode as Code, reason: String(errorReason), message: String(error) };
  return remedy === null ? fault : { ...fault, remedy };
}
