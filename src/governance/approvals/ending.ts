// Ends an approval that is not used: once and audited; waiting callers are woken and its execution ends.
import type { Fault } from "../../contract/errors.ts";
import type { ApprovalHead } from "../../storage/store/store.ts";
import { type ApprovalPowers, system, type Who } from "./powers.ts";
import type { Waiting } from "./waiting.ts";

type Ended = Omit<ApprovalHead, "bytes">;

export type End = "cancelled" | "expired" | "not_presented";

export interface Ending {
  /** False when it had ended already. */
  end(row: Ended, to: End, options?: { by?: Who; fault?: Fault }): Promise<boolean>;
  /** The execution has ended: its approval must not be used later. */
  drop(row: Ended): Promise<void>;
  /** The store ended it as overdue: writes the audit, notifies, and ends the execution. */
  ranOut(row: Ended): Promise<void>;
  /** The state is in the store already: notifies, and ends the execution. */
  ended(row: Ended, fault: Fault): Promise<void>;
}

export function createEnding(p: ApprovalPowers, waiting: Waiting): Ending {
  const ended: Ending["ended"] = async (row, fault) => {
    try {
      await p.refuse(row.executionId, fault);
    } finally {
      // Also when the record cannot be written now: a sweep ends the execution later.
      waiting.wake(row.executionId);
      p.notify("decided", row);
    }
  };
  /** Null when it had ended already. */
  const close = async (row: Ended, to: End, by: Who): Promise<Ended | null> => {
    const from = row.state === "approved" ? "approved" : "pending";
    const at = p.now();
    if (!(await p.store.approvals.end(row.id, from, to, at))) return null;
    await p.note(`approval.${to}`, by, audited(row, from));
    return { ...row, state: to, decidedAt: at };
  };
  return {
    ended,
    async end(row, to, { by = system(row), fault = endedFault(to, row) } = {}) {
      const closed = await close(row, to, by);
      if (closed) await ended(closed, fault);
      return closed !== null;
    },
    async ranOut(row) {
      const to = row.state === "not_presented" ? "not_presented" : "expired";
      await p.note(`approval.${to}`, system(row), audited(row, "pending"));
      await ended(row, endedFault(to, row));
    },
    async drop(row) {
      await close(row, "cancelled", system(row));
    },
  };
}

const audited = ({ id, executionId, toolName, requester }: Ended, from: string) => ({
  approvalId: id,
  executionId,
  toolName,
  requester,
  from,
});

/** Nobody waits for the call any more. */
export const overFault = (why: string): Fault => ({
  code: "CANCELLED",
  reason: "user",
  message: `Nobody waits for this any more: ${why}`,
  remedy: "call again: a new approval is asked for",
});

/** The fault of a call that was not approved. */
export function endedFault(state: End | "declined", row: Ended): Fault {
  const seconds = Math.round((row.expiresAt - row.createdAt) / 1000);
  switch (state) {
    case "declined": {
      const comment = row.votes.find((vote) => vote.decision === "decline")?.comment ?? null;
      return {
        code: "FORBIDDEN",
        reason: "approval_declined",
        message: `Approval denied by user${comment === null ? "" : `: ${comment}`}`,
        remedy: "do not repeat the same call; ask the approver, or do it another way",
      };
    }
    case "expired":
      return {
        code: "FORBIDDEN",
        reason: "approval_expired",
        message: `Nobody agreed within ${seconds} s, which counts as a no`,
        remedy: "call again when a person is there to decide",
      };
    case "not_presented":
      return {
        code: "FORBIDDEN",
        reason: "approval_not_presented",
        message: `The question reached nobody who may decide within ${seconds} s`,
        remedy: "make sure that an approver looks (ostiary approvals watch), then call again",
      };
    case "cancelled":
      return {
        code: "CANCELLED",
        reason: "user",
        message: "The request for approval was withdrawn",
      };
  }
}
