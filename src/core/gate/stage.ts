// What a stage is and how one is judged: in order, timed, and failing closed in one place.
import type { CapsuleRules } from "../../contract/agent-config.ts";
import type { ApprovalGate } from "../../governance/approvals/approval.ts";
import type { EgressLimit, Json, Mode, RateWindow, Verdict } from "../../contract/call.ts";
import type { Code, FieldFault } from "../../contract/errors.ts";
import type { Allowlist, Governance } from "../../governance/rules/governance.ts";
import type { Budgets } from "../../governance/limits/budget.ts";
import type { Rates } from "../../governance/limits/rate.ts";
import type { ModeController } from "../../governance/modes/mode.ts";
import type { Policies } from "../../governance/policy/policy.ts";
import type { Relations } from "../../governance/relations/relation.ts";
import type { Ask, Subject } from "../../contract/subject.ts";
import type { Provider } from "../../contract/tool.ts";
import type { Validators } from "./validators.ts";

/** What stages may use: one field per engine. */
export interface GatePowers {
  /** The flag `mcp_tools`: off, no caller has any tool. */
  readonly toolsOn: boolean;
  /** Providers of tools from outside this server that have a runner here. */
  readonly providers: ReadonlySet<Provider>;
  /** Tools of a capsule, or null when there is no such active capsule. */
  readonly capsule: (id: string) => CapsuleTools | null | Promise<CapsuleTools | null>;
  readonly relations: Pick<Relations, "revision" | "check" | "checkMany" | "expand">;
  readonly policies: Pick<Policies, "decide" | "remembered">;
  readonly allowlist: Allowlist;
  readonly mode: Pick<ModeController, "current" | "throttleOf">;
  readonly governance: Governance;
  readonly validators: Validators;
  readonly rates: Rates;
  readonly budgets: Pick<Budgets, "reserve" | "peek">;
  readonly approvals: ApprovalGate;
  readonly now: () => number;
}

export interface CapsuleTools {
  has(toolName: string): boolean;
  /** Absent: it holds tools and says nothing about their use. */
  readonly rules?: CapsuleRules;
}

export type Decision =
  | Allow
  | ({ readonly kind: "deny"; readonly code: Code; readonly reason: string } & DecisionDetails)
  | ({ readonly kind: "hold"; readonly reason: string } & DecisionDetails);

interface Allow {
  readonly kind: "allow";
  readonly ask?: Ask;
  /** A second question. */
  readonly also?: Ask;
  /** Reason of an earlier stage's question that need not be asked after all. */
  readonly waives?: string;
  /** It runs without a question because a list allows it: then in the narrowest sandbox. */
  readonly confines?: true;
  /** The call reaches no further than this. */
  readonly egress?: EgressLimit;
  /** Gives back what this stage took, when a later stage refuses the call. */
  readonly undo?: () => void | Promise<void>;
  readonly windows?: readonly RateWindow[];
  readonly rule?: string;
  readonly engine?: string;
  readonly shadow?: NonNullable<Verdict["shadow"]>;
  readonly ruleText?: string;
  readonly read?: Json;
}

interface DecisionDetails {
  readonly message: string;
  readonly remedy?: string;
  readonly rule?: string;
  readonly engine?: string;
  readonly mode?: Mode;
  readonly errors?: readonly FieldFault[];
  readonly retryAfterSeconds?: number;
  readonly windows?: readonly RateWindow[];
  readonly shadow?: NonNullable<Verdict["shadow"]>;
  readonly ruleText?: string;
  readonly read?: Json;
}

/** What one pass through the gate leaves behind. */
export interface Trail {
  readonly gates: Verdict[];
  readonly asks: Ask[];
  readonly undo: (() => void | Promise<void>)[];
  windows: readonly RateWindow[];
  /** A list allows it without a question. */
  confined: boolean;
  /** How far the call may reach; null: as far as the governance files let its tool. */
  egress: EgressLimit | null;
  /** The stages that had to wait for their engine; null: none. */
  waited: string[] | null;
  /** When the last stage ended, which is when the next one begins: the clock is read once a stage. */
  at: number;
}

export const newTrail = (): Trail => ({
  gates: [],
  asks: [],
  undo: [],
  windows: [],
  confined: false,
  egress: null,
  waited: null,
  at: performance.now(),
});

