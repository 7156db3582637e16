// Votes on an approval: counted by the store, and audited with the way the person decided.
import type { Caller, JsonObject } from "../../contract/call.ts";
import type { ApprovalRow, ApprovalVote } from "../../storage/store/store.ts";
import type { ArgumentsEdit } from "./edit.ts";
import { edited, stale } from "./inbox-faults.ts";
import { listedEdit } from "./listed.ts";
import type { ApprovalPowers } from "./powers.ts";
import type { Seal } from "./seal.ts";

export type CastVote = (
  caller: Caller,
  row: ApprovalRow,
  decision: ApprovalVote["decision"],
  vote: { readonly comment: string | undefined; readonly edit?: ArgumentsEdit | undefined },
) => Promise<ApprovalRow>;

export function createCastVote(p: ApprovalPowers, seal: Seal): CastVote {
  const { approvals } = p.store;

  return async (caller, row, decision, { comment: given, edit }) => {
    const comment = given === undefined ? null : p.masker.text(given);
    const vote = { userId: caller.userId, decision, comment, at: p.now() };
    const isOwn = caller.userId === row.requester;
    const after = await approvals.vote(
      row.id,
      isOwn ? { ...vote, self: true } : vote,
      edit,
      row.binding,
    );
    if (after === null) {
      const now = (await approvals.get(row.id)) as ApprovalRow; // rows are never deleted
      throw now.state === "pending" && now.binding !== row.binding
        ? edited(now)
        : stale(now, caller);
    }
    const { id: approvalId, executionId, toolName, requester } = row;
    const about = { approvalId, executionId, toolName, requester };
    const how = {
      ...(isSelfApproval(row, vote) ? { selfApproved: true } : {}),
      through: throughOf(caller),
    };
    const body = { ...about, decision, comment, ...how };
    const change = edit && {
      ...listedEdit(edit.arguments, p.cutToSize),
      version: seal.version(edit.binding),
    };
    await p.note("approval.voted", caller, change ? { ...body, ...change } : body);
    if (after.state === "approved" || after.state === "declined") {
      const votes = after.votes.map(({ userId }) => userId);
      await p.note(`approval.${after.state}`, caller, {
        ...about,
        votes,
        needed: after.needed,
        ...how,
      });
    }
    return after;
  };
}

/** The requester approved the call themselves, which only a person without other approvers may. */
export const isSelfApproval = (row: Pick<ApprovalRow, "requester">, one: ApprovalVote): boolean =>
  one.decision === "approve" && one.userId === row.requester;

/** How the person decided: for the record. */
const throughOf = ({ via, keyId, signIn }: Caller): JsonObject => ({
  via,
  ...(keyId === null ? {} : { keyId }),
  ...(signIn
    ? { signInId: signIn.id, ...(signIn.keyId === null ? {} : { keyId: signIn.keyId }) }
    : {}),
});
