// An execution as its owner, and the administrators of the tenant, see it (requirements §2.5).
import { z } from "zod";
import type { Verdict } from "../../contract/call.ts";
import type { ExecutionRecord } from "../../storage/store/store.ts";
import { noticeShape } from "./approvals.ts";
import { cutShape, gatesView, iso, jsonObject, status, time, verdict } from "./shapes.ts";
import { isHiddenRecord } from "../../contract/hidden-record.ts";

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
  resultMetadata: jsonObject.optional(),
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

/** The record of a hidden tool must not show more than the answer did. */
export function executionView(record: ExecutionRecord): z.input<typeof executionShape> {
  const hidden = isHiddenRecord(record);
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
      resultMetadata: record.resultMetadata,
      idempotencyKey: record.idempotencyKey,
      runner: record.runner,
      // The default comes from the tool, so it would tell one hidden tool from an invented name.
      timeout: hidden ? null : record.timeout,
      toolVersion: hidden ? null : record.toolVersion,
      toolPin: hidden ? null : record.toolPin,
    }),
    // Null is a result of its own once a tool has succeeded.
    ...(record.status === "success" || record.result !== null ? { result: record.result } : {}),
    ...(hidden ? {} : { gates: gatesView(record.gates as unknown as readonly Verdict[]) }),
  };
}

/** Without the fields that are null: absent on the wire. */
export function present<T extends Record<string, unknown>>(
  fields: T,
): { [K in keyof T]?: NonNullable<T[K]> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null)) as {
    [K in keyof T]?: NonNullable<T[K]>;
  };
}
