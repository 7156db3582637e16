// Whether an approved call can still be resumed: its caller, run or agent may have ended meanwhile.
import type { Caller } from "../../contract/call.ts";
import type { ApprovalRow } from "../../storage/store/store.ts";
import type { ApprovalPowers } from "./powers.ts";
import { type Seal, sealedIn, type WaitingCall } from "./seal.ts";

/** What can be resumed, or why it never will be. */
export type Resumption =
  | { readonly state: "here"; readonly caller: Caller; readonly waiting: WaitingCall }
  /** The instance where its run or agent works resumes it. */
  | { readonly state: "elsewhere" }
  | { readonly state: "over"; readonly why: string };

export type CheckResumption = (row: ApprovalRow) => Promise<Resumption>;

export function createResumptionCheck(p: ApprovalPowers, seal: Seal): CheckResumption {
  const over = (why: string): Resumption => ({ state: "over", why });

  return async (row) => {
    let waiting: WaitingCall;
    try {
      waiting = seal.open(row.id, sealedIn(row));
    } catch (cause) {
      p.report("a waiting call cannot be read", { approvalId: row.id, err: cause });
      return over("the waiting call cannot be read any more");
    }
    const { mandate } = waiting;
    if (!mandate) return over("it was asked before an update and does not say with which rights");
    if (mandate.userId !== row.requester || mandate.keyId !== row.keyId)
      return over("the waiting call is another caller's");
    const caller = await p.callerAgain(mandate);
    if (caller === null) return over("the user or key that asked is not active any more (caller)");
    const owner = await p.ownerOf({ tenantId: row.tenantId, userId: row.requester }, waiting);
    if (typeof owner === "object") return over(owner.over);
    return owner === "elsewhere" ? { state: owner } : { state: owner, caller, waiting };
  };
}
