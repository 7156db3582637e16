// A call that waited for a person and will not run: its record ends, and its reservation is released.
import type { Verdict } from "../../contract/call.ts";
import type { Fault } from "../../contract/errors.ts";
import { startFields } from "../../storage/store/body.ts";
import type {
  EndBody,
  ExecutionRecord,
  LogEvent,
  StartBody,
  Store,
} from "../../storage/store/store.ts";
import { packVerdicts } from "../../util/record/packed-verdicts.ts";
import type { Masker } from "../../util/secrets/masker.ts";
import type { Recorded } from "./index.ts";

export interface RefuseHeldPowers {
  readonly store: Pick<Store, "log" | "executions" | "usage">;
  readonly masker: Pick<Masker, "text">;
  readonly now: () => number;
  readonly onRecorded: (recorded: Recorded) => void;
}

/** Does nothing when it has ended, runs, or never was. */
export const refuseHeld =
  (p: RefuseHeldPowers) =>
  async (executionId: string, fault: Fault): Promise<void> => {
    const row = await p.store.executions.get(executionId);
    if (row?.endTime !== null || row.status !== "pending" || row.approvalId === null) return;
    const at = Math.max(p.now(), row.startTime);
    const cancelled = fault.code === "CANCELLED";
    const end = endOf(row, { ...fault, message: p.masker.text(fault.message) }, at, cancelled);
    const event: LogEvent = {
      tenantId: row.tenantId,
      at,
      action: cancelled ? "tool.execution.cancelled" : "tool.execution.denied",
      actor: row.userId,
      executionId,
      body: JSON.stringify(cancelled ? end : { ...startOf(row), ...end, metadata: row.metadata }),
    };
    p.onRecorded({ seq: await p.store.log.append(event), event });
    await p.store.usage.release(executionId);
  };

/** A denial is start and end in one. */
const startOf = (row: ExecutionRecord): StartBody => ({
  ...startFields(row),
  status: "failed",
  gates: packVerdicts(row.gates as unknown as readonly Verdict[]),
});

function endOf(row: ExecutionRecord, fault: Fault, at: number, cancelled: boolean): EndBody {
  return {
    status: cancelled ? "cancelled" : "failed",
    endTime: at,
    executionTime: at - row.startTime,
    result: null,
    resultCut: null,
    error: fault.message,
    errorCode: fault.code,
    errorReason: fault.reason,
    remedy: fault.remedy ?? null,
    cancelReason: cancelled ? "user" : null,
    metadata: null,
    toolName: row.toolName,
    category: row.category,
    userId: row.userId,
    startTime: row.startTime,
    budgetDelta: {},
    traceId: row.traceId,
    spanId: row.spanId,
  };
}
