// What is drawn, tabulated and asked of Prometheus: one entry for each chart.
import { duration } from "../../ui/time.tsx";
import type { Bucket } from "./series.ts";

export interface Line {
  readonly label: string;
  /** A colour of the theme. */
  readonly colour: "ok" | "deny" | "hold" | "info" | "accent" | "muted";
  /** Lines differ by dashes too. */
  readonly dash: readonly number[];
  readonly valueOf: (bucket: Bucket) => number | null;
}

export interface ChartEntry {
  readonly id: string;
  readonly title: string;
  readonly lines: readonly Line[];
  readonly format: (value: number) => string;
  readonly promql: string;
}

const count = (value: number): string => value.toLocaleString("en");
const SOLID: readonly number[] = [];

export const CHARTS: readonly ChartEntry[] = [
  {
    id: "calls",
    title: "Calls by how they ended",
    format: count,
    promql: "sum by (status) (increase(tool_execution_total[5m]))",
    lines: [
      { label: "success", colour: "ok", dash: SOLID, valueOf: ({ success }) => success },
      { label: "failed or refused", colour: "deny", dash: [8, 4], valueOf: ({ failed }) => failed },
      {
        label: "cancelled",
        colour: "muted",
        dash: [2, 3],
        valueOf: ({ cancelled, timeout }) => cancelled - timeout,
      },
      { label: "timeout", colour: "hold", dash: [10, 3, 2, 3], valueOf: ({ timeout }) => timeout },
    ],
  },
  {
    id: "latency",
    title: "Time until the answer",
    format: duration,
    promql: "histogram_quantile(0.95, sum by (le) (rate(tool_execution_duration_bucket[5m])))",
    lines: [
      {
        label: "median",
        colour: "info",
        dash: SOLID,
        valueOf: ({ durations }) => durations?.p50 ?? null,
      },
      {
        label: "95 %",
        colour: "hold",
        dash: [8, 4],
        valueOf: ({ durations }) => durations?.p95 ?? null,
      },
      {
        label: "99 %",
        colour: "deny",
        dash: [2, 3],
        valueOf: ({ durations }) => durations?.p99 ?? null,
      },
    ],
  },
  {
    id: "waiting",
    title: "Wait for a person's decision",
    format: duration,
    promql:
      "sum(rate(ostiary_approval_wait_seconds_sum[5m])) / sum(rate(ostiary_approval_wait_seconds_count[5m]))",
    lines: [
      {
        label: "average wait",
        colour: "hold",
        dash: SOLID,
        valueOf: ({ approvals }) => approvals.averageWaitMs,
      },
    ],
  },
  {
    id: "questions",
    title: "Questions to people",
    format: count,
    promql: "sum(increase(ostiary_approval_wait_seconds_count[5m]))",
    lines: [
      { label: "asked", colour: "info", dash: SOLID, valueOf: ({ approvals }) => approvals.asked },
      {
        label: "decided",
        colour: "ok",
        dash: [8, 4],
        valueOf: ({ approvals }) => approvals.decided,
      },
    ],
  },
];
