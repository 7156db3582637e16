// The engine's side of approvals: a call asks, is resumed after its approval, and uses the approval up.
import type { Approvals } from "./approval.ts";
import type { Ending } from "./ending.ts";
import { createGrant } from "./grant.ts";
import type { ApprovalPowers } from "./powers.ts";
import { createRequest, toolOf } from "./request.ts";
import type { CheckResumption } from "./resumption.ts";
import type { Seal } from "./seal.ts";
import type { Waiting } from "./waiting.ts";

interface HoldParts {
  readonly seal: Seal;
  readonly waiting: Waiting;
  readonly ending: Ending;
  readonly checkResumption: CheckResumption;
}

export function createHold(p: ApprovalPowers, parts: HoldParts): Omit<Approvals, "covers"> {
  const { waiting, ending } = parts;
  const { approvals } = p.store;

  return {
    request: createRequest(p, parts),
    ...createGrant(p, parts),

    terms: (subject) => p.governance.approvalRules(toolOf(subject)),

    settled: (executionId, waitMs, signal) =>
      waiting.until(
        executionId,
        async () => (await approvals.ofExecution(executionId))?.state !== "pending",
        waitMs,
        signal,
      ),

    async ofExecution(executionId) {
      const row = await approvals.ofExecution(executionId);
      if (row === null) return null;
      const tool = p.registry.get(row.toolName);
      const holdSeconds = tool ? p.governance.approvalRules(tool).holdSeconds : 0;
      return { id: row.id, state: row.state, expiresAt: row.expiresAt, holdSeconds };
    },

    async withdraw(caller, executionId) {
      const row = await approvals.ofExecution(executionId);
      if (
        row?.state !== "pending" ||
        row.requester !== caller.userId ||
        row.tenantId !== caller.tenantId
      )
        return false;
      return ending.end(row, "cancelled", { by: caller });
    },
  };
}
