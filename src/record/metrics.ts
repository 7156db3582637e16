// Prometheus figures. The four required names appear exactly as written; labels are bounded by the registry.
import { Counter, Gauge, Histogram, Registry } from "prom-client";
import type { Caller, Outcome, Verdict } from "../call.ts";

export interface Metrics {
  readonly contentType: string;
  /** The page of `/metrics`, classic text format. */
  text(): Promise<string>;
  discovered(caller: Caller, count: number): void;
  ended(caller: Caller, outcome: Outcome): void;
  late(): void;
  mcpPath(path: "fast" | "sdk"): void;
  /** What an execution that ran used of its tenant's budget. */
  spent(amounts: Readonly<Record<string, number>>): void;
  /** A rate window or a budget came close to its limit. */
  low(limit: string): void;
}

export interface MetricsPowers {
  readonly version: string;
  /** Puts user and capsule ids on labels, at most 1,000 of each. */
  readonly identityLabels: boolean;
  readonly active: () => number;
}

const BUCKETS = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300];
const MAX_IDENTITIES = 1_000;

export function createMetrics(p: MetricsPowers): Metrics {
  const registers = [new Registry()];
  const [registry] = registers as [Registry];
  const agent = p.identityLabels ? ["agent_id"] : [];
  const user = p.identityLabels ? ["user_id"] : [];
  const discovery = new Gauge({ name: "tool_discovery_count", help: "Tools visible at the last discovery", labelNames: agent, registers }); // prettier-ignore
  const total = new Counter({ name: "tool_execution_total", help: "Executions by tool and end", labelNames: ["tool_name", "status"], registers }); // prettier-ignore
  const duration = new Histogram({ name: "tool_execution_duration", help: "Duration of executions in seconds", labelNames: ["tool_name"], buckets: BUCKETS, registers }); // prettier-ignore
  const refused = new Counter({ name: "tool_permission_denied", help: "Calls refused for lack of permission, hidden and unknown tools included", labelNames: ["tool_name", ...user], registers }); // prettier-ignore
  const verdicts = new Counter({ name: "ostiary_verdicts_total", help: "Verdicts by stage", labelNames: ["stage", "verdict"], registers }); // prettier-ignore
  const late = new Counter({ name: "ostiary_late_results_total", help: "Results dropped because the execution had ended", registers }); // prettier-ignore
  const paths = new Counter({ name: "ostiary_mcp_requests_total", help: "MCP requests by path taken", labelNames: ["path"], registers }); // prettier-ignore
  const limited = new Counter({ name: "ostiary_rate_limited_total", help: "Calls refused by a rate window", labelNames: ["window"], registers }); // prettier-ignore
  const budget = new Counter({ name: "ostiary_budget_spent_total", help: "Use of budgets by metric", labelNames: ["unit"], registers }); // prettier-ignore
  const lows = new Counter({ name: "ostiary_limit_low_total", help: "Warnings that a rate window or a budget is nearly used up", labelNames: ["limit"], registers }); // prettier-ignore
  new Gauge({ name: "ostiary_executions_active", help: "Executions running or waiting", registers, collect() { this.set(p.active()); } }); // prettier-ignore
  new Gauge({ name: "ostiary_build_info", help: "Version of this server", labelNames: ["version"], registers }).set({ version: p.version }, 1); // prettier-ignore
  const agents = bounded();
  const users = bounded();
  // Counted in plain maps on the hot path, and handed over when somebody reads the page.
  const allowed = new Map<string, number>();
  let passed = 0;
  let stages: readonly string[] = [];
  const passedBy = (gates: readonly Verdict[]): void => {
    for (const stage of stages) add(allowed, stage, passed);
    passed = 0;
    stages = gates.map(({ stage }) => stage);
  };
  const ends = new Map<string, Map<string, number>>();
  const spent = new Map<string, number>();
  const flush = (): void => {
    for (const stage of stages) add(allowed, stage, passed);
    passed = 0;
    for (const [stage, count] of allowed) verdicts.inc({ stage, verdict: "allow" }, count);
    for (const [tool_name, counts] of ends) for (const [status, count] of counts) total.inc({ tool_name, status }, count); // prettier-ignore
    for (const [unit, amount] of spent) budget.inc({ unit }, amount);
    allowed.clear();
    ends.clear();
    spent.clear();
  };

  return {
    contentType: registry.contentType,
    text() {
      flush();
      return registry.metrics();
    },
    discovered: (caller, count) =>
      discovery.set(
        p.identityLabels ? { agent_id: agents(caller.capsuleId ?? "none") } : {},
        count,
      ),
    ended(caller, outcome) {
      // A hidden tool must not differ from an invented name, not even in a label.
      const tool_name = outcome.visible ? outcome.toolName : "unknown";
      const status = outcome.cancelReason === "timeout" ? "timeout" : outcome.status;
      let counts = ends.get(tool_name);
      if (!counts) ends.set(tool_name, (counts = new Map<string, number>()));
      add(counts, status);
      if (outcome.dispatched) duration.observe({ tool_name }, outcome.latencyMs / 1000);
      // What was dispatched passed every stage: one count for all of them.
      if (outcome.dispatched && outcome.gates.length > 0) {
        if (stages.length !== outcome.gates.length) passedBy(outcome.gates);
        passed++;
      } else
        for (const gate of outcome.gates) {
          if (gate.verdict === "allow") add(allowed, gate.stage);
          else verdicts.inc({ stage: gate.stage, verdict: gate.verdict });
        }
      if (outcome.error?.code === "TOO_MANY_REQUESTS")
        for (const { name, remaining } of outcome.rate) if (remaining < 1) limited.inc({ window: name }); // prettier-ignore
      if (outcome.error?.code === "FORBIDDEN" || outcome.error?.code === "NOT_FOUND") {
        refused.inc(
          p.identityLabels ? { tool_name, user_id: users(caller.userId) } : { tool_name },
        );
      }
    },
    late: () => void late.inc(),
    mcpPath: (path) => paths.inc({ path }),
    spent(amounts) {
      for (const unit in amounts) add(spent, unit, amounts[unit]);
    },
    low: (limit) => lows.inc({ limit }),
  };
}

function add(counts: Map<string, number>, key: string, amount = 1): void {
  counts.set(key, (counts.get(key) ?? 0) + amount);
}

/** A caller must not be able to create series without end. */
function bounded(): (value: string) => string {
  const seen = new Set<string>();
  return (value) => {
    if (seen.size >= MAX_IDENTITIES && !seen.has(value)) return "other";
    seen.add(value);
    return value;
  };
}
