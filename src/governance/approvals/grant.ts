// A granted approval: the call it stands for is opened again, and the grant is used up by exactly one run.
import type { Fault } from "../../contract/errors.ts";
import type { ApprovalRow } from "../../storage/store/store.ts";
import type { Approvals } from "./approval.ts";
import { differences } from "./binding.ts";
import type { Ending } from "./ending.ts";
import type { ApprovalPowers } from "./powers.ts";
import type { CheckResumption } from "./resumption.ts";
import type { Seal } from "./seal.ts";
import { callAgain } from "./waiting-call.ts";

export function createGrant(
  p: ApprovalPowers,
  parts: {
    readonly seal: Seal;
    readonly ending: Ending;
    readonly checkResumption: CheckResumption;
  },
): Pick<Approvals, "reopen" | "use"> {
  const { seal, ending, checkResumption } = parts;
  const { approvals, executions } = p.store;

  /** The call can never be resumed: its approval ends here, and the execution with it. */
  const giveUp = async (row: ApprovalRow, message: string): Promise<null> => {
    const fault: Fault = {
      code: "FORBIDDEN",
      reason: "approval_changed",
      message,
      remedy: "call again: a new approval is asked for",
    };
    await ending.end(row, "cancelled", { fault });
    return null;
  };

  return {
    async reopen(approvalId) {
      const row = await approvals.get(approvalId);
      if (row?.state !== "approved") return null;
      const record = await executions.get(row.executionId);
      // Not on record yet: the request that holds it is still writing. A later try finds it.
      if (record === null) return null;
      if (record.endTime !== null) {
        await ending.drop(row);
        return null;
      }
      if (row.expiresAt <= p.now()) {
        await ending.end(row, "expired");
        return null;
      }
      const resumption = await checkResumption(row);
      if (resumption.state === "elsewhere") return null;
      if (resumption.state === "over")
        return giveUp(row, `what it was approved for is over: ${resumption.why}`);
      return callAgain(row, resumption, p);
    },

    async use(subject, { approvalId }) {
      const row = await approvals.get(approvalId);
      const no = (why: "expired" | "used" | "not_approved") => ({
        ok: false as const,
        why,
        changed: [],
      });
      if (
        row === null ||
        row.tenantId !== subject.caller.tenantId ||
        row.executionId !== subject.id
      )
        return no("not_approved");
      if (row.state === "consumed") return no("used");
      if (row.state === "expired" || (row.state === "approved" && row.expiresAt <= p.now()))
        return no("expired");
      if (row.state !== "approved") return no("not_approved");
      const changed = differences(row, subject, p.policyVersion());
      if (changed.length > 0) {
        p.report("a call is not what was approved", {
          approvalId,
          executionId: row.executionId,
          changed,
        });
        return { ok: false, why: "changed", changed };
      }
      // The caller's run or agent may have ended since the call was opened again.
      const resumption = await checkResumption(row);
      if (resumption.state !== "here") {
        p.report("an approved call is over", {
          approvalId,
          executionId: row.executionId,
          ...resumption,
        });
        return {
          ok: false,
          why: "changed",
          changed: [resumption.state === "over" ? resumption.why : "instance"],
        };
      }
      if (!(await approvals.consume(row.id, row.binding, p.now()))) return no("used");
      await p.note("approval.consumed", subject.caller, {
        approvalId,
        executionId: row.executionId,
        toolName: row.toolName,
        version: seal.version(row.binding),
      });
      return { ok: true };
    },
  };
}
