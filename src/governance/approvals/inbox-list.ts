// One page of the approvals that a caller may decide or has asked for, bounded in rows and bytes.
import type { Caller } from "../../contract/call.ts";
import type { ApprovalHead, Store } from "../../storage/store/store.ts";
import type { ApprovalInbox } from "./approval.ts";
import type { Deciders, Refusal } from "./deciders.ts";
import { badCursor } from "./inbox-faults.ts";
import { KEPT_BYTES, PAGE_BYTES, READ_BYTES } from "./listed.ts";

/** Rows read for one page; then it is returned as it is, with a cursor to continue from. */
const MAX_SCANNED = 1_000;
const BATCH = 100;

export interface FoundApproval {
  readonly row: ApprovalHead;
  readonly refusal: Refusal | null;
}

export async function findPage(
  caller: Caller,
  { state, mine, limit, after }: Parameters<ApprovalInbox["list"]>[1],
  approvals: Pick<Store["approvals"], "get" | "list">,
  deciders: Deciders,
): Promise<{ found: FoundApproval[]; next: string | null }> {
  const onlyMine = mine === true || !deciders.isPerson(caller);
  const filter = {
    tenantId: caller.tenantId,
    ...(onlyMine ? { requester: caller.userId } : {}),
    ...(state === undefined ? {} : { state }),
  };
  let last: Omit<ApprovalHead, "bytes"> | null =
    after === undefined ? null : await approvals.get(after);
  if (after !== undefined && last?.tenantId !== caller.tenantId) throw badCursor();
  const found: FoundApproval[] = [];
  const size = { read: 0, shown: 0 };
  const isFull = () =>
    found.length === limit || size.read >= READ_BYTES || size.shown >= PAGE_BYTES;
  const refusalOf = refusalByTool(caller, deciders);
  let more = true;
  for (let scanned = 0; more && !isFull() && scanned < MAX_SCANNED;) {
    const page = await approvals.list(filter, {
      limit: BATCH,
      ...(last ? { after: { createdAt: last.createdAt, id: last.id } } : {}),
    });
    more = page.length === BATCH;
    for (const row of page) {
      if (isFull()) {
        more = true;
        break;
      }
      last = row;
      scanned++;
      const refusal = await refusalOf(row);
      if (row.requester !== caller.userId && refusal !== null) continue;
      found.push({ row, refusal });
      size.read += row.bytes;
      size.shown += Math.min(row.bytes, 2 * KEPT_BYTES);
    }
  }
  return { found, next: more && last ? last.id : null };
}

/**
 * Other people's approvals are refused by tool alone, so each tool is asked about once; the caller's own one by one.
 */
function refusalByTool(
  caller: Caller,
  deciders: Deciders,
): (row: ApprovalHead) => Promise<Refusal | null> {
  const byTool = new Map<string, Refusal | null>();
  return async (row) => {
    if (row.requester === caller.userId) return deciders.refusal(caller, row);
    const known = byTool.get(row.toolName);
    if (known !== undefined) return known;
    const refusal = await deciders.refusal(caller, row);
    byTool.set(row.toolName, refusal);
    return refusal;
  };
}
