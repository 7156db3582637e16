// Sample events and small helpers of the store's suites.
import type { CancelReason } from "../../../contract/call.ts";
import type { EndBody, ExecutionRecord, LogEvent, StartBody, Store } from "../store.ts";

export const T0 = Date.UTC(2026, 0, 1);
export const HOUR = 3_600_000;

export interface Sample {
  id: string;
  tenantId?: string;
  userId?: string;
  toolName?: string;
  at?: number;
  ms?: number;
  status?: "success" | "failed" | "cancelled";
  cancelReason?: CancelReason | null;
  instanceId?: string;
}

const ACTION = {
  success: "tool.execution.complete",
  failed: "tool.execution.failed",
  cancelled: "tool.execution.cancelled",
} as const;

export function startBody(s: Sample): StartBody {
  const toolName = s.toolName ?? "system/echo";
  return {
    toolName,
    requestedName: toolName.replace("/", "_"),
    category: toolName.split("/")[0] ?? "",
    status: "running",
    arguments: { text: "hé\u0000 😀" },
    argumentsCut: null,
    startTime: s.at ?? T0,
    timeout: 30_000,
    userId: s.userId ?? "ann",
    tenantId: s.tenantId ?? "local",
    capsuleId: "starter",
    keyId: null,
    sessionId: null,
    metadata: { from: "caller" },
    idempotencyKey: null,
    traceId: "0af7651916cd43dd8448eb211c80319c",
    spanId: "b7ad6b7169203331",
    toolVersion: "1.0.0",
    toolPin: null,
    runner: "native",
    entry: "rest",
    instanceId: s.instanceId ?? "one",
    gates: [{ stage: "registry", verdict: "allow", ms: 0.02 }],
    approvalId: null,
    budget: {},
    reserved: false,
    mode: "NORMAL",
    roles: ["tool_user"],
  };
}

export function endBody(s: Sample): EndBody {
  const { toolName, category, userId, startTime } = startBody(s);
  const status = s.status ?? "success";
  const failed = status === "failed";
  return {
    status,
    endTime: startTime + Math.ceil(s.ms ?? 5),
    executionTime: s.ms ?? 5,
    result: status === "success" ? { text: "done" } : null,
    resultCut: null,
    error: failed ? "it broke" : null,
    errorCode: failed ? "EXECUTION_FAILED" : null,
    errorReason: failed ? "unexpected" : null,
    remedy: null,
    cancelReason: s.cancelReason ?? (status === "cancelled" ? "user" : null),
    metadata: { from: "runner" },
    toolName,
    category,
    userId,
    startTime,
    budgetDelta: {},
  };
}

export function event(s: Sample, action: LogEvent["action"], body: object): LogEvent {
  return {
    tenantId: s.tenantId ?? "local",
    at: s.at ?? T0,
    action,
    actor: s.userId ?? "ann",
    executionId: s.id,
    body: JSON.stringify(body),
  };
}
export const started = (s: Sample) => event(s, "tool.execution.start", startBody(s));
export const ended = (s: Sample) => event(s, ACTION[s.status ?? "success"], endBody(s));

export const ANN = { tenantId: "local", userId: "ann" };
export const NONE = {
  total: 0,
  success: 0,
  failed: 0,
  cancelled: 0,
  timeout: 0,
  averageExecutionTime: 0,
};
export const ids = (records: readonly ExecutionRecord[]) => records.map((record) => record.id);

export async function finish(store: Store, ...samples: Sample[]): Promise<void> {
  await Promise.all(samples.flatMap((s) => [started(s), ended(s)]).map((e) => store.log.append(e)));
}

/** Runs `count` times in parallel, by turns on either instance. */
export function atOnce<T>(
  count: number,
  [one, two]: readonly [Store, Store],
  run: (store: Store, i: number) => Promise<T>,
): Promise<T[]> {
  return Promise.all(Array.from({ length: count }, (_, i) => run(i % 2 === 0 ? one : two, i)));
}
