// The call that waits, kept so that only this server can read it and only for this approval.
import { createHmac } from "node:crypto";
import { mandateOf, type Call, type JsonObject, type Mandate } from "../../contract/call.ts";
import type { ApprovalRow } from "../../storage/store/store.ts";
import { createSealed, sealingKey } from "../../util/secrets/sealed.ts";

/** What is needed to go on with a call; what its caller may today is looked up anew. */
export type WaitingCall = Pick<
  Call,
  | "requestedName"
  | "arguments"
  | "timeoutMs"
  | "sessionId"
  | "metadata"
  | "idempotencyKey"
  | "entry"
  | "ip"
  | "trace"
> & {
  /** The requester at that time; absent in rows of an earlier release, which are not resumed. */
  readonly mandate?: Mandate;
};

export interface Seal {
  close(approvalId: string, call: WaitingCall): string;
  /** Throws when it was made for another approval, by another server, or was touched. */
  open(approvalId: string, sealed: string): WaitingCall;
  /** Says whether two bindings are the same, and nothing about the arguments behind them. */
  version(binding: string): string;
}

const PURPOSE = "ostiary approval: waiting call, v1";

export function createSeal(serverSecret: string): Seal {
  const key = sealingKey(serverSecret, PURPOSE);
  const sealed = createSealed(key);
  return {
    version: (binding) =>
      createHmac("sha256", key).update(binding).digest("base64url").slice(0, 16),
    close: (approvalId, call) => sealed.close(approvalId, JSON.stringify(call)),
    open: (approvalId, text) => JSON.parse(sealed.open(approvalId, text)) as WaitingCall,
  };
}

/** The approver's version when there is one. What has ended has neither, and nothing opens. */
export const sealedIn = (row: Pick<ApprovalRow, "sealed" | "editedSealed">): string =>
  String(row.editedSealed ?? row.sealed);

export function waitingCall(call: Omit<Call, "signal">, args: JsonObject): WaitingCall {
  const { requestedName, timeoutMs, sessionId, metadata, idempotencyKey, entry, ip, trace } = call;
  return {
    requestedName,
    arguments: args,
    timeoutMs,
    sessionId,
    metadata,
    idempotencyKey,
    entry,
    ip,
    trace,
    mandate: mandateOf(call.caller),
  };
}
