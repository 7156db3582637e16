import type { Selectable } from "kysely";
import type { JsonObject } from "../../call.ts";
import type { ApprovalRow } from "../store.ts";
import type { Tables } from "../tables.ts";

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

export function fromRow(
  row: Selectable<Tables["approvals"]>,
  votes: readonly Selectable<Tables["approval_votes"]>[],
): ApprovalRow {
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
    arguments: JSON.parse(row.arguments) as JsonObject,
    editedArguments:
      row.edited_arguments === null ? null : (JSON.parse(row.edited_arguments) as JsonObject),
    sealed: row.sealed,
    editedSealed: row.edited_sealed,
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
