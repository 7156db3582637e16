// An execution as its owner, and the administrators of the tenant, see it.
import { z } from "zod";
import type { Verdict } from "../../contract/call.ts";
import { taintIn, taintText } from "../../contract/taint.ts";
import { wasHidden } from "../../contract/hidden.ts";
import type { ExecutionRecord } from "../../storage/store/store.ts";
import { noticeShape } from "./approvals.ts";
import { cutShape, gatesView, iso, jsonObject, present, status, time, verdict } from "./shapes.ts";

export const executionShape = z.object({
  id: z.string(),
  toolName: z.string(),
  category: z.string(),
  requestedName: z.string(),
  arguments: jsonObject.describe("Secret-like values masked"),
  argumentsCut: cutShape.optional().describe("Only the beginning of the arguments was kept"),
  status,
  startTime: time,
  endTime: time.optional(),
  executionTime: z.number().optional().describe("ms"),
  runningTime: z.number().optional().describe("ms, of an active one"),
  timeout: z.int().optional().describe("ms; absent when the tool was not found"),
  result: z.unknown().optional(),
  resultCut: cutShape.optional().describe("`result` is only the beginning of it"),
  error: z.string().optional(),
  errorCode: z.string().optional(),
  errorReason: z.string().optional(),
  remedy: z.string().optional(),
  cancelReason: z.enum(["user", "timeout", "shutdown"]).optional(),
  userId: z.string(),
  tenantId: z.string(),
  capsuleId: z.string().optional(),
  keyId: z.string().optional(),
  sessionId: z.string().optional(),
  metadata: jsonObject.optional(),
  taint: z
    .string()
    .optional()
    .describe("Content from outside that the agent had read; `metadata.taint` names each source"),
  resultMetadata: jsonObject.optional(),
  attempt: z.int().optional().describe("Attempts of the runner, once it has ended"),
  budget: z
    .record(
      z.string(),
      z.object({ reserved: z.number(), settled: z.number().nullable().describe("Null: it runs") }),
    )
    .optional()
    .describe("What it takes of a budget, by metric"),
  idempotencyKey: z.string().optional(),
  entry: z.string(),
  runner: z.string().optional(),
  toolVersion: z.string().optional(),
  toolPin: z.string().optional(),
  traceId: z.string(),
  spanId: z.string(),
  gates: z.array(verdict).optional().describe("Absent when the tool was not found"),
  approvalId: z.string().optional(),
  approval: noticeShape.optional().describe("What became of it; only of a single execution"),
});

/** The record of a hidden tool shows its caller no more than the response did. */
export function executionView(record: ExecutionRecord): z.input<typeof executionShape> {
  const hidden = wasHidden(record);
  return {
    id: record.id,
    toolName: hidden ? record.requestedName : record.toolName,
    category: hidden ? "unknown" : record.category,
    requestedName: record.requestedName,
    arguments: record.arguments,
    status: record.status,
    startTime: iso(record.startTime),
    userId: record.userId,
    tenantId: record.tenantId,
    entry: record.entry,
    traceId: record.traceId,
    spanId: record.spanId,
    ...present({
      argumentsCut: record.argumentsCut && { ...record.argumentsCut },
      resultCut: record.resultCut && { ...record.resultCut },
      endTime: record.endTime === null ? null : iso(record.endTime),
      executionTime: record.executionTime,
      error: record.error,
      errorCode: record.errorCode,
      errorReason: record.errorReason,
      remedy: record.remedy,
      cancelReason: record.cancelReason,
      capsuleId: record.capsuleId,
      keyId: record.keyId,
      approvalId: record.approvalId,
      sessionId: record.sessionId,
      metadata: record.metadata,
      taint: taintText(taintIn(record.metadata)),
      resultMetadata: record.resultMetadata,
      ...(hidden ? {} : useOf(record)),
      idempotencyKey: record.idempotencyKey,
      runner: record.runner,
      // The default comes from the tool: it would reveal that a hidden tool exists.
      timeout: hidden ? null : record.timeout,
      toolVersion: hidden ? null : record.toolVersion,
      toolPin: hidden ? null : record.toolPin,
    }),
    // After a success, null is a result.
    ...(record.status === "success" || record.result !== null ? { result: record.result } : {}),
    ...(hidden ? {} : { gates: gatesView(record.gates as unknown as readonly Verdict[]) }),
  };
}

/** What was reserved when it started, and what the tool noted in the end. */
function useOf({ budget, endTime, resultMetadata }: ExecutionRecord) {
  const noted = (resultMetadata?.["usage"] ?? {}) as Readonly<Record<string, unknown>>;
  const lines = Object.entries(budget)
    // Users and keys with a plan of their own are counted beside the tenant, with the same amounts.
    .filter(([counter]) => !counter.includes("@"))
    .map(([metric, reserved]) => {
      const used = noted[metric];
      const settled = typeof used === "number" ? used : reserved;
      return [metric, { reserved, settled: endTime === null ? null : settled }] as const;
    });
  const attempts = resultMetadata?.["attempts"];
  return {
    attempt: endTime === null ? null : typeof attempts === "number" ? attempts : 1,
    budget: lines.length > 0 ? Object.fromEntries(lines) : null,
  };
}
