// Calls and what became of them: execute, status, cancel.
import { z } from "zod";
import type { CallRequest, JsonObject, Outcome } from "../../contract/call.ts";
import { AppError } from "../../contract/errors.ts";
import { CallError, rateHeaders } from "../http/problem.ts";
import { noticeOf, noticeShape, noticeView } from "./approvals.ts";
import { type ApiContext, endpoint } from "./endpoint.ts";
import { round } from "./figures.ts";
import { executionShape, executionView } from "./record.ts";
import {
  executionId,
  executionNotFound,
  gatesView,
  iso,
  jsonObject,
  present,
  served,
  status,
  time,
  toolName,
  verdict,
} from "./shapes.ts";

export const executeTool = endpoint({
  name: "tools.executeTool",
  method: "POST",
  path: "/executions",
  access: "caller",
  summary: "Call a tool; with wait:false the id comes back at once",
  statuses: [200, 202],
  fromHeaders: { "idempotency-key": "idempotencyKey" },
  input: z.strictObject({
    name: toolName,
    arguments: jsonObject.optional(),
    timeout: z.int().min(1000).max(300_000).optional().describe("ms"),
    context: z
      .strictObject({
        sessionId: z.string().min(1).max(128).optional(),
        metadata: jsonObject.optional(),
      })
      .optional(),
    wait: z.boolean().default(true),
    idempotencyKey: z
      .string()
      .regex(/^[\x21-\x7e]{1,255}$/, "1 to 255 visible ASCII characters")
      .optional()
      .describe("The same request within 24 h is answered from the first one"),
  }),
  output: z.object({
    success: served,
    executionId: z.string(),
    status,
    result: z.unknown().optional().describe("After a timeout: what the tool had so far"),
    toolName: z.string().optional(),
    executionTime: z.number().optional().describe("ms"),
    timestamp: time.optional(),
    metadata: jsonObject
      .optional()
      .describe("What the tool noted, e.g. filesTouched; the record has it as resultMetadata"),
    gates: z.array(verdict).optional(),
    error: z.string().optional(),
    errorCode: z.string().optional(),
    errorReason: z.string().optional(),
    remedy: z.string().optional(),
    retryAfterSeconds: z.number().optional().describe("When a repeat makes sense"),
    cancelReason: z.enum(["user", "timeout", "shutdown"]).optional(),
    approval: noticeShape.optional().describe("Set while a person must agree"),
  }),
  async run(input, context) {
    const { caller, doors, reply } = context;
    const request = callRequest(input, context);
    const outcome = await (input.wait
      ? doors.engine.execute(caller, { ...request, signal: context.signal })
      : doors.engine.start(caller, request));
    context.span.outcome(outcome);
    Object.assign(reply.headers, rateHeaders(outcome.rate));
    if (outcome.replayed) reply.headers["Idempotency-Replayed"] = "true";
    const open = outcome.status === "pending" || outcome.status === "running";
    if (outcome.error && !outcome.dispatched) throw new CallError(outcome);
    if (!input.wait || open) {
      reply.status = 202;
      reply.headers["Location"] = `/api/v1/executions/${outcome.executionId}`;
      return {
        success: true as const,
        executionId: outcome.executionId,
        status: outcome.status,
        ...(outcome.approval ? { approval: noticeView(outcome.approval, doors) } : {}),
      };
    }
    // Over tRPC every call that did not succeed is thrown; REST answers with the record of what ran.
    if (!outcome.success && context.entry === "trpc") throw new CallError(outcome);
    return outcomeView(outcome);
  },
});

function callRequest(
  input: z.output<typeof executeTool.input>,
  { entry, traceparent, tracestate, within, ip }: ApiContext,
): CallRequest {
  const { name, arguments: args, timeout, context, idempotencyKey } = input;
  const { sessionId, metadata } = context ?? {};
  return {
    name,
    entry,
    ...(args === undefined ? {} : { arguments: args as JsonObject }),
    ...(timeout === undefined ? {} : { timeoutMs: timeout }),
    ...(context === undefined
      ? {}
      : {
          context: {
            ...(sessionId === undefined ? {} : { sessionId }),
            ...(metadata === undefined ? {} : { metadata: metadata as JsonObject }),
          },
        }),
    ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
    ...(traceparent === undefined ? {} : { traceparent }),
    ...(tracestate === undefined ? {} : { tracestate }),
    within,
    ...(ip === undefined ? {} : { ip }),
  };
}

function outcomeView(outcome: Outcome) {
  const { error } = outcome;
  return {
    success: true as const,
    executionId: outcome.executionId,
    status: outcome.status,
    // What a cancelled tool had so far is kept as well.
    ...(outcome.success || outcome.output !== null ? { result: outcome.output as unknown } : {}),
    toolName: outcome.toolName,
    executionTime: round(outcome.latencyMs),
    timestamp: iso(outcome.endedAt ?? outcome.startedAt),
    metadata: outcome.metadata as Record<string, unknown>,
    gates: gatesView(outcome.gates),
    ...(error
      ? {
          error: error.message,
          errorCode: error.code,
          errorReason: error.reason,
          ...(error.remedy === undefined ? {} : { remedy: error.remedy }),
          ...present({ retryAfterSeconds: error.retryAfterSeconds ?? null }),
        }
      : {}),
    ...present({ cancelReason: outcome.cancelReason }),
  };
}

export const getToolStatus = endpoint({
  name: "tools.getToolStatus",
  method: "GET",
  path: "/executions/{executionId}",
  access: "caller",
  summary: "One execution of the caller, running or finished; to administrators any of the tenant",
  input: z.strictObject({ executionId }),
  output: z.object({ success: served, execution: executionShape }),
  async run(input, { caller, doors }) {
    const record = await doors.history.read(caller, input.executionId);
    if (!record) throw executionNotFound(input.executionId);
    const execution = executionView(record);
    if (record.approvalId !== null) {
      const notice = await noticeOf(caller, record.approvalId, doors);
      if (notice) execution.approval = notice;
    }
    if (record.endTime === null) {
      execution.runningTime = Math.max(0, doors.now() - record.startTime);
    }
    return { success: true as const, execution };
  },
});

export const cancelToolExecution = endpoint({
  name: "tools.cancelToolExecution",
  method: "POST",
  path: "/executions/{executionId}/cancel",
  access: "caller",
  summary: "Stop a running execution of the caller",
  input: z.strictObject({
    executionId,
    reason: z.string().min(1).max(500).optional().describe("Kept in the record"),
  }),
  output: z.object({
    success: served,
    executionId: z.string(),
    message: z.string(),
    timestamp: time,
  }),
  async run(input, { caller, doors }) {
    await doors.engine.cancel(caller, input.executionId, input.reason);
    // The tool may have finished in the same moment: then nothing was cancelled, and the answer must not claim it.
    const record = await doors.history.get(caller, input.executionId);
    if (record && record.status !== "cancelled") throw notRunning(input.executionId);
    return {
      success: true as const,
      executionId: input.executionId,
      message: "Tool execution cancelled",
      timestamp: iso(doors.now()),
    };
  },
});

const notRunning = (id: string): AppError =>
  new AppError("CONFLICT", "not_running", `Execution ${id} is not running`, {
    remedy: "only running executions can be cancelled",
  });
