// An approval as its readers see it: without sealed calls, and with whether the reader may decide it.
import type { ApprovalHead, ApprovalRow } from "../../storage/store/store.ts";
import type { ApprovalView } from "./approval.ts";
import type { Refusal } from "./deciders.ts";
import type { Seal } from "./seal.ts";
import { isSelfApproval } from "./votes.ts";

export interface ApprovalViews {
  viewOf(row: ApprovalRow, refusal: Refusal | null): ApprovalView;
  /** Everything but the arguments, for lists. */
  headOf(
    row: ApprovalHead,
    refusal: Refusal | null,
  ): Omit<ApprovalView, "arguments" | "editedArguments">;
}

export function createViews(seal: Seal, now: () => number): ApprovalViews {
  const headOf: ApprovalViews["headOf"] = (row, refusal) => {
    const { binding, bytes: _bytes, ...rest } = row;
    const selfApproved = row.votes.some((vote) => isSelfApproval(row, vote));
    const shown = { ...rest, version: seal.version(binding), selfApproved };
    if (refusal) return { ...shown, mayDecide: false, mayNot: reasonOf(refusal) };
    return row.state === "pending" && row.expiresAt > now()
      ? { ...shown, mayDecide: true }
      : { ...shown, mayDecide: false, mayNot: `it is ${row.state} already` };
  };

  return {
    headOf,
    viewOf(row, refusal) {
      const {
        sealed: _sealed,
        editedSealed: _edited,
        arguments: args,
        editedArguments,
        ...head
      } = row;
      return { ...headOf({ ...head, bytes: 0 }, refusal), arguments: args, editedArguments };
    },
  };
}

const reasonOf = ({ message, fault }: Refusal): string =>
  [message, fault.remedy].filter(Boolean).join("; ");
