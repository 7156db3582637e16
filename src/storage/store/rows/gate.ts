// Rows that the gate's engines keep in the store: relationships, approvals, standing rules.
import type { Json, JsonObject } from "../../../contract/call.ts";

/** A relationship as it is stored; absent subject relation, caveat and context are empty texts. */
export interface TupleRow {
  readonly resourceType: string;
  readonly resourceId: string;
  readonly relation: string;
  readonly subjectType: string;
  readonly subjectId: string;
  readonly subjectRelation: string;
  readonly caveat: string;
  /** JSON text. */
  readonly caveatContext: string;
  readonly expiresAt: number | null;
}
export type TupleKey = Omit<TupleRow, "caveat" | "caveatContext" | "expiresAt">;

export interface TupleChange {
  readonly operation: "create" | "touch" | "delete";
  readonly tuple: TupleRow;
}

export const APPROVAL_STATES = [
  "pending",
  "approved",
  "declined",
  "expired",
  "not_presented",
  "cancelled",
  "consumed",
] as const;

export interface ApprovalVote {
  readonly userId: string;
  readonly decision: "approve" | "decline";
  readonly comment: string | null;
  readonly at: number;
}

export interface ApprovalRow {
  readonly id: string;
  readonly tenantId: string;
  readonly executionId: string;
  readonly requester: string;
  readonly keyId: string | null;
  readonly capsuleId: string | null;
  readonly toolName: string;
  readonly toolPin: string;
  readonly policyVersion: string;
  /** SHA-256 over caller, tool pin, canonical arguments and policy version; of the edited arguments once edited. */
  readonly binding: string;
  /** What people see: secrets masked. */
  readonly arguments: JsonObject;
  /** The approver's version, masked; null when nobody edited. */
  readonly editedArguments: JsonObject | null;
  /** The call to go on with, encrypted; null once it ended. */
  readonly sealed: string | null;
  readonly editedSealed: string | null;
  readonly risk: string;
  /** Why a person is asked. */
  readonly reasons: readonly {
    readonly reason: string;
    readonly message: string;
    readonly rule?: string;
    /** Of `tainted`: content from outside that the requester has read. */
    readonly sources?: readonly {
      readonly from: string;
      readonly tool: string;
      readonly reader: string;
    }[];
  }[];
  readonly state: (typeof APPROVAL_STATES)[number];
  /** How many different people must agree. */
  readonly needed: number;
  readonly votes: readonly ApprovalVote[];
  readonly createdAt: number;
  readonly expiresAt: number;
  /** First time that a user who may decide saw it; null: none has. */
  readonly presentedAt: number | null;
  readonly decidedAt: number | null;
}

/** An approval without what may be large: lists are made of these. */
export interface ApprovalHead extends Omit<
  ApprovalRow,
  "arguments" | "editedArguments" | "sealed" | "editedSealed"
> {
  /** Of the arguments and the edited ones, as JSON. */
  readonly bytes: number;
}

/** Calls like one that was approved need no new yes until it ends. Waives asking, never a refusal. */
export interface StandingRuleRow {
  readonly id: string;
  readonly tenantId: string;
  readonly userId: string;
  readonly toolName: string;
  readonly toolPin: string;
  /** By JSON pointer: the value must be equal, or (a text) match the glob. Empty: any arguments. */
  readonly matches: readonly {
    readonly pointer: string;
    readonly equals?: Json;
    readonly glob?: string;
  }[];
  readonly fromApproval: string;
  readonly createdBy: string;
  readonly createdAt: number;
  readonly expiresAt: number;
  readonly revokedAt: number | null;
}
