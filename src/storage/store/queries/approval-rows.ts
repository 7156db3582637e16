import { sql, type Selectable } from "kysely";
import type { JsonObject } from "../../../contract/call.ts";
import type { ApprovalHead, ApprovalRow } from "../store.ts";
import type { Tables } from "../tables/tables.ts";

export function toRow(approval: ApprovalRow): Tables["approvals"] {
  const { editedArguments } = approval;
  return {
    id: approval.id,
    tenant_id: approval.tenantId,
    execution_id: approval.executionId,
    requester: approval.requester,
    key_id: approval.keyId,
    capsule_id: approval.capsuleId,
    tool_name: approval.toolName,
    tool_pin: approval.toolPin,
    policy_version: approval.policyVersion,
    requested_binding: approval.binding,
    binding: approval.binding,
    arguments: JSON.stringify(approval.arguments),
    edited_arguments: editedArguments && JSON.stringify(editedArguments),
    sealed: approval.sealed,
    edited_sealed: approval.editedSealed,
    risk: approval.risk,
    reasons: JSON.stringify(approval.reasons),
    state: approval.state,
    needed: approval.needed,
    created_at: approval.createdAt,
    expires_at: approval.expiresAt,
    presented_at: approval.presentedAt,
    decided_at: approval.decidedAt,
  };
}

type Found = Selectable<Tables["approvals"]>;
type Votes = readonly Selectable<Tables["approval_votes"]>[];
type Large = "arguments" | "edited_arguments" | "sealed" | "edited_sealed";
export type FoundHead = Omit<Found, Large> & { readonly bytes: number | string };

export const HEAD_COLUMNS = [
  "id",
  "tenant_id",
  "execution_id",
  "requester",
  "key_id",
  "capsule_id",
  "tool_name",
  "tool_pin",
  "policy_version",
  "requested_binding",
  "binding",
  "risk",
  "reasons",
  "state",
  "needed",
  "created_at",
  "expires_at",
  "presented_at",
  "decided_at",
] as const satisfies readonly Exclude<keyof Found, Large>[];

export const argumentsIn = (row: Pick<Found, "arguments" | "edited_arguments">) => ({
  arguments: JSON.parse(row.arguments) as JsonObject,
  editedArguments:
    row.edited_arguments === null ? null : (JSON.parse(row.edited_arguments) as JsonObject),
});

export const fromRow = (row: Found, votes: Votes): ApprovalRow => ({
  ...common(row, votes),
  ...argumentsIn(row),
  sealed: row.sealed,
  editedSealed: row.edited_sealed,
});

export const headFrom = (row: FoundHead, votes: Votes): ApprovalHead => ({
  ...common(row, votes),
  bytes: Number(row.bytes),
});

function common(row: Omit<Found, Large>, votes: Votes): Omit<ApprovalHead, "bytes"> {
  return {
    id: row.id,
    tenantId: row.tenant_id,
    executionId: row.execution_id,
    requester: row.requester,
    keyId: row.key_id,
    capsuleId: row.capsule_id,
    toolName: row.tool_name,
    toolPin: row.tool_pin,
    policyVersion: row.policy_version,
    binding: row.binding,
    risk: row.risk,
    reasons: JSON.parse(row.reasons) as ApprovalRow["reasons"],
    state: row.state,
    needed: row.needed,
    votes: votes.map((vote) => ({
      userId: vote.user_id,
      decision: vote.decision,
      comment: vote.comment,
      at: vote.at_ms,
    })),
    createdAt: row.created_at,
    expiresAt: row.expires_at,
    presentedAt: row.presented_at,
    decidedAt: row.decided_at,
  };
}

/** The sealed call goes as soon as nobody can go on with it. */
export const UNSEALED = { sealed: null, edited_sealed: null } as const;

/** PostgreSQL needs a cast to know that a parameter is a number. */
export function epoch(at: number) {
  return sql<number>`cast(${at} as bigint)`;
}
