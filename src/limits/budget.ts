// What the budget stage asks: one reservation per call on its tenant's plan, exact and durable (C38).
import type { Subject } from "../gate/stage.ts";

export const METRICS = [
  "tokens", "tool_calls", "images", "voice_minutes", "api_calls", "memory_tokens", "vector_ops", "learning", "storage_gb", "sessions",
] as const; // prettier-ignore
export type Metric = (typeof METRICS)[number];

export type Reserved =
  | { readonly ok: true; readonly undo?: () => Promise<void>; readonly low?: readonly Metric[] }
  | { readonly ok: false; readonly metric: Metric; readonly used: number; readonly limit: number; readonly resetsAt: number }; // prettier-ignore

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

export interface Budgets {
  /** Idempotent per execution: a held call that goes on keeps what it reserved. */
  reserve(subject: Subject): Reserved | Promise<Reserved>;
  /** The same without taking anything. */
  peek(subject: Subject): Reserved | Promise<Reserved>;
  usage(tenantId: string, period?: string): Promise<readonly UsageView[]>;
}
