// Errors for people who cannot read or decide an approval.
import type { Caller } from "../../contract/call.ts";
import { AppError } from "../../contract/errors.ts";
import type { ApprovalRow } from "../../storage/store/store.ts";

export const notFound = (id: string): AppError =>
  new AppError("NOT_FOUND", "unknown", `Approval '${id}' not found`, {
    remedy: "list those you may decide: ostiary approvals list",
  });

export function stale({ id, state, expiresAt, votes }: ApprovalRow, caller?: Caller): AppError {
  const voted = state === "pending" && votes.some((vote) => vote.userId === caller?.userId);
  const what = voted
    ? "has your vote already"
    : state === "pending"
      ? `ran out at ${new Date(expiresAt).toISOString()}`
      : `is ${state} already`;
  return new AppError("CONFLICT", "stale", `approval ${id} ${what}`, {
    remedy: voted ? "wait for the others" : "nothing is left to decide",
  });
}

export const edited = ({ id }: ApprovalRow): AppError =>
  new AppError("CONFLICT", "stale", `the arguments of ${id} were changed meanwhile`, {
    remedy: "read it again, then decide",
  });

export const badCursor = (): AppError =>
  new AppError("BAD_REQUEST", "invalid_input", "after: not a cursor of this list", {
    remedy: "pass `next` of the page before",
    errors: [{ path: "/after", message: "not a cursor of this list" }],
  });
