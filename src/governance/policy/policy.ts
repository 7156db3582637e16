// The policy port: Rego decides. Evaluated here, or by an OPA server; one suite and one set of cases prove both alike.
import { z } from "zod";
import type { Json, JsonObject, Mode } from "../../contract/call.ts";

export const policyConfig = z
  .string()
  .regex(/^(embedded|opa\+https?:\/\/.+)$/, "expected embedded, or opa+http://host:port")
  .describe("Policy engine: embedded, or opa+http://host:port of an OPA server.");

/** `input` of the policy. Field names are the contract with people's policies. */
export interface PolicyInput {
  readonly user_id: string;
  readonly tool_name: string;
  readonly action: "view" | "execute";
  readonly roles: readonly string[];
  readonly context: { readonly tenant_id: string; readonly session_id: string | null };
  readonly tenant: string;
  readonly capsule: string | null;
  readonly session: string | null;
  /** Null when the name is unknown. */
  readonly tool: {
    readonly name: string;
    readonly category: string;
    readonly risk: string;
    readonly class: string;
    readonly provider: string;
    readonly version: string;
  } | null;
  readonly mode: Mode;
  /** ISO 8601, UTC. */
  readonly time: string;
  readonly argument_names: readonly string[];
  /** Only when the action is execute. */
  readonly arguments?: JsonObject;
}

export interface PolicyDecision {
  readonly allow: boolean;
  /** Sentences of the policy's `reasons`; may be empty. */
  readonly reasons: readonly string[];
  /** Of the rule that decided: `tools.rego:12`. For an allow only when explained. */
  readonly rule?: string;
  /** Its text, only when explained. */
  readonly ruleText?: string;
  /** The parts of input and data it read, only when explained. */
  readonly read?: Json;
  /** Version of the policy set that decided. */
  readonly version: string;
  readonly decisionId?: string;
}

/** Modules, their tests (`*_test.rego`) and data (`data.json`, `data.yaml`) by path. */
export type PolicyFiles = Readonly<Record<string, string>>;

/**
 * One loaded policy set in one engine. Undefined or non-boolean answers are a no with that as reason; never a throw.
 */
export interface PolicyEngine {
  readonly engine: "embedded" | "opa";
  /**
   * Makes this set the one that answers under `slot`; throws AppError BAD_REQUEST with file:line when it does not
   * load.
   */
  load(
    slot: "enforced" | "shadow",
    set: { version: string; files: PolicyFiles } | null,
  ): Promise<void>;
  /** Replaces `data.tools` (which tools are enabled), for both slots. */
  setTools(tools: Readonly<Record<string, { enabled: boolean }>>): void | Promise<void>;
  /** Null when the slot is empty. Throws when the engine is out. `explain` adds rule, ruleText, read. */
  decide(
    slot: "enforced" | "shadow",
    input: PolicyInput,
    explain: boolean,
  ): PolicyDecision | null | Promise<PolicyDecision | null>;
  /** Of the set in this slot; null when it is empty. */
  versionOf(slot: "enforced" | "shadow"): string | null;
  /**
   * True: answers of both sets depend on nothing but the input without `time` and `data.tools`, so that they may be
   * remembered.
   */
  readonly timeless: boolean;
  /** True: nor on the arguments. */
  readonly argumentless: boolean;
  /** Rises whenever an answer may have changed: another set, another switch. */
  readonly revision: number;
  ping(): Promise<void>;
  close(): Promise<void>;
}

/** What the gate asks. Adds the trial verdict of a shadow set when it differs. */
export interface Policies {
  readonly engine: PolicyEngine["engine"];
  /** Of the enforced set; part of what an approval is bound to. */
  readonly version: string;
  readonly timeless: boolean;
  decide(
    input: PolicyInput,
    options: { explain: boolean },
  ): PolicyJudgement | Promise<PolicyJudgement>;
  /** The same, remembered for this caller and tool while nothing that the answer depends on changes. */
  remembered(
    about: PolicyQuestion,
    input: () => PolicyInput,
  ): PolicyJudgement | Promise<PolicyJudgement>;
}

/** Everything an input is made of, but for the time and the arguments. */
export interface PolicyQuestion {
  readonly action: "view" | "execute";
  readonly caller: object;
  readonly tool: object;
  readonly mode: Mode;
  readonly session: string | null;
}

export interface PolicyJudgement extends PolicyDecision {
  readonly shadow?: {
    readonly version: string;
    readonly verdict: "allow" | "deny";
    readonly reason: string;
  };
}
