// Approvals that the background work looks for: run out, decided but not carried out, or out of step with their
// execution.
import { sql, type SqlBool } from "kysely";
import type { Store } from "../store.ts";
import type { ApprovalReads } from "./approval-reads.ts";

/** The words of the partial index, so that it serves. */
const IS_OPEN = sql<SqlBool>`state in ('pending', 'approved')`;

export function approvalSweeps({
  heads,
  selectHeads,
  selectHeadsByHistory,
}: ApprovalReads): Pick<
  Store["approvals"],
  "overdue" | "stranded" | "unheld" | "open" | "unended"
> {
  return {
    overdue(now, limit) {
      return heads(
        selectHeads()
          .where(IS_OPEN)
          .where("expires_at", "<=", now)
          .orderBy("expires_at")
          .limit(limit),
      );
    },
    stranded(decidedBefore, limit) {
      const approved = sql<SqlBool>`state in ('pending', 'approved') and state = 'approved'`;
      return heads(
        selectHeads()
          .where(approved)
          .where("decided_at", "<", decidedBefore)
          .orderBy("decided_at")
          .limit(limit),
      );
    },
    unheld(createdBefore, limit) {
      const waiting = sql<SqlBool>`state in ('pending', 'approved') and state = 'pending'`;
      const unrecorded = sql<SqlBool>`not exists
        (select 1 from ${sql.table("executions")} where executions.id = approvals.execution_id)`;
      return heads(
        selectHeadsByHistory()
          .where(waiting)
          .where("created_at", "<", createdBefore)
          .where(unrecorded)
          .orderBy("created_at")
          .limit(limit),
      );
    },
    open(after, limit) {
      return heads(selectHeads().where(IS_OPEN).where("id", ">", after).orderBy("id").limit(limit));
    },
    unended(decidedBefore, limit) {
      const over = sql<SqlBool>`state in ('declined', 'expired', 'not_presented', 'cancelled')`;
      const waits = sql<SqlBool>`execution_id in
        (select id from ${sql.table("executions")} where end_seq is null and status = 'pending')`;
      return heads(
        selectHeadsByHistory()
          .where(over)
          .where("decided_at", "<", decidedBefore)
          .where(waits)
          .orderBy("decided_at")
          .limit(limit),
      );
    },
  };
}
