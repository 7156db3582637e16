// What the budget stage asks: one exact, durable reservation per call on the plans of its tenant, user and key.
import type { Call, Outcome, Plan } from "../../contract/call.ts";
import type { Subject } from "../../contract/subject.ts";
import type { Owned, BudgetOwner, OwnerKind } from "./owners.ts";

/** Each has a meter: a tool's, or (api_calls) the doors. */
export const METRICS = [
  "tokens",
  "tool_calls",
  "images",
  "voice_minutes",
  "api_calls",
  "memory_tokens",
  "vector_ops",
] as const;
export type Metric = (typeof METRICS)[number];

export type Reserved =
  | {
      readonly ok: true;
      readonly undo?: () => Promise<void>;
      /** Metrics that have just come close to their limit: reported once a period. */
      readonly low?: readonly Metric[];
      /** Only from `peek`. */
      readonly seen?: readonly BudgetLine[];
    }
  | BudgetRefusal;

export interface BudgetRefusal {
  readonly ok: false;
  /** Whose budget it was. */
  readonly owner: BudgetOwner;
  readonly metric: Metric;
  readonly used: number;
  readonly limit: number;
  readonly resetsAt: number;
}

/** What a call would take of one metric, and what has been taken. */
export interface BudgetLine {
  readonly owner: OwnerKind;
  readonly metric: Metric;
  readonly amount: number;
  /** Reservations of running calls included. */
  readonly used: number;
  readonly limit: number | null;
}

/** What a plan includes; null: no limit. */
export interface BudgetPlanView {
  readonly plan: Plan | null;
  readonly callsPerMinute: number | null;
  readonly budgets: Readonly<Record<Metric, number | null>>;
}

export interface UsageView {
  readonly owner: BudgetOwner;
  readonly metric: Metric;
  readonly used: number;
  readonly reserved: number;
  /** Null: unlimited. */
  readonly limit: number | null;
  /** `2026-11`. */
  readonly period: string;
  readonly resetsAt: number;
}

/** What the record counts of a call. */
export interface UseBook {
  /** By counter: the tenant's, and those of user and key where they have a plan of their own. */
  amounts(call: Pick<Call, "caller" | "tool" | "arguments">): Readonly<Record<string, number>>;
  /** Does its plan limit what it uses, so that there is a reservation which the start turns into use? */
  isReserved(call: Pick<Call, "caller" | "tool" | "arguments">): boolean;
  settle(
    call: Pick<Call, "caller" | "tool" | "arguments">,
    outcome: Pick<Outcome, "dispatched" | "metadata">,
  ): Readonly<Record<string, number>>;
}

export interface Budgets {
  /** Idempotent per execution: a held call that goes on keeps what it reserved. */
  reserve(subject: Subject): Reserved | Promise<Reserved>;
  /** The same without taking anything. */
  peek(subject: Subject): Reserved | Promise<Reserved>;
  /** Of key, user and tenant, each with the limits of its own plan; without a period of the present one. */
  usage(caller: Owned, period?: string): Promise<readonly UsageView[]>;
  plans(): readonly BudgetPlanView[];
  readonly book: UseBook;
}
