// Self-approval: a person without other approvers may approve their own call, if governance allows it, and only through
// another channel than the call's, so that no agent can approve itself.
import type { Caller } from "../../contract/call.ts";
import { AppError } from "../../contract/errors.ts";
import type { ApprovalRow } from "../../storage/store/store.ts";
import type { ApprovalPowers } from "./powers.ts";

/** How long a sign-in counts as fresh. */
export const FRESH_MS = 15 * 60_000;

type Powers = Pick<ApprovalPowers, "relations" | "governance" | "registry" | "isOwner" | "now"> &
  Pick<ApprovalPowers, "authenticates">;

export interface SelfApproval {
  /** Null: the requester may decide. The caller is a person, requested it, and may approve the tool. */
  refusal(
    caller: Caller,
    row: Pick<ApprovalRow, "id" | "keyId" | "toolName" | "needed">,
  ): Promise<AppError | null>;
}

export function createSelfApproval(p: Powers): SelfApproval {
  const isAlone = async ({ userId }: Caller, toolName: string): Promise<boolean> => {
    const resource = { type: "tool", id: toolName };
    const approvers = await p.relations.lookupSubjects({
      resource,
      permission: "approve",
      subjectType: "user",
    });
    return approvers.every(({ id }) => id === userId);
  };

  /** What the rules say, whatever the channel. */
  const ruled = async (caller: Caller, toolName: string): Promise<AppError | null> => {
    const tool = p.registry.get(toolName);
    const rule = tool ? p.governance.approvalRules(tool).self : "never";
    if (rule === "never")
      return ownRefusal("the requester cannot approve it (approvals.self: never in tools.yaml)");
    if (rule === undefined && !(await isAlone(caller, toolName)))
      return ownRefusal(`the requester cannot approve it: another person may approve ${toolName}`);
    if (!(await p.isOwner(caller)))
      return ownRefusal("only an administrator may agree to a call of their own");
    return null;
  };

  return {
    async refusal(caller, row) {
      const { toolName, needed } = row;
      if (!p.authenticates) {
        const message =
          "with authentication switched off people and agents cannot be distinguished";
        return ownRefusal(message, "switch it on: server.authEnabled");
      }
      if (needed > 1)
        return ownRefusal(`${needed} people must agree, and the requester is not one of them`);
      return (await ruled(caller, toolName)) ?? sameChannel(caller, row) ?? stale(caller, p.now());
    },
  };
}

/** The key, or the console, that asked; and what was made with that key. */
function sameChannel(
  caller: Caller,
  { id, keyId: askedWith }: Pick<ApprovalRow, "id" | "keyId">,
): AppError | null {
  if (askedWith === null) {
    if (caller.via !== "console") return null;
    const message = "it was asked for in a console, and cannot be agreed to in one";
    return ownRefusal(message, `decide at the command line: ostiary approvals approve ${id}`);
  }
  const key = caller.keyId ?? caller.signIn?.keyId ?? null;
  if (key !== askedWith) return null;
  const made = caller.via === "console" ? "the sign-in comes from" : "the answer came with";
  return ownRefusal(
    `it was asked for with key ${askedWith}, and ${made} the same key`,
    "give the agent a key of its own (ostiary connect, ostiary keys create); to decide this one, use the link that the server printed, or another key with scope tool:approve",
  );
}

function stale({ via, signIn }: Caller, now: number): AppError | null {
  if (via !== "console") return null;
  if (signIn && now - signIn.at < FRESH_MS) return null;
  const message = "agreeing to a call of one's own needs a sign-in of the last 15 minutes";
  return ownRefusal(message, "sign in again: ostiary open");
}

export const ownRefusal = (message: string, remedy = "let another person decide"): AppError =>
  new AppError("FORBIDDEN", "own_approval", message, { remedy });
