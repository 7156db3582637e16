// What approvals are given; the engine's two functions arrive as such, because the engine asks approvals first.
import type { Caller, JsonObject } from "../call.ts";
import type { Fault, FieldFault } from "../errors.ts";
import type { Governance } from "../governance/governance.ts";
import type { Relations } from "../relation/relation.ts";
import type { State } from "../state/state.ts";
import type { Action, ApprovalRow, Store } from "../store/store.ts";
import type { Registry } from "../tools/registry.ts";
import type { Tool } from "../tools/tool.ts";
import type { Ids } from "../util/ids.ts";
import type { Masker } from "../util/masker.ts";

export interface Who {
  readonly tenantId: string;
  readonly userId: string;
}

/** The two moments of an approval that others want to hear of. */
export type Told = "requested" | "decided";

export interface ApprovalPowers {
  readonly store: Pick<
    Store,
    "approvals" | "standingRules" | "executions" | "revisions" | "shared"
  >;
  readonly serverSecret: string;
  /** Version of the policy set in force. */
  readonly policyVersion: () => string;
  readonly governance: Pick<Governance, "approvalRules" | "asGoverned">;
  readonly relations: Pick<Relations, "check">;
  readonly registry: Pick<Registry, "get">;
  /** Null when the arguments fit the tool's schema. */
  readonly validate: (tool: Tool, args: JsonObject) => readonly FieldFault[] | null;
  /** The requester as they are today, through the same key; null when user or key is gone. */
  readonly callerAgain: (userId: string, keyId: string | null) => Promise<Caller | null>;
  readonly ids: Pick<Ids, "handle" | "hex">;
  readonly now: () => number;
  /** What people are shown, and what is kept readable, has its secrets masked. */
  readonly masker: Pick<Masker, "text" | "value" | "secretsIn">;
  readonly note: (action: Action, who: Who, body: JsonObject) => Promise<void>;
  readonly state: Pick<State, "publish" | "subscribe">;
  /** Goes on with the held call. Resolves once it was judged; throws when it could not be tried. */
  readonly goOn: (approvalId: string) => Promise<void>;
  /** Ends an execution that waits, with this fault; does nothing when it has ended or never was. */
  readonly refuse: (executionId: string, fault: Fault) => Promise<void>;
  /** Hands the news to whoever wants it; must not wait. */
  readonly tell: (what: Told, row: ApprovalRow) => void;
  /** Work that nobody waits for failed, or a grant did not fit its call. */
  readonly report: (message: string, fields: Record<string, unknown>) => void;
  /** Open questions one requester may have at a time. */
  readonly maxPending: number;
}

/** Acts of the server itself. */
export const system = (row: { readonly tenantId: string }): Who => ({
  tenantId: row.tenantId,
  userId: "system",
});
