// Is there still somebody who wants what was asked for? A yes to what has ended must not run it.
import type { Caller } from "../../contract/call.ts";
import type { ApprovalRow } from "../../storage/store/store.ts";
import type { ApprovalPowers } from "./powers.ts";
import { type Seal, sealedIn, type WaitingCall } from "./seal.ts";

/** What can be gone on with, or why it never will be. */
export type Resumption =
  | { readonly state: "here"; readonly caller: Caller; readonly waiting: WaitingCall }
  /** It is gone on with where the run or agent works that it belongs to. */
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
