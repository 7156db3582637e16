// What approvals are given. The engine arrives as two functions, because the engine itself needs approvals.
import type { Call, Caller, JsonObject, Mandate } from "../../contract/call.ts";
import type { Preview } from "../../contract/effect.ts";
import type { Fault, FieldFault } from "../../contract/errors.ts";
import type { Governance } from "../rules/governance.ts";
import type { Relations } from "../relations/relation.ts";
import type { State } from "../../storage/state/state.ts";
import type { Action, ApprovalHead, Cut, Store } from "../../storage/store/store.ts";
import type { Registry } from "../../tools/registry.ts";
import type { Tool } from "../../contract/tool.ts";
import type { Ids } from "../../util/ids.ts";
import type { Masker } from "../../util/secrets/masker.ts";

export interface Who {
  readonly tenantId: string;
  readonly userId: string;
}

/** The two moments of an approval that webhooks and pages are notified of. */
export type ApprovalEvent = "requested" | "decided";

export interface ApprovalPowers {
  readonly store: Pick<
    Store,
    "approvals" | "standingRules" | "executions" | "revisions" | "shared"
  >;
  readonly serverSecret: string;
  /** Version of the policy set in force. */
  readonly policyVersion: () => string;
  readonly governance: Pick<Governance, "approvalRules" | "asGoverned">;
  readonly relations: Pick<Relations, "check" | "lookupSubjects">;
  /** Is this user an administrator, whatever the credential was narrowed to? */
  readonly isOwner: (who: Who) => Promise<boolean>;
  /** False: requests without a credential count as the owner's, so people and agents cannot be distinguished. */
  readonly authenticates: boolean;
  readonly registry: Pick<Registry, "get">;
  /** Null when the arguments fit the tool's schema. */
  readonly validate: (tool: Tool, args: JsonObject) => readonly FieldFault[] | null;
  /** The requester with what they had then and have today; null when user or key is gone. */
  readonly callerAgain: (mandate: Mandate) => Promise<Caller | null>;
  /** Where the run or agent of the waiting call works: here, on another instance, or why it has ended. */
  readonly ownerOf: (
    who: Who,
    call: Pick<Call, "entry" | "metadata">,
  ) => Promise<"here" | "elsewhere" | { readonly over: string }>;
  readonly ids: Pick<Ids, "handle" | "hex">;
  readonly now: () => number;
  /** What people are shown, and what is kept readable, has its secrets masked. */
  readonly masker: Pick<Masker, "text" | "valueInSlices" | "secretsIn">;
  readonly note: (action: Action, who: Who, body: JsonObject) => Promise<void>;
  readonly state: Pick<State, "publish" | "subscribe" | "take">;
  /** Resumes the held call. Resolves once it ended; throws when it could not be tried. */
  readonly resume: (approvalId: string) => Promise<void>;
  /** What the call would do as the rights and rules of today see it. Nothing runs, nothing is recorded. */
  readonly previewOf: (call: Call) => Promise<Preview>;
  /** Ends an execution that waits, with this fault; does nothing when it has ended or never was. */
  readonly refuse: (executionId: string, fault: Fault) => Promise<void>;
  /** Notifies webhooks and pages; must not wait. */
  readonly notify: (what: ApprovalEvent, row: Omit<ApprovalHead, "bytes">) => void;
  /** Work that nobody waits for failed, or a grant did not fit its call. */
  readonly report: (message: string, fields: Record<string, unknown>) => void;
  /** What lists and the log show of arguments that are masked already: all of them, or their beginning. */
  readonly cutToSize: (
    args: JsonObject,
    maxBytes: number,
  ) => { readonly value: JsonObject; readonly cut: Cut | null };
  /** Open questions one requester may have at a time. */
  readonly maxPending: number;
}

/** Acts of the server itself. */
export const system = (row: { readonly tenantId: string }): Who => ({
  tenantId: row.tenantId,
  userId: "system",
});
