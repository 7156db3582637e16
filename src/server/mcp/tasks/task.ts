// An execution as a task of MCP (SEP-2663). The task's id is the execution's, and its whole state is in the record.
import type { InputQuestions, JsonObject, Outcome } from "../../../contract/call.ts";
import { unpackError } from "../../../util/mcp-output.ts";
import { approvalNotice, approvalText } from "../approval-wait.ts";
import { EXECUTION_KEY, exposedFault, toolResult } from "../result.ts";
import type { McpEndpoint } from "../server.ts";

/** How long after the end a whole result is kept. */
const KEPT_MS = 86_400_000;
const [POLL_RUNNING_MS, POLL_HELD_MS] = [1_000, 3_000];

export interface TaskFields {
  readonly taskId: string;
  readonly status: "working" | "input_required" | "completed" | "failed" | "cancelled";
  readonly statusMessage: string;
  readonly createdAt: string;
  readonly lastUpdatedAt: string;
  readonly ttlMs: number;
  readonly pollIntervalMs: number;
  readonly _meta: JsonObject;
}

export interface CreatedTask extends TaskFields {
  readonly resultType: "task";
  readonly [key: string]: unknown;
}

/** The answer to a call that has not ended. */
export const createdTask = (endpoint: McpEndpoint, outcome: Outcome): CreatedTask => ({
  resultType: "task",
  ...fieldsOf(endpoint, outcome, "working"),
});

/** The answer to `tasks/get`. `questions`: the open questions to the client. */
export function detailedTask(
  endpoint: McpEndpoint,
  outcome: Outcome,
  questions: InputQuestions | null,
) {
  if (outcome.endedAt === null)
    return questions
      ? { ...fieldsOf(endpoint, outcome, "input_required"), inputRequests: questions }
      : fieldsOf(endpoint, outcome, "working");
  if (outcome.status === "cancelled" && outcome.cancelReason === "user")
    return fieldsOf(endpoint, outcome, "cancelled");
  // Only an upstream server answers with a protocol error; everything else is a result, perhaps with `isError`.
  const error = outcome.success ? null : unpackError(outcome.output);
  if (error) return { ...fieldsOf(endpoint, outcome, "failed"), error: { ...error } };
  const result = { ...toolResult(outcome, endpoint.server), resultType: "complete" };
  return { ...fieldsOf(endpoint, outcome, "completed"), result };
}

function fieldsOf(
  endpoint: McpEndpoint,
  outcome: Outcome,
  status: TaskFields["status"],
): TaskFields {
  const { executionId, startedAt, endedAt, approval, timeoutMs } = outcome;
  const createdAt = createdAtOf(executionId) ?? startedAt;
  const waits = endedAt === null && approval?.state === "pending" ? approval : null;
  const until = endedAt ?? waits?.expiresAt ?? startedAt + timeoutMs;
  return {
    taskId: executionId,
    status,
    statusMessage: waits ? approvalText(endpoint, waits).join(" ") : messageOf(outcome, status),
    createdAt: timeText(createdAt),
    lastUpdatedAt: timeText(Math.max(createdAt, endedAt ?? startedAt)),
    ttlMs: Math.max(0, Math.ceil(until - createdAt)) + KEPT_MS,
    pollIntervalMs: waits ? POLL_HELD_MS : POLL_RUNNING_MS,
    _meta: {
      [EXECUTION_KEY]: executionId,
      "ostiary/status": outcome.status,
      ...(waits && { "ostiary/approval": approvalNotice(endpoint, waits) }),
    },
  };
}

function messageOf(outcome: Outcome, task: TaskFields["status"]): string {
  const { status, error } = outcome;
  if (task === "input_required") return "The upstream server asks the client for input.";
  if (error) {
    const { code, reason, message } = exposedFault(outcome);
    return `${code} (${reason}): ${message}`;
  }
  if (status === "pending") return "Waiting for a free slot.";
  return task === "working" ? "Running." : "Ended.";
}

/** The record of a call that was approved begins with its run; the id tells when it was asked for. */
function createdAtOf(executionId: string): number | null {
  const [, at] = /^exec_(\d{1,15})_/.exec(executionId) ?? [];
  return at === undefined ? null : Number(at);
}

const timeText = (at: number): string => new Date(at).toISOString();
