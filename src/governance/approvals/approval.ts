// A person's approval of one call: durable, bound to exactly that call, used once, and void when it expires.
import type {
  ApprovalNotice,
  Call,
  Caller,
  Grant,
  JsonObject,
  Verdict,
} from "../../contract/call.ts";
import type { Ask, Subject } from "../../contract/subject.ts";
import type { Preview } from "../../contract/effect.ts";
import type {
  ApprovalRow,
  Cut,
  ExecutionRecord,
  StandingRuleRow,
} from "../../storage/store/store.ts";

/** What the approval stage asks. */
export interface ApprovalGate {
  /**
   * Uses the grant up: exactly one call of all that try passes. `changed` names what no longer is as it was approved
   * (caller, tool, arguments, policy).
   */
  use(
    subject: Subject,
    grant: Grant,
  ): Promise<
    | { ok: true }
    | {
        ok: false;
        why: "expired" | "used" | "not_approved" | "changed";
        changed: readonly string[];
      }
  >;
  /** The standing rule that makes asking needless for this call, or null. */
  covers(subject: Subject): string | null | Promise<string | null>;
  /** How a held call would wait: for the verdict's text. */
  terms(
    subject: Subject,
    asks: readonly Ask[],
  ): { approvals: number; expiresInSeconds: number; holdSeconds: number };
}

/** What the engine uses when the last stage holds a call. */
export interface Approvals extends ApprovalGate {
  /**
   * Durable when it resolves: the question, and the call that waits for it. The same caller's same call joins the one
   * that is pending already (`joined`). TOO_MANY_REQUESTS / concurrency when this caller has too many open.
   */
  request(
    call: Call,
    asks: readonly Ask[],
    gates: readonly Verdict[],
  ): Promise<{ row: ApprovalRow; joined: boolean }>;
  /**
   * The call a granted approval stands for, with the approver's edits, asked by the requester as they are today. Null
   * when there is nothing to go on with: not approved, or not theirs to run any more (then the execution has been
   * refused).
   */
  reopen(approvalId: string): Promise<Omit<Call, "signal"> | null>;
  /** Resolves when the approval of this execution leaves `pending`, the time is over or the signal fires. */
  settled(executionId: string, waitMs: number, signal?: AbortSignal): Promise<void>;
  ofExecution(executionId: string): Promise<ApprovalNotice | null>;
  /** The requester gives up: the approval ends as cancelled. False when it was not pending. */
  withdraw(caller: Caller, executionId: string): Promise<boolean>;
}

/** What people do with approvals, through the API, the command line and the console. */
export interface ApprovalInbox {
  /**
   * Those the caller may decide, and the caller's own, newest first; being listed to a user who may decide counts as
   * presented. `next` is the id to pass as `after`.
   */
  list(
    caller: Caller,
    filter: { state?: ApprovalRow["state"]; mine?: boolean; limit: number; after?: string },
  ): Promise<{ items: readonly ApprovalView[]; next: string | null }>;
  /** NOT_FOUND for all others. */
  show(caller: Caller, id: string): Promise<ApprovalView>;
  /**
   * FORBIDDEN for requesters (but see self.ts), agent keys and people without relation `approve`; CONFLICT / stale
   * when it is not pending any more. `arguments` replaces the call's, both are kept, and earlier votes start over.
   * With `version` it counts only while nobody edited what the voter read. Once enough people agreed, the call goes
   * on by itself.
   */
  approve(
    caller: Caller,
    id: string,
    vote: { comment?: string; arguments?: JsonObject; version?: string },
  ): Promise<ApprovalView>;
  decline(
    caller: Caller,
    id: string,
    vote: { comment?: string; version?: string },
  ): Promise<ApprovalView>;
}

/** What helps an approver decide. */
export interface ApprovalPreviews {
  /**
   * What the waiting call would do, or would with other arguments. For those who may decide it: FORBIDDEN for others
   * who see it, NOT_FOUND for all else. With `version` only while nobody edited what they read.
   */
  preview(
    caller: Caller,
    id: string,
    options: { arguments?: JsonObject; version?: string; signal: AbortSignal },
  ): Promise<PreviewedApproval>;
  /** The last call of the same tool that was approved: of the same requester, else of any user. */
  similar(
    caller: Caller,
    id: string,
  ): Promise<{ readonly asked: ApprovalRow; readonly similar: ApprovalRow | null }>;
  /** Which recorded calls of the requester a standing rule from this approval would have covered. */
  previewRule(
    caller: Caller,
    id: string,
    options: { matches?: readonly RuleMatch[]; last: number; from?: number },
  ): Promise<RuleReach>;
}

export interface PreviewedApproval extends Preview {
  readonly approvalId: string;
  readonly toolName: string;
  readonly version: string;
  /** Other arguments than the approval has. */
  readonly edited: boolean;
  readonly at: number;
}

export interface RuleReach {
  readonly userId: string;
  readonly toolName: string;
  readonly matches: readonly RuleMatch[];
  readonly tried: number;
  readonly covered: number;
  /** Their arguments were too large to keep whole, or hold masked secrets where the rule looks. */
  readonly unknown: number;
  readonly oldest: number | null;
  /** Arguments up to a size. */
  readonly newest: readonly (Pick<ExecutionRecord, "id" | "startTime" | "status" | "arguments"> & {
    readonly argumentsCut: Cut | null;
  })[];
  readonly broader: boolean;
  readonly summary: string;
}

export type RuleMatch = StandingRuleRow["matches"][number];

/** Wider permission than one approval: a rule with an expiry, drafted from an approval and revocable in one place. */
export interface StandingRules {
  /**
   * From an approval that was granted, by a user who may decide it. Without `matches` it covers exactly the same
   * arguments. Effective before it is acknowledged, as is `revoke`.
   */
  draft(
    caller: Caller,
    approvalId: string,
    rule: { expiresInSeconds: number; matches?: readonly RuleMatch[] },
  ): Promise<StandingRuleRow>;
  /** Active ones: those the caller may decide about, and those about the caller. */
  list(caller: Caller): Promise<readonly StandingRuleRow[]>;
  revoke(caller: Caller, id: string): Promise<StandingRuleRow>;
}

export interface ApprovalView extends Omit<ApprovalRow, "sealed" | "editedSealed" | "binding"> {
  /** In lists: of these arguments only the beginning is there. One alone is always whole. */
  readonly argumentsCut?: Cut;
  readonly editedArgumentsCut?: Cut;
  /** Changes with every edit. */
  readonly version: string;
  /** Its caller keeps a connection open and waits; absent: not known, there are several instances. */
  readonly clientConnected?: boolean;
  /** The requester approved it, through another channel. */
  readonly selfApproved: boolean;
  /** May this reader decide it? When not: why, and what to do. */
  readonly mayDecide: boolean;
  readonly mayNot?: string;
}
