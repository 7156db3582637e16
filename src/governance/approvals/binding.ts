// What an approval is bound to: who, which tool as it is pinned, exactly these arguments, under this policy.
import { createHash } from "node:crypto";
import { isInnerEntry, narrowingOf, type Caller, type JsonObject } from "../../contract/call.ts";
import type { ApprovalRow } from "../../storage/store/store.ts";
import type { Subject } from "../../contract/subject.ts";
import type { Tool } from "../../contract/tool.ts";
import { canonicalJson } from "../../util/json/json.ts";

export interface BoundCall {
  readonly tenantId: string;
  readonly requester: string;
  readonly keyId: string | null;
  readonly capsuleId: string | null;
  readonly toolName: string;
  readonly toolPin: string;
  readonly policyVersion: string;
}

/** And how far the requester was narrowed: an agent's call differs from the same call of its caller. */
export interface Narrowed extends BoundCall {
  readonly narrowing: string;
  /** An approval does not cover the same call of a caller that has read content from outside. */
  readonly tainted: boolean;
  /** The key under which this server itself makes the call: a yes is for that one call, not for one that is equal. */
  readonly ownKey: string | null;
}

/** The part of a call that an approval is about. */
export interface BoundSubject {
  readonly caller: Caller;
  readonly tool: Tool | null;
  readonly arguments: JsonObject;
  readonly taint?: Subject["taint"];
  readonly entry?: Subject["entry"];
  readonly idempotencyKey?: Subject["idempotencyKey"];
}

/** Clients choose their keys anew when they try again; what this server makes under a key is one call. */
export const ownKeyOf = ({
  entry,
  idempotencyKey,
}: Pick<BoundSubject, "entry" | "idempotencyKey">): string | null =>
  entry !== undefined && isInnerEntry(entry) ? (idempotencyKey ?? null) : null;

export function boundOf(subject: BoundSubject, policyVersion: string): Narrowed {
  const { caller, tool, taint } = subject;
  return {
    tenantId: caller.tenantId,
    requester: caller.userId,
    keyId: caller.keyId,
    capsuleId: caller.capsuleId,
    toolName: tool?.name ?? "",
    toolPin: tool?.pin ?? "",
    policyVersion,
    narrowing: narrowingOf(caller),
    tainted: taint !== undefined,
    ownKey: ownKeyOf(subject),
  };
}

/** SHA-256 over the canonical form (RFC 8785): equal calls give equal text, whatever the order of their keys. */
export function bindingOf(bound: Narrowed, args: JsonObject): string {
  const { tenantId, requester, keyId, capsuleId, toolName, toolPin, policyVersion, narrowing } =
    bound;
  const text = canonicalJson({
    tenantId,
    requester,
    keyId,
    capsuleId,
    toolName,
    toolPin,
    policyVersion,
    narrowing,
    ...(bound.tainted ? { tainted: true } : {}),
    ...(bound.ownKey === null ? {} : { key: bound.ownKey }),
    arguments: args,
  });
  return createHash("sha256").update(text).digest("hex");
}

/** What has changed since the approval, as people are shown it; empty when the binding holds. */
export function differences(
  row: ApprovalRow,
  subject: BoundSubject,
  policyVersion: string,
): string[] {
  const now = boundOf(subject, policyVersion);
  const changed: string[] = [];
  if (
    now.tenantId !== row.tenantId ||
    now.requester !== row.requester ||
    now.keyId !== row.keyId ||
    now.capsuleId !== row.capsuleId
  )
    changed.push("caller");
  if (now.toolName !== row.toolName || now.toolPin !== row.toolPin) changed.push("tool");
  // The row keeps no arguments in the clear: they are the same when they give the same hash with everything else as
  // it was.
  const { narrowing, tainted, ownKey } = now;
  if (bindingOf({ ...row, narrowing, tainted, ownKey }, subject.arguments) !== row.binding)
    changed.push("arguments");
  if (now.policyVersion !== row.policyVersion) changed.push("policy");
  return changed;
}
