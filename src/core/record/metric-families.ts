// The families that events of the server change. Within a group, and group by group, they stand in the order of the
// page.
import { counter, histogram, setGauge } from "./exposition.ts";

const CALL_SECONDS = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300];
const STAGE_SECONDS = [0.0001, 0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 0.25, 0.5];
const COMMIT_SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];
const GROUP_SIZES = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024];
const WAIT_SECONDS = [1, 5, 15, 30, 60, 120, 300, 600, 1800, 3600, 21_600, 86_400];
const MAX_DENIED = 5_000;

/** Discovery and executions. Identities are labels only where the settings allow it. */
export function callFamilies(identityLabels: boolean) {
  const agent = identityLabels ? ["agent_id"] : [];
  const user = identityLabels ? ["user_id"] : [];
  return {
    discovery: setGauge({
      name: "tool_discovery_count",
      help: "Tools visible at the last discovery",
      labels: agent,
    }),
    total: counter({
      name: "tool_execution_total",
      help: "Executions by tool and end; what was refused has failed",
      labels: ["tool_name", "status"],
    }),
    duration: histogram({
      name: "tool_execution_duration",
      help: "Duration of executions that reached their tool, in seconds",
      labels: ["tool_name"],
      bounds: CALL_SECONDS,
    }),
    refused: counter({
      name: "tool_permission_denied",
      help: "Calls refused for lack of permission, hidden and unknown tools included",
      labels: ["tool_name", ...user],
      max: MAX_DENIED,
    }),
  };
}

/** What the gate decided, and the limits it keeps. */
export function gateFamilies() {
  return {
    stageSeconds: histogram({
      name: "ostiary_stage_duration_seconds",
      help: "Time a stage of the gate took",
      labels: ["stage"],
      bounds: STAGE_SECONDS,
    }),
    verdicts: counter({
      name: "ostiary_verdicts_total",
      help: "Verdicts by stage of the gate",
      labels: ["stage", "verdict"],
    }),
    waits: histogram({
      name: "ostiary_approval_wait_seconds",
      help: "Time until a person decided, or nobody did in time",
      bounds: WAIT_SECONDS,
    }),
    limited: counter({
      name: "ostiary_rate_limited_total",
      help: "Calls refused by a rate window",
      labels: ["window"],
    }),
    budget: counter({
      name: "ostiary_budget_spent_total",
      help: "Use of budgets by unit",
      labels: ["unit"],
    }),
    lows: counter({
      name: "ostiary_limit_low_total",
      help: "Warnings that a rate window or a budget is nearly used up",
      labels: ["limit"],
    }),
  };
}

/** Writing the record. */
export function recordFamilies() {
  return {
    commits: histogram({
      name: "ostiary_audit_commit_seconds",
      help: "Time until a group of writes was durable",
      bounds: COMMIT_SECONDS,
    }),
    sizes: histogram({
      name: "ostiary_audit_group_size",
      help: "Writes that became durable together",
      bounds: GROUP_SIZES,
    }),
    events: counter({
      name: "ostiary_audit_events_total",
      help: "Events that are durable on the record, by action",
      labels: ["action"],
    }),
    failures: counter({
      name: "ostiary_audit_failures_total",
      help: "Events that could not be written to the record",
    }),
  };
}

/** Requests, repeated and late answers, and the server itself. */
export function serverFamilies() {
  return {
    late: counter({
      name: "ostiary_late_results_total",
      help: "Results dropped because the execution had ended",
    }),
    hits: counter({
      name: "ostiary_cache_hits_total",
      help: "Answers of cacheable tools that were given again",
    }),
    paths: counter({
      name: "ostiary_mcp_requests_total",
      help: "MCP requests by path taken",
      labels: ["path"],
    }),
    lane: counter({
      name: "ostiary_lane_total",
      help: "Calls answered before node:http, and connections handed over to it",
      labels: ["end"],
    }),
    build: setGauge({
      name: "ostiary_build_info",
      help: "Version of this server",
      labels: ["version"],
    }),
  };
}