export interface Stage {
  readonly name: string;
  /** The engine named when the stage cannot decide. */
  readonly engine: string;
  /** True: a deny hides the tool, which then does not exist for this caller. */
  readonly hides: boolean;
  /** Longest time for a decision, in ms; after it the engine counts as unavailable. */
  readonly limitMs?: number;
  /** `trail` is what the earlier stages left; read only. */
  decide(
    subject: Subject,
    powers: GatePowers,
    trail: Readonly<Trail>,
  ): Decision | Promise<Decision>;
}

const ALLOW: Decision = Object.freeze({ kind: "allow" });
export const allow = (): Decision => ALLOW;
export const deny = (code: Code, reason: string, details: DecisionDetails): Decision => ({
  kind: "deny",
  code,
  reason,
  ...details,
});

/** The same answer for every tool that is not visible: unknown, disabled, not in the capsule or forbidden. */
export const notFound = (subject: Subject): Decision =>
  deny("NOT_FOUND", "unknown", {
    message: `Tool '${subject.requestedName}' not found`,
    remedy: "list the tools you may use",
  });

const STAGE_LIMIT_MS = 500;

/** A stage that throws or is too slow denies and names its engine. This is the only place that fails closed. */
export function judge(
  stage: Stage,
  subject: Subject,
  powers: GatePowers,
  trail: Trail,
): Verdict | Promise<Verdict> {
  const began = trail.at;
  try {
    const decision = stage.decide(subject, powers, trail);
    if (!(decision instanceof Promise)) return stamp(stage, decision, began, trail);
    return settle(stage, decision, began, trail);
  } catch {
    return stamp(stage, unavailable(stage), began, trail);
  }
}

async function settle(
  stage: Stage,
  pending: Promise<Decision>,
  began: number,
  trail: Trail,
): Promise<Verdict> {
  (trail.waited ??= []).push(stage.name);
  let timer: NodeJS.Timeout | undefined;
  let turn: NodeJS.Immediate | undefined;
  const late = new Promise<Decision>((resolve) => {
    const giveUp = (): void => {
      resolve(unavailable(stage));
      // A late allow may have taken something that nobody will use.
      pending
        .then((decision) => decision.kind === "allow" && decision.undo?.())
        .catch(() => undefined);
    };
    // In a busy process the answer may have arrived already: it is read before the engine counts as too slow.
    timer = setTimeout(() => (turn = setImmediate(giveUp)), stage.limitMs ?? STAGE_LIMIT_MS);
  });
  try {
    return stamp(stage, await Promise.race([pending, late]), began, trail);
  } catch {
    return stamp(stage, unavailable(stage), began, trail);
  } finally {
    clearTimeout(timer);
    clearImmediate(turn);
  }
}

function unavailable(stage: Stage): Decision {
  return deny("UNAVAILABLE", "engine_unavailable", {
    message: `the ${stage.engine} engine did not answer stage ${stage.name}`,
    remedy: "try again; if it stays so, an operator must check the server's health page",
    engine: stage.engine,
  });
}

function stamp(stage: Stage, decision: Decision, began: number, trail: Trail): Verdict {
  trail.at = performance.now();
  const ms = Math.round((trail.at - began) * 1000) / 1000;
  if (decision === ALLOW) return { stage: stage.name, verdict: "allow", ms };
  if (decision.windows) trail.windows = decision.windows;
  if (decision.kind === "allow") {
    const { kind, ask, also, undo, windows: _windows, confines, egress, ...rest } = decision;
    if (confines) trail.confined = true;
    if (egress) trail.egress = egress;
    if (rest.waives !== undefined) withdraw(trail.asks, rest.waives);
    if (ask) trail.asks.push(ask);
    if (also) trail.asks.push(also);
    if (undo) trail.undo.push(undo);
    return { stage: stage.name, verdict: kind, ms, ...rest, ...(ask ? { asks: ask.reason } : {}) };
  }
  const { kind, windows: _windows, ...rest } = decision;
  return { stage: stage.name, verdict: kind, ms, ...rest };
}

function withdraw(asks: Ask[], reason: string): void {
  for (let at = asks.length - 1; at >= 0; at--) if (asks[at]?.reason === reason) asks.splice(at, 1);
}
