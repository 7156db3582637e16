// The page of `/metrics`. The four required names are exact, and no caller can create series.
import { MODES, type Caller, type Mode, type Outcome, type Verdict } from "../../contract/call.ts";
import type { Action } from "../../storage/store/store.ts";
import {
  CONTENT_TYPE,
  counter,
  histogram,
  pageOf,
  readGauge,
  setGauge,
  type Cell,
  type Family,
  type Spread,
} from "./exposition.ts";
import { processFigures } from "./process-figures.ts";

export interface Metrics {
  readonly contentType: string;
  /** What stands on the page, in its order. */
  readonly families: readonly Family[];
  /** The page of `/metrics`, classic text format. */
  text(): Promise<string>;
  /** From now on the page also tells what these say at the moment. */
  watch(sources: Sources): void;
  discovered(caller: Caller, count: number): void;
  ended(caller: Caller, outcome: Outcome): void;
  /** A call waits for a person: the gate was asked, and has not let it pass yet. */
  held(outcome: Outcome): void;
  late(): void;
  /** An answer was given again instead of asking the tool. */
  cacheHit(): void;
  mcpPath(path: "fast" | "sdk"): void;
  /** A request was answered by the raw HTTP reader, or its connection was handed over to node:http. */
  rawRequest(end: "answered" | "handed_over"): void;
  /** What an execution that ran used of its tenant's budget. */
  spent(amounts: Readonly<Record<string, number>>): void;
  /** A rate window or a budget came close to its limit. */
  low(limit: string): void;
  /** A person decided, or nobody did in time. */
  decided(waitedMs: number): void;
  /** A group of writes became durable. */
  committed(size: number, ms: number): void;
  /** An event is durable. */
  recorded(action: Action): void;
  /** An event could not be written. */
  unrecorded(): void;
  close(): void;
}

export interface MetricsPowers {
  readonly version: string;
  /** Puts user and capsule ids on labels, at most 1,000 of each. */
  readonly identityLabels: boolean;
  /** Names of the stages, in the order of the gate. */
  readonly stages: readonly string[];
}

/** What is asked when the page is read. What throws, is null or too slow is left out. */
export interface Sources {
  readonly active: () => number;
  readonly running: () => number;
  readonly queued: () => number;
  readonly slots: number;
  readonly mode: () => Mode;
  readonly approvalsPending: () => Promise<number>;
  /** Events that still have to be sent on; 0 where nothing is. */
  readonly outboxPending: () => number | Promise<number>;
  /** Null until it was tried. */
  readonly sandboxReady: () => boolean | null;
  readonly upstreams: () => readonly UpstreamFigure[];
  /** Native tools whose breaker is not closed. */
  readonly tools: () => readonly Pick<UpstreamFigure, "name" | "breaker">[];
}

export interface UpstreamFigure {
  readonly name: string;
  readonly up: boolean;
  readonly breaker: "closed" | "half_open" | "open";
}

const CALL_SECONDS = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300];
const STAGE_SECONDS = [0.0001, 0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 0.25, 0.5];
const COMMIT_SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];
const GROUP_SIZES = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024];
const WAIT_SECONDS = [1, 5, 15, 30, 60, 120, 300, 600, 1800, 3600, 21_600, 86_400];
const BREAKER = { closed: 0, half_open: 1, open: 2 } as const;
const MAX_IDENTITIES = 1_000;
const MAX_TOOLS = 2_000;
const MAX_DENIED = 5_000;

type ToolFigures = Record<"success" | "failed" | "cancelled" | "timeout", Cell> & {
  readonly name: string;
  seconds: Spread | null;
};
type StageFigures = Record<Verdict["verdict"], Cell> & {
  readonly stage: string;
  readonly seconds: Spread;
};

