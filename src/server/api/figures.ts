// Figures out of rollup rows. Timeouts end as cancelled, yet count as failures in rates.
import { z } from "zod";
import type { Figures, UsageRow } from "../../storage/store/store.ts";
import { isoOrNull, time } from "./shapes.ts";

export const toolMetricsShape = z.object({
  totalInvocations: z.int(),
  successfulInvocations: z.int(),
  failedInvocations: z.int().describe("Timeouts included"),
  timedOutInvocations: z.int(),
  averageExecutionTime: z.number().describe("ms"),
  lastInvoked: time.nullable(),
});

export function figuresOf(rows: readonly UsageRow[]): Figures {
  const sum = (key: keyof Figures): number => rows.reduce((n, row) => n + row[key], 0);
  const total = sum("total");
  const spent = rows.reduce((ms, row) => ms + row.averageExecutionTime * row.total, 0);
  return {
    total,
    success: sum("success"),
    failed: sum("failed"),
    cancelled: sum("cancelled"),
    timeout: sum("timeout"),
    averageExecutionTime: total === 0 ? 0 : round(spent / total),
  };
}

export function lastOf(rows: readonly UsageRow[]): number | null {
  const starts = rows.map((row) => row.lastStart).filter((start) => start !== null);
  return starts.length === 0 ? null : Math.max(...starts);
}

export function toolMetrics(rows: readonly UsageRow[]): z.input<typeof toolMetricsShape> {
  const figures = figuresOf(rows);
  return {
    totalInvocations: figures.total,
    successfulInvocations: figures.success,
    failedInvocations: figures.failed + figures.timeout,
    timedOutInvocations: figures.timeout,
    averageExecutionTime: figures.averageExecutionTime,
    lastInvoked: isoOrNull(lastOf(rows)),
  };
}

/** Null before anything finished: no rate is better than a made-up one. */
export function successRate(figures: Figures): number | null {
  const counted = figures.success + figures.failed + figures.timeout;
  return counted === 0 ? null : figures.success / counted;
}

/** ms with three digits: enough for people, no noise of floating point. */
export const round = (ms: number): number => Math.round(ms * 1000) / 1000;
