// The page of `/metrics`. The four required names are exact, and no caller can create series.
import { MODES, type Caller, type Mode, type Outcome, type Verdict } from "../../contract/call.ts";
import type { Action } from "../../storage/store/store.ts";
import {
  CONTENT_TYPE,
  pageOf,
  readGauge,
  type Cell,
  type Family,
  type Spread,
} from "./exposition.ts";
import { callFamilies, gateFamilies, recordFamilies, serverFamilies } from "./metric-families.ts";
import { processFigures } from "./process-figures.ts";

export interface Metrics {
  readonly contentType: string;
  /** The families of the page, in its order. */
  readonly families: readonly Family[];
  /** The page of `/metrics`, classic text format. */
  text(): Promise<string>;
  /** From now on the page also has the present values of these. */
  watch(sources: GaugeSources): void;
  discovered(caller: Caller, count: number): void;
  ended(caller: Caller, outcome: Outcome): void;
  /** A call waits for a person: the gate has decided, but the call may not run yet. */
  held(outcome: Outcome): void;
  late(): void;
  /** An earlier answer was returned instead of a new run. */
  cacheHit(): void;
  mcpPath(path: "fast" | "sdk"): void;
  /** A request was answered by the raw HTTP reader, or its connection was passed on to node:http. */
  rawRequest(end: "answered" | "handed_over"): void;
  /** What an execution that ran used of its tenant's budget. */
  spent(amounts: Readonly<Record<string, number>>): void;
  /** A rate window or a budget came close to its limit. */
  low(limit: string): void;
  /** A person decided, or the time ran out. */
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

/** Values that are read with the page. Those that throw, are null or too slow are left out. */
export interface GaugeSources {
  readonly active: () => number;
  readonly running: () => number;
  readonly queued: () => number;
  readonly slots: number;
  readonly mode: () => Mode;
  readonly approvalsPending: () => Promise<number>;
  /** Events that still have to be sent on; 0 without a sink. */
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

const BREAKER = { closed: 0, half_open: 1, open: 2 } as const;
const MAX_IDENTITIES = 1_000;
const MAX_TOOLS = 2_000;

type ToolFigures = Record<"success" | "failed" | "cancelled" | "timeout", Cell> & {
  readonly name: string;
  seconds: Spread | null;
};
type StageFigures = Record<Verdict["verdict"], Cell> & {
  readonly stage: string;
  readonly seconds: Spread;
};

export function createMetrics(p: MetricsPowers): Metrics {
  const calls = callFamilies(p.identityLabels);
  const gate = gateFamilies();
  const record = recordFamilies();
  const server = serverFamilies();
  let sources: GaugeSources | null = null;
  const own = processFigures();
  const families: readonly Family[] = [
    ...Object.values(calls),
    ...Object.values(gate),
    ...Object.values(record),
    ...Object.values(server),
    ...gauges(() => sources),
    ...own.families,
  ];

  // What can be known beforehand starts at zero, so that the first of its kind is seen as a rise.
  server.build.of(p.version).value = 1;
  const [wait, commit, size, failed, lost, hit] = [
    gate.waits.of(),
    record.commits.of(),
    record.sizes.of(),
    record.failures.of(),
    server.late.of(),
    server.hits.of(),
  ];
  const taken = { fast: server.paths.of("fast"), sdk: server.paths.of("sdk") };
  const lanes = {
    answered: server.lane.of("answered"),
    handed_over: server.lane.of("handed_over"),
  };
  const countVerdicts = verdictCounter(p.stages, gate);
  const agents = bounded(MAX_IDENTITIES);
  const users = bounded(MAX_IDENTITIES);
  const toolOf = toolFigures(calls.total);

  return {
    contentType: CONTENT_TYPE,
    families,
    text: () => pageOf(families),
    watch: (found) => void (sources = found),
    discovered(caller, count) {
      const of = p.identityLabels
        ? calls.discovery.of(agents(caller.capsuleId ?? "none"))
        : calls.discovery.of();
      of.value = count;
    },
    ended(caller, outcome) {
      countVerdicts(outcome.gates);
      const label = labelOf(outcome);
      const tool = toolOf(label);
      const status = outcome.cancelReason === "timeout" ? "timeout" : outcome.status;
      if (status !== "pending" && status !== "running") tool[status].value++;
      if (outcome.dispatched)
        (tool.seconds ??= calls.duration.of(tool.name)).observe(outcome.latencyMs / 1000);
      const code = outcome.error?.code;
      if (code === "TOO_MANY_REQUESTS")
        for (const window of outcome.rate)
          if (window.remaining < 1) gate.limited.of(window.name).value++;
      if (code === "FORBIDDEN" || code === "NOT_FOUND")
        (p.identityLabels
          ? calls.refused.of(tool.name, users(caller.userId))
          : calls.refused.of(tool.name)
        ).value++;
    },
    held: ({ gates }) => countVerdicts(gates),
    late: () => void lost.value++,
    cacheHit: () => void hit.value++,
    mcpPath: (path) => void taken[path].value++,
    rawRequest: (end) => void lanes[end].value++,
    spent(amounts) {
      // A counter never decreases.
      for (const unit in amounts) gate.budget.of(unit).value += Math.max(0, amounts[unit] ?? 0);
    },
    low: (limit) => void gate.lows.of(limit).value++,
    decided: (waitedMs) => wait.observe(Math.max(0, waitedMs) / 1000),
    committed(count, ms) {
      commit.observe(ms / 1000);
      size.observe(count);
    },
    recorded: (action) => void record.events.of(action).value++,
    unrecorded: () => void failed.value++,
    close: () => own.close(),
  };
}

/** Counts the verdicts of a call and the time each took; every stage is on the page from the start. */
function verdictCounter(
  names: readonly string[],
  { stageSeconds, verdicts }: Pick<ReturnType<typeof gateFamilies>, "stageSeconds" | "verdicts">,
): (gates: readonly Verdict[]) => void {
  const stages = names.map((stage): StageFigures => ({
    stage,
    seconds: stageSeconds.of(stage),
    allow: verdicts.of(stage, "allow"),
    deny: verdicts.of(stage, "deny"),
    hold: verdicts.of(stage, "hold"),
  }));
  return (gates) => {
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
}

/** The cells of each tool. Tools beyond the bound share those of `other`. */
function toolFigures(
  total: ReturnType<typeof callFamilies>["total"],
): (name: string) => ToolFigures {
  const toolNames = bounded(MAX_TOOLS);
  const tools = new Map<string, ToolFigures>();
  const boundedOf = (wanted: string): ToolFigures => {
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
  // Nearly all calls are of tools that were called before.
  return (name) => tools.get(name) ?? boundedOf(name);
}

/**
 * A hidden tool must not differ from an invented name, not even here; nor may one that the gate has not decided about.
 */
function labelOf({ visible, gates, toolName }: Outcome): string {
  return visible && gates.length > 0 ? toolName : "unknown";
}

function gauges(sources: () => GaugeSources | null): readonly Family[] {
  const of =
    <T>(read: (from: GaugeSources) => T) =>
    () => {
      const from = sources();
      return from === null ? null : read(from);
    };
  const upstreams = (value: (upstream: UpstreamFigure) => number) => (from: GaugeSources) =>
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
