// The call that waits, kept so that only this server can read it and only for this approval.
import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes } from "node:crypto";
import type { Call, JsonObject } from "../call.ts";
import type { ApprovalRow } from "../store/store.ts";

/** What is needed to go on with a call; who asks is looked up anew. */
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
>;

export interface Seal {
  close(approvalId: string, call: WaitingCall): string;
  /** Throws when it was made for another approval, by another server, or was touched. */
  open(approvalId: string, sealed: string): WaitingCall;
  /** Says whether two bindings are the same, and nothing about the arguments behind them. */
  version(binding: string): string;
}

const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const PURPOSE = "ostiary approval: waiting call, v1";

export function createSeal(serverSecret: string): Seal {
  const key = Buffer.from(hkdfSync("sha256", serverSecret, "", PURPOSE, 32));
  return {
    version: (binding) =>
      createHmac("sha256", key).update(binding).digest("base64url").slice(0, 16),
    close(approvalId, call) {
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv("aes-256-gcm", key, nonce).setAAD(Buffer.from(approvalId));
      const text = Buffer.concat([cipher.update(JSON.stringify(call), "utf8"), cipher.final()]);
      return Buffer.concat([nonce, cipher.getAuthTag(), text]).toString("base64url");
    },
    open(approvalId, sealed) {
      const bytes = Buffer.from(sealed, "base64url");
      const nonce = bytes.subarray(0, NONCE_BYTES);
      const tag = bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES);
      const cipher = createDecipheriv("aes-256-gcm", key, nonce, { authTagLength: TAG_BYTES });
      cipher.setAAD(Buffer.from(approvalId)).setAuthTag(tag);
      const text = Buffer.concat([
        cipher.update(bytes.subarray(NONCE_BYTES + TAG_BYTES)),
        cipher.final(),
      ]);
      return JSON.parse(text.toString("utf8")) as WaitingCall;
    },
  };
}

/** The approver's version when there is one. What has ended has neither, and nothing opens. */
export const sealedIn = (row: Pick<ApprovalRow, "sealed" | "editedSealed">): string =>
  String(row.editedSealed ?? row.sealed);

export function waitingCall(call: Omit<Call, "signal">, args: JsonObject): WaitingCall {
  const { requestedName, timeoutMs, sessionId, metadata, idempotencyKey, entry, ip, trace } = call; // prettier-ignore
  return { requestedName, arguments: args, timeoutMs, sessionId, metadata, idempotencyKey, entry, ip, trace }; // prettier-ignore
}
