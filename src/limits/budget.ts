// What the budget stage asks: one reservation per call on its tenant's plan, exact and durable (C38).
import type { Call, Caller, Outcome, Plan } from "../call.ts";
import type { Subject } from "../gate/stage.ts";

export const METRICS = [
  "tokens",
  "tool_calls",
  "images",
  "voice_minutes",
  "api_calls",
  "memory_tokens",
  "vector_ops",
  "learning",
  "storage_gb",
  "sessions",
] as const;
export type Metric = (typeof METRICS)[number];

export type Reserved =
  | {
      readonly ok: true;
      readonly undo?: () => Promise<void>;
      /** Metrics that have just come close to their limit: told once a period. */
      readonly low?: readonly Metric[];
      /** Only of a question. */
      readonly seen?: readonly BudgetLine[];
    }
  | {
      readonly ok: false;
      readonly metric: Metric;
      readonly used: number;
      readonly limit: number;
      readonly resetsAt: number;
    };

/** What a call would take of one metric, and what has been taken. */
export interface BudgetLine {
  readonly metric: Metric;
  readonly amount: number;
  /** Reservations of running calls included. */
  readonly used: number;
  readonly limit: number | null;
}

/** What a plan includes; null: no limit. */
export interface PlanView {
  readonly plan: Plan | null;
  readonly callsPerMinute: number | null;
  readonly budgets: Readonly<Record<Metric, number | null>>;
}

export interface UsageView {
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
  amounts(call: Pick<Call, "tool" | "arguments">): Readonly<Record<string, number>>;
  /** Does its plan limit what it uses, so that there is a reservation which the start turns into use? */
  isReserved(call: Pick<Call, "caller" | "tool" | "arguments">): boolean;
  settle(
    call: Pick<Call, "tool" | "arguments">,
    outcome: Pick<Outcome, "dispatched" | "metadata">,
  ): Readonly<Record<string, number>>;
}

export interface Budgets {
  /** Idempotent per execution: a held call that goes on keeps what it reserved. */
  reserve(subject: Subject): Reserved | Promise<Reserved>;
  /** The same without taking anything. */
  peek(subject: Subject): Reserved | Promise<Reserved>;
  /** Of the caller's tenant, with the limits of the caller's plan; without a period of the present one. */
  usage(caller: Pick<Caller, "tenantId" | "plan">, period?: string): Promise<readonly UsageView[]>;
  plans(): readonly PlanView[];
  readonly book: UseBook;
}