export function createMetrics(p: MetricsPowers): Metrics {
  const agent = p.identityLabels ? ["agent_id"] : [];
  const user = p.identityLabels ? ["user_id"] : [];
  const discovery = setGauge({
    name: "tool_discovery_count",
    help: "Tools visible at the last discovery",
    labels: agent,
  });
  const total = counter({
    name: "tool_execution_total",
    help: "Executions by tool and end; what was refused has failed",
    labels: ["tool_name", "status"],
  });
  const duration = histogram({
    name: "tool_execution_duration",
    help: "Duration of executions that reached their tool, in seconds",
    labels: ["tool_name"],
    bounds: CALL_SECONDS,
  });
  const refused = counter({
    name: "tool_permission_denied",
    help: "Calls refused for lack of permission, hidden and unknown tools included",
    labels: ["tool_name", ...user],
    max: MAX_DENIED,
  });
  const stageSeconds = histogram({
    name: "ostiary_stage_duration_seconds",
    help: "Time a stage of the gate took",
    labels: ["stage"],
    bounds: STAGE_SECONDS,
  });
  const verdicts = counter({
    name: "ostiary_verdicts_total",
    help: "Verdicts by stage of the gate",
    labels: ["stage", "verdict"],
  });
  const waits = histogram({
    name: "ostiary_approval_wait_seconds",
    help: "Time until a person decided, or nobody did in time",
    bounds: WAIT_SECONDS,
  });
  const limited = counter({
    name: "ostiary_rate_limited_total",
    help: "Calls refused by a rate window",
    labels: ["window"],
  });
  const budget = counter({
    name: "ostiary_budget_spent_total",
    help: "Use of budgets by unit",
    labels: ["unit"],
  });
  const lows = counter({
    name: "ostiary_limit_low_total",
    help: "Warnings that a rate window or a budget is nearly used up",
    labels: ["limit"],
  });
  const commits = histogram({
    name: "ostiary_audit_commit_seconds",
    help: "Time until a group of writes was durable",
    bounds: COMMIT_SECONDS,
  });
  const sizes = histogram({
    name: "ostiary_audit_group_size",
    help: "Writes that became durable together",
    bounds: GROUP_SIZES,
  });
  const events = counter({
    name: "ostiary_audit_events_total",
    help: "Events that are durable on the record, by action",
    labels: ["action"],
  });
  const failures = counter({
    name: "ostiary_audit_failures_total",
    help: "Events that could not be written to the record",
  });
  const late = counter({
    name: "ostiary_late_results_total",
    help: "Results dropped because the execution had ended",
  });
  const hits = counter({
    name: "ostiary_cache_hits_total",
    help: "Answers of cacheable tools that were given again",
  });
  const paths = counter({
    name: "ostiary_mcp_requests_total",
    help: "MCP requests by path taken",
    labels: ["path"],
  });
  const lane = counter({
    name: "ostiary_lane_total",
    help: "Calls answered before node:http, and connections handed over to it",
    labels: ["end"],
  });
  const build = setGauge({
    name: "ostiary_build_info",
    help: "Version of this server",
    labels: ["version"],
  });
  let sources: Sources | null = null;
  const own = processFigures();
  const families: readonly Family[] = [
    discovery,
    total,
    duration,
    refused,
    stageSeconds,
    verdicts,
    waits,
    limited,
    budget,
    lows,
    commits,
    sizes,
    events,
    failures,
    late,
    hits,
    paths,
    lane,
    build,
    ...gauges(() => sources),
    ...own.families,
  ];

  // What can be known beforehand starts at zero, so that the first of its kind is seen as a rise.
  build.of(p.version).value = 1;
  const [wait, commit, size, failed, lost, hit] = [
    waits.of(),
    commits.of(),
    sizes.of(),
    failures.of(),
    late.of(),
    hits.of(),
  ];
  const taken = { fast: paths.of("fast"), sdk: paths.of("sdk") };
  const lanes = { answered: lane.of("answered"), handed_over: lane.of("handed_over") };
  const stages = p.stages.map((stage): StageFigures => ({
    stage,
    seconds: stageSeconds.of(stage),
    allow: verdicts.of(stage, "allow"),
    deny: verdicts.of(stage, "deny"),
    hold: verdicts.of(stage, "hold"),
  }));
  const agents = bounded(MAX_IDENTITIES);
  const users = bounded(MAX_IDENTITIES);
  const toolNames = bounded(MAX_TOOLS);
  const tools = new Map<string, ToolFigures>();
  const toolOf = (wanted: string): ToolFigures => {
    const name = toolNames(wanted);
    const known = tools.get(name);
    if (known) return known;
    const figures = {
      name,
      seconds: null,
      success: total.of(name, "success"),
      failed: total.of(name, "failed"),
      cancelled: total.of(name, "cancelled"),
      timeout: total.of(name, "timeout"),
    };
    tools.set(name, figures);
    return figures;
  };
  const judged = (gates: readonly Verdict[]): void => {
    for (let i = 0; i < gates.length; i++) {
      const { stage, verdict, ms } = gates[i] as Verdict;
      // They come in the order of the gate.
      const figures =
        stages[i]?.stage === stage ? stages[i] : stages.find((each) => each.stage === stage);
      if (!figures) continue;
      figures.seconds.observe(ms / 1000);
      figures[verdict].value++;
    }
  };

  return {
    contentType: CONTENT_TYPE,
    families,
    text: () => pageOf(families),
    watch: (found) => void (sources = found),
    discovered(caller, count) {
      const of = p.identityLabels
        ? discovery.of(agents(caller.capsuleId ?? "none"))
        : discovery.of();
      of.value = count;
    },
    ended(caller, outcome) {
      judged(outcome.gates);
      const label = labelOf(outcome);
      const tool = tools.get(label) ?? toolOf(label);
      const status = outcome.cancelReason === "timeout" ? "timeout" : outcome.status;
      if (status !== "pending" && status !== "running") tool[status].value++;
      if (outcome.dispatched)
        (tool.seconds ??= duration.of(tool.name)).observe(outcome.latencyMs / 1000);
      const code = outcome.error?.code;
      if (code === "TOO_MANY_REQUESTS")
        for (const window of outcome.rate)
          if (window.remaining < 1) limited.of(window.name).value++;
      if (code === "FORBIDDEN" || code === "NOT_FOUND")
        (p.identityLabels ? refused.of(tool.name, users(caller.userId)) : refused.of(tool.name))
          .value++;
    },
    held: ({ gates }) => judged(gates),
    late: () => void lost.value++,
    cacheHit: () => void hit.value++,
    mcpPath: (path) => void taken[path].value++,
    rawRequest: (end) => void lanes[end].value++,
    spent(amounts) {
      // A counter never falls.
      for (const unit in amounts) budget.of(unit).value += Math.max(0, amounts[unit] ?? 0);
    },
    low: (limit) => void lows.of(limit).value++,
    decided: (waitedMs) => wait.observe(Math.max(0, waitedMs) / 1000),
    committed(count, ms) {
      commit.observe(ms / 1000);
      size.observe(count);
    },
    recorded: (action) => void events.of(action).value++,
    unrecorded: () => void failed.value++,
    close: () => own.close(),
  };
}

