import type { Execution } from "./client/follow.ts";

/** As people call it: what the gate refused never ran, so it did not fail. */
export function statusOf(execution: Pick<Execution, "status" | "gates" | "errorCode">): string {
  const { status, gates, errorCode } = execution;
  if (status !== "failed") return status;
  // A tool that is hidden has no gates to show: its refusal looks like that of a name that never existed.
  const isHidden = gates === undefined && errorCode === "NOT_FOUND";
  return isHidden || gates?.some(({ verdict }) => verdict === "deny") ? "denied" : status;
}
