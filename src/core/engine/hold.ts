// Holds a call that a person must approve: the approval request and the waiting call are durable before the answer.
import type { ApprovalNotice, Call, Outcome } from "../../contract/call.ts";
import type { EnginePowers } from "./powers.ts";
import { undo, type Trail } from "../gate/index.ts";
import type { ApprovalRow } from "../../storage/store/store.ts";
import { heldOutcome } from "./outcome.ts";

type Powers = Pick<EnginePowers, "approvals" | "recorder" | "idempotency" | "gate">;

/** What the stages took stays taken while the call waits; a repeat of a waiting call joins it and takes nothing. */
export async function hold(call: Call, trail: Trail, p: Powers): Promise<Outcome> {
  const { row, joined } = await p.approvals.request(call, trail.asks, trail.gates);
  const { holdSeconds } = p.approvals.terms(call, trail.asks);
  const notice = noticeOf(row, holdSeconds);
  if (joined) {
    await undo(trail);
    return heldOutcome(call, trail, notice, row.executionId);
  }
  if (call.idempotencyKey !== null) await p.idempotency.reserve(call);
  await p.recorder.hold(call, trail.gates, row.id);
  return heldOutcome(call, trail, notice, call.id);
}

export const noticeOf = (row: ApprovalRow, holdSeconds: number): ApprovalNotice => ({
  id: row.id,
  state: row.state,
  expiresAt: row.expiresAt,
  holdSeconds,
});

/** Another resumption used the approval at the same moment: that one writes the record. */
export const isUsed = ({ error }: Outcome): boolean => error?.reason === "approval_used";