/**
 * A hidden tool must not differ from an invented name, not even here; nor may one that the gate was not asked about.
 */
function labelOf({ visible, gates, toolName }: Outcome): string {
  return visible && gates.length > 0 ? toolName : "unknown";
}

function gauges(sources: () => Sources | null): readonly Family[] {
  const of =
    <T>(read: (from: Sources) => T) =>
    () => {
      const from = sources();
      return from === null ? null : read(from);
    };
  const upstreams = (value: (upstream: UpstreamFigure) => number) => (from: Sources) =>
    from.upstreams().map((each): [string, number] => [each.name, value(each)]);
  return [
    readGauge(
      { name: "ostiary_executions_active", help: "Executions running or waiting on this server" },
      of((from) => from.active()),
    ),
    readGauge(
      { name: "ostiary_executions_running", help: "Executions that hold a place to run" },
      of((from) => from.running()),
    ),
    readGauge(
      { name: "ostiary_queue_waiting", help: "Executions that wait for a place to run" },
      of((from) => from.queued()),
    ),
    readGauge(
      { name: "ostiary_execution_slots", help: "Executions that may run at once on this server" },
      of((from) => from.slots),
    ),
    readGauge(
      { name: "ostiary_mode", help: "Operating mode: 1 for the one in force", labels: ["mode"] },
      of((from) => MODES.map((mode): [string, number] => [mode, Number(mode === from.mode())])),
    ),
    readGauge(
      {
        name: "ostiary_approvals_pending",
        help: "Calls that wait for a person, of all servers on the same store",
      },
      of((from) => from.approvalsPending()),
    ),
    readGauge(
      {
        name: "ostiary_outbox_pending",
        help: "Events that still have to be sent on, of all servers on the same store",
      },
      of((from) => from.outboxPending()),
    ),
    readGauge(
      { name: "ostiary_sandbox_ready", help: "Whether programs can be run in a box" },
      of((from) => from.sandboxReady()),
    ),
    readGauge(
      {
        name: "ostiary_upstream_up",
        help: "Whether an upstream server answers",
        labels: ["upstream"],
        max: MAX_IDENTITIES,
      },
      of(upstreams(({ up }) => Number(up))),
    ),
    readGauge(
      {
        name: "ostiary_breaker_state",
        help: "Breaker of an upstream server: 0 closed, 1 half open, 2 open",
        labels: ["upstream"],
        max: MAX_IDENTITIES,
      },
      of(upstreams(({ breaker }) => BREAKER[breaker])),
    ),
    readGauge(
      {
        name: "ostiary_tool_breaker_state",
        help: "Breaker of a native tool that is not closed: 1 half open, 2 open",
        labels: ["tool"],
        max: MAX_TOOLS,
      },
      of((from) =>
        from.tools().map(({ name, breaker }): [string, number] => [name, BREAKER[breaker]]),
      ),
    ),
  ];
}

/** The first `max` values count under their own name, all others together. */
function bounded(max: number): (value: string) => string {
  const seen = new Set<string>();
  return (value) => {
    if (seen.has(value)) return value;
    if (seen.size >= max) return "other";
    seen.add(value);
    return value;
  };
}
