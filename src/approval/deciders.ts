// Who may decide: a person (console, or a key made for it) who stands in relation `approve` to the tool and did not ask.
import type { Caller } from "../call.ts";
import { AppError } from "../errors.ts";
import type { ApprovalRow } from "../store/store.ts";
import type { ApprovalPowers } from "./powers.ts";

/** Why somebody may not decide; with FORBIDDEN / permission_missing they have nothing to do with it at all. */
export type Refusal = AppError;

export interface Deciders {
  /** Null: may decide it. The row is of the caller's tenant. */
  refusal(
    caller: Caller,
    row: Pick<ApprovalRow, "requester" | "toolName">,
  ): Promise<Refusal | null>;
  /** May this caller decide anything at all? Agents never do. */
  isPerson(caller: Caller): boolean;
}

const SCOPES = ["*", "tool:approve"];

export function createDeciders({ relations }: Pick<ApprovalPowers, "relations">): Deciders {
  const isPerson = ({ via, scopes }: Caller): boolean =>
    via === "console" || (via === "key" && scopes.some((scope) => SCOPES.includes(scope)));
  return {
    isPerson,
    async refusal(caller, { requester, toolName }) {
      if (caller.userId === requester) {
        return new AppError("FORBIDDEN", "own_approval", "whoever asks cannot agree to it", {
          remedy: "let somebody else decide",
        });
      }
      const { has } = await relations.check({
        resource: { type: "tool", id: toolName },
        permission: "approve",
        subject: { type: "user", id: caller.userId },
      });
      if (has !== "yes") {
        return new AppError(
          "FORBIDDEN",
          "permission_missing",
          `${caller.userId} may not approve ${toolName}`,
          {
            remedy: `ask an administrator: ostiary relations write tool:${toolName}#approver@user:${caller.userId}`,
          },
        );
      }
      if (!isPerson(caller)) {
        return new AppError(
          "FORBIDDEN",
          "scope_missing",
          "this credential cannot decide approvals",
          { remedy: "sign in to the console (ostiary open), or use a key with scope tool:approve" },
        );
      }
      return null;
    },
  };
}
