// What became of a call once it was decided, for those who decided it: how it ended, never what it answered.
import { z } from "zod";
import type { Caller } from "../../contract/call.ts";
import type { ApprovalView } from "../../governance/approvals/approval.ts";
import type { Doors } from "../doors.ts";
import { isoOrNull, present, status, time } from "./shapes.ts";

export const outcomeShape = z.object({
  status,
  endTime: time.optional(),
  executionTime: z.number().optional().describe("ms"),
  error: z.string().optional(),
  errorCode: z.string().optional(),
  errorReason: z.string().optional(),
  mayRead: z.boolean().describe("Whether you may read the whole record of the call"),
});

/** Null while the call is undecided. */
export async function outcomeOf(
  caller: Caller,
  { state, executionId }: ApprovalView,
  doors: Doors,
): Promise<z.input<typeof outcomeShape> | null> {
  if (state === "pending") return null;
  const found = await doors.history.progress(caller, executionId);
  if (!found) return null;
  const { endTime, executionTime, error, errorCode, errorReason } = found;
  return {
    status: found.status,
    ...present({ endTime: isoOrNull(endTime), executionTime, error, errorCode, errorReason }),
    mayRead: (await doors.history.read(caller, executionId)) !== null,
  };
}
