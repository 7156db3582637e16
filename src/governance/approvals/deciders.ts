// Who may decide: a person (console, or a key made for it) who stands in relation `approve` to the tool and did not
// ask; or who asked, is alone, and answers through another channel (see self.ts).
import type { Caller } from "../../contract/call.ts";
import { AppError } from "../../contract/errors.ts";
import type { ApprovalRow } from "../../storage/store/store.ts";
import type { ApprovalPowers } from "./powers.ts";
import { createSelfApproval, ownRefusal } from "./self.ts";

/** Why a user may not decide; with FORBIDDEN / permission_missing they have nothing to do with it at all. */
export type Refusal = AppError;

/** What of a question decides who may answer it. */
export type Decidable = Pick<
  ApprovalRow,
  "id" | "requester" | "keyId" | "toolName" | "needed" | "state"
>;

export interface Deciders {
  /** Null: may decide it. The row is of the caller's tenant. */
  refusal(caller: Caller, row: Decidable): Promise<Refusal | null>;
  /** The same for what reaches beyond one call, which nobody grants to themselves. */
  refusalForOthers(
    caller: Caller,
    row: Pick<ApprovalRow, "requester" | "toolName">,
  ): Promise<Refusal | null>;
  /** May this caller decide anything at all? Agents never do. */
  isPerson(caller: Caller): boolean;
}

const SCOPES = ["*", "tool:approve"];

type Powers = Pick<ApprovalPowers, "relations" | "governance" | "registry" | "isOwner" | "now"> &
  Pick<ApprovalPowers, "authenticates">;

export function createDeciders(p: Powers): Deciders {
  const self = createSelfApproval(p);
  // A console holds no more than the key that made its link: an agent's key makes no person by asking for one.
  const isPerson = ({ via, scopes, role }: Caller): boolean =>
    via !== "anonymous" &&
    (scopes.some((scope) => SCOPES.includes(scope)) || (via === "console" && role === "admin"));

  const mayApprove = async ({ userId }: Caller, toolName: string): Promise<boolean> => {
    const subject = { type: "user", id: userId };
    const resource = { type: "tool", id: toolName };
    return (await p.relations.check({ resource, permission: "approve", subject })).has === "yes";
  };

  const refusalForOthers: Deciders["refusalForOthers"] = async (caller, row) => {
    if (caller.userId === row.requester) return ownRefusal("the requester cannot approve it");
    const { userId } = caller;
    const { toolName } = row;
    if (!(await mayApprove(caller, toolName))) {
      const grant = `ostiary relations write tool:${toolName}#approver@user:${userId}`;
      const remedy = `ask an administrator: ${grant}`;
      const message = `${userId} may not approve ${toolName}`;
      return new AppError("FORBIDDEN", "permission_missing", message, { remedy });
    }
    return isPerson(caller) ? null : noPerson("scope_missing");
  };

  return {
    isPerson,
    refusalForOthers,
    async refusal(caller, row) {
      if (caller.userId !== row.requester) return refusalForOthers(caller, row);
      // What has been decided is not judged again: it would only be asked for lists.
      if (row.state !== "pending") return ownRefusal("the requester cannot approve it");
      if (!(await mayApprove(caller, row.toolName)))
        return ownRefusal("the requester cannot approve it");
      if (!isPerson(caller)) return noPerson("own_approval");
      return self.refusal(caller, row);
    },
  };
}

const noPerson = (reason: "own_approval" | "scope_missing"): AppError =>
  new AppError("FORBIDDEN", reason, "this credential cannot decide approvals", {
    remedy: "sign in to the console (ostiary open), or use a key with scope tool:approve",
  });
