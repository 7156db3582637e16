// A person's yes to one call: durable, bound to exactly that call, used once, gone when it expires (C39, T18-T21).
import type { ApprovalNotice, Call, Caller, Grant, JsonObject, Verdict } from "../call.ts";
import type { Ask, Subject } from "../gate/stage.ts";
import type { ApprovalRow } from "../store/store.ts";

/** What the approval stage asks. */
export interface ApprovalGate {
  /**
   * Uses the grant up: exactly one call of all that try passes. `changed` names what no longer is as it was approved
   * (caller, tool, arguments, policy).
   */
  use(subject: Subject, grant: Grant): Promise<{ ok: true } | { ok: false; why: "expired" | "used" | "not_approved" | "changed"; changed: readonly string[] }>;
  /** How a held call would wait: for the verdict's text. */
  terms(subject: Subject, asks: readonly Ask[]): { approvals: number; expiresInSeconds: number; holdSeconds: number };
} // prettier-ignore

/** What the engine asks when the last stage said hold. */
export interface Approvals extends ApprovalGate {
  /**
   * Durable when it resolves: the question, and the call that waits for it. The same caller's same call joins the one
   * that is pending already (`joined`). TOO_MANY_REQUESTS / concurrency when this caller has too many open.
   */
  request(call: Call, asks: readonly Ask[], gates: readonly Verdict[]): Promise<{ row: ApprovalRow; joined: boolean }>;
  /** The call a granted approval stands for, with the approver's edits, asked by the requester as they are today; null when it is not theirs to run any more. */
  reopen(approvalId: string): Promise<Omit<Call, "signal"> | null>;
  /** Resolves when the approval of this execution leaves `pending`, the time is over or the signal fires. */
  settled(executionId: string, waitMs: number, signal?: AbortSignal): Promise<void>;
  ofExecution(executionId: string): Promise<ApprovalNotice | null>;
  /** The requester gives up: the approval ends as cancelled. False when it was not pending. */
  withdraw(caller: Caller, executionId: string): Promise<boolean>;
} // prettier-ignore

/** What people do with approvals: the API, the command line, later the console. */
export interface ApprovalDesk {
  /** Those the caller may decide, and the caller's own; being listed to somebody who may decide counts as presented. */
  list(caller: Caller, filter: { state?: ApprovalRow["state"]; mine?: boolean; limit: number; after?: string }): Promise<readonly ApprovalView[]>;
  /** NOT_FOUND for everybody else. */
  show(caller: Caller, id: string): Promise<ApprovalView>;
  /**
   * FORBIDDEN / admin_only-like reasons for requester, agent keys and people without relation `approve`; CONFLICT / stale
   * when it is not pending any more. `arguments` replaces the call's, both are kept, and earlier votes start over.
   * Once enough people agreed, the call goes on by itself.
   */
  approve(caller: Caller, id: string, vote: { comment?: string; arguments?: JsonObject }): Promise<ApprovalView>;
  decline(caller: Caller, id: string, vote: { comment?: string }): Promise<ApprovalView>;
} // prettier-ignore

export interface ApprovalView extends Omit<ApprovalRow, "sealed" | "editedSealed" | "binding"> {
  /** May this reader decide it? When not: why. */
  readonly mayDecide: boolean;
  readonly mayNot?: string;
}
