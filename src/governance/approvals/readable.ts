// Who may see an approval: those who may decide it, could with another credential, or asked for it.
import type { Caller } from "../../contract/call.ts";
import type { ApprovalRow, Store } from "../../storage/store/store.ts";
import type { Deciders, Refusal } from "./deciders.ts";
import { notFound } from "./inbox-faults.ts";

/** The row and whether this caller may decide it; NOT_FOUND for callers it does not concern. */
export type Readable = (
  caller: Caller,
  id: string,
) => Promise<{ row: ApprovalRow; refusal: Refusal | null }>;

export const createReadable =
  (approvals: Pick<Store["approvals"], "get">, deciders: Pick<Deciders, "refusal">): Readable =>
  async (caller, id) => {
    const row = await approvals.get(id);
    if (row?.tenantId !== caller.tenantId) throw notFound(id);
    const refusal = await deciders.refusal(caller, row);
    // Only callers who could decide it with another credential learn that it exists.
    if (isHidden(refusal)) throw notFound(id);
    return { row, refusal };
  };

export const isHidden = (refusal: Refusal | null): boolean =>
  refusal?.fault.reason === "permission_missing";
