// Every requirement and decision with its state: done and proven by tests that name it, or open. `npm run requirements`
// prints the counts; requirements.test.ts keeps this page honest. Numbers never change meaning.

interface Common {
  /** R001 … or C1 … */
  readonly id: string;
  readonly section: string;
  /** In our words, short. */
  readonly text: string;
}

export interface Done extends Common {
  readonly state: "done";
  /** Files with a test whose name has the id. */
  readonly tests: readonly string[];
}

export interface Open extends Common {
  readonly state: "open";
  /** What is missing; required once a test names the id. */
  readonly why?: string;
}

export type Requirement = Done | Open;

type Row = Omit<Done, "section"> | Omit<Open, "section">;

const done = (id: string, text: string, ...tests: [string, ...string[]]): Row => ({
  id,
  text,
  state: "done",
  tests,
});
const open = (id: string, text: string, why?: string): Row => ({
  id,
  text,
  state: "open",
  ...(why === undefined ? {} : { why }),
});

const REGISTRY = "src/tools/registry.test.ts";
const RENDER = "src/tools/render.test.ts";
const ENGINE = "src/core/engine/engine.test.ts";
const RECORD = "src/core/record/record.test.ts";
const METRICS = "src/core/record/metrics.test.ts";
const IDENTITY = "src/core/identity/identity.test.ts";
const LEVEL = "src/core/gate/level.test.ts";
const INPUT = "src/core/gate/input.test.ts";
const ERRORS = "src/contract/errors.test.ts";
const CONFIG = "src/config/config.test.ts";
const LIFECYCLE = "test/e2e/lifecycle.test.ts";
const ANSWERS = "test/e2e/answers.test.ts";
const PLAN = "test/e2e/planner-step.test.ts";
const MULTIMODAL = "test/e2e/multimodal.test.ts";
const TRACING = "test/e2e/tracing.test.ts";
const EXECUTIONS = "test/e2e/executions.test.ts";
const HISTORY = "test/e2e/history.test.ts";
const TOOLS = "test/e2e/tools.test.ts";
const DOORS = "test/e2e/doors.test.ts";
const ADMIN = "test/e2e/admin.test.ts";
const GENESIS = "test/e2e/genesis.slow.test.ts";
const TOOL_DRAFTS = "test/e2e/tool-drafts.slow.test.ts";
const TABLE = "test/e2e/gate-table.test.ts";
const GOVERNANCE = "test/e2e/governance.test.ts";
const POLICIES = "test/e2e/policies.test.ts";
const MODE = "test/e2e/mode.test.ts";
const LIMITS = "test/e2e/limits.test.ts";
const PLANS_REAL = "test/e2e/plans.test.ts";
const APPROVALS = "test/e2e/approvals.test.ts";
const RELATION = "src/governance/relations/embedded.test.ts";
const RULES = "src/governance/rules/create.test.ts";
const PATHS = "src/governance/rules/arguments/paths.test.ts";
const CHAT = "test/fixtures/chat.suite.ts";
const RATES = "src/governance/limits/rates.test.ts";

const FIGURE = "a figure: measured by `npm run bench`, no test fails on it";

const SECTIONS: Record<string, readonly Row[]> = {
  "1.1 Registry and discovery": [
    done("R001", "One registry per process holds every usable tool", REGISTRY),
    done("R002", "Tools register at start; adding one never touches the engine", REGISTRY),
    done("R003", "Registration takes name, description, input schema, async handler", REGISTRY),
    done("R004", "A name has the form category/name and is checked", REGISTRY),
    done("R005", "Metadata: category, tags, version, required permissions, deprecation", REGISTRY),
    done("R006", "A duplicate name is refused", REGISTRY),
    done("R007", "Figures from registration on, event toolRegistered, unregister", REGISTRY, LIFECYCLE),
    done("R008", "A definition is checked on registration and never changes afterwards", REGISTRY),
    done("R009", "Stored capability record with all fields and three providers", "test/e2e/capability-records.test.ts", "src/storage/store/store.suite.ts"),
    done("R010", "Governance fields of a tool: risk, modes, approval, sandbox, timeout, hourly rate", "test/e2e/capability-records.test.ts"),
    done("R011", "Parameter record: name, type, description, required, default", RENDER),
    done("R012", "A definition renders as a function definition for a model", RENDER),
    done("R013", "Look-up by name; absent gives null", REGISTRY),
    done("R014", "List all tools with name, description, input schema", TOOLS),
    done("R015", "Filter by the ten categories and by governance class", "test/e2e/tools.test.ts"),
    done("R016", "Substring search over name and description, any case", REGISTRY),
    done("R017", "Filter by tags: every tag given must match", REGISTRY),
    done("R018", "Deprecated tools are left out unless asked for", REGISTRY),
    done("R019", "The list also groups tools by category", TOOLS),
    done("R020", "List the tools usable in an operating mode", "test/e2e/tools.test.ts"),
    done("R021", "Tool details with schema, own usage and tool metrics", TOOLS),
    done("R022", "Registry stats: tools, categories, invocations, success rate", REGISTRY, TOOLS),
    done("R023", "Tool and agent configuration lives in the database", "test/e2e/agent-records.test.ts", "test/e2e/models.test.ts", "test/e2e/models-at-run-time.test.ts", "test/e2e/agent-files.test.ts"),
    done("R024", "The registry is active only while mcp_tools is on", "src/core/gate/registry.test.ts"),
    done("R025", "Holds 200 tools and more, loads in under 100 ms (CI: bench registry --strict)", REGISTRY),
  ],
  "1.2 Gate, the visible part": [
    done("R030", "Discovery runs four ordered checks, all must pass", TABLE, ENGINE),
    done("R031", "A tool failing any of them is invisible", DOORS, "src/core/gate/registry.test.ts", "src/core/gate/capsule.test.ts"),
    done("R032", "Execution repeats the four checks; outside the set is not found", DOORS),
    done("R033", "Check 1: the capability is enabled", "src/core/gate/registry.test.ts", REGISTRY),
    done("R034", "Check 2: the capability is linked to the capsule", "src/core/gate/capsule.test.ts"),
    done("R035", "Check 3: the relation engine lets the user execute the tool", "src/core/gate/relationship.test.ts", "src/governance/relations/relation.suite.ts", "test/conformance/relations.test.ts"),
    done("R036", "Relation schema: owner and executor, execute is their union", RELATION),
    done("R037", "Check 4: policy on user, tool, action and tenant", "src/core/gate/policy.test.ts"),
    done("R038", "Policy denies by default; the starter rule asks enabled and role", "src/core/gate/policy.test.ts", "test/e2e/cli-policy.slow.test.ts"),
    done("R039", "Seeing is implied by discovery, executing is checked at run time", LIFECYCLE),
    done("R040", "A tool not on the allow list is blocked with a warning", "src/core/gate/allowlist.test.ts"),
  ],
  "1.3 Identity and chat sessions": [
    done("R045", "A session binds one capsule and adopts one persona", "test/e2e/session-parts.test.ts", "test/e2e/agent-records.test.ts"),
    done("R046", "A user has preferences and may open many sessions", "test/e2e/agent-records.test.ts", CHAT),
    done("R047", "Effective context is the intersection of user, capsule and persona", "test/e2e/agent-records.test.ts", "test/e2e/session-intersection.slow.test.ts"),
    done("R048", "A capsule owns capabilities and exactly one agent configuration", "test/e2e/agent-records.test.ts", "test/e2e/cli-agents.slow.test.ts"),
    done("R049", "The tenant reaches policy input, record and audit", "src/core/gate/policy.test.ts", LIFECYCLE),
    done("R050", "Every endpoint but health needs a credential", "test/e2e/access.test.ts", DOORS, IDENTITY, "test/e2e/bad-input.test.ts"),
    done("R051", "A user sees, cancels and counts only own executions", ENGINE, RECORD, HISTORY),
    done("R052", "Session and metadata are kept and handed to the handler with user and permissions", LIFECYCLE),
    done("R053", "A key must be active and hold the scope of the risk", LEVEL, IDENTITY, RATES),
    done("R054", "Session idle timeout is configurable, 900 s by default", LIFECYCLE, "src/server/mcp/sessions.test.ts"),
    done("R055", "Keys are kept as salted hash and prefix, shown once", "src/core/identity/keys.test.ts", ADMIN),
  ],
  "1.4 Permissions and risk": [
    done("R060", "Four levels: view_only, execute_basic, execute_advanced, admin", LEVEL),
    done("R061", "Risk decides the level needed", LEVEL),
    done("R062", "Risk by name for every tool of the catalogue", "test/e2e/catalogue.slow.test.ts"),
    done("R063", "A tool of unknown risk counts as dangerous", LEVEL),
    done("R064", "Permission is checked before every execution", DOORS, TABLE),
    done("R065", "A refusal is FORBIDDEN with a reason to act on", LEVEL),
    done("R066", "Refusals are logged with context and audited as denied", "test/e2e/call-log.slow.test.ts"),
    done("R067", "Admin role gives level admin, else the plan decides", IDENTITY),
    done("R068", "Check result: allowed, reason, level, risk word", "test/e2e/permissions.test.ts"),
    done("R069", "The permission service: level, context, check, limits, require, summary", "test/e2e/permissions.test.ts"),
    done("R070", "Special permissions for shell, package install and tool creation", LEVEL),
    done("R071", "No execution without permission, by several independent layers", DOORS, TABLE),
  ],
  "1.5 Modes, approvals, argument rules": [
    done("R075", "Five operating modes; each tool states where it may run", "src/core/gate/mode.test.ts", RULES),
    done("R076", "The current mode comes from one authority", "src/governance/modes/controller.test.ts", MODE),
    done("R077", "Per tool: allowed, approval-needed and forbidden modes", RULES, TABLE, "src/core/gate/mode.test.ts", "test/e2e/governance-keys.test.ts"),
    done("R078", "Exhausted disk or memory fails cleanly and degrades the mode", "src/governance/modes/sensors.test.ts", "test/e2e/after-failure.test.ts"),
    done("R079", "Tool failures feed a metric the mode authority watches", "src/governance/modes/sensors.test.ts"),
    done("R080", "Governance is loaded from files and enforced at run time", GOVERNANCE, "src/governance/rules/files/files.test.ts"),
    done("R085", "Where a rule asks for it, the call pauses for a human", DOORS, APPROVALS, "src/core/gate/approval.test.ts"),
    done("R086", "Not granted means denied, with its text", APPROVALS, "src/governance/approvals/inbox.test.ts", ENGINE),
    done("R087", "The approver sees tool and masked arguments", APPROVALS, "src/governance/approvals/approval.test.ts"),
    done("R088", "Checks have a fixed order", "src/core/gate/stage.test.ts"),
    done("R089", "A tool by which an agent asks the user a question", "test/e2e/catalogue.slow.test.ts"),
    done("R095", "Input is checked against the tool's JSON Schema before running", INPUT),
    done("R096", "Path allow and deny globs with $HOME", PATHS, GOVERNANCE, "src/core/gate/arguments.test.ts"),
    done("R097", "Command allow list for shell tools", "src/governance/rules/arguments/commands.test.ts", GOVERNANCE),
    done("R098", "Size limits", PATHS),
    done("R099", "These rules are governance configuration, per tool", PATHS, "src/governance/rules/files/files.test.ts", "src/core/gate/arguments.test.ts"),
    done("R100", "A refusal names value and rule; bad arguments come with a suggestion", INPUT, "src/core/gate/arguments.test.ts", PATHS),
    open("R101", "Results are checked after execution: schema, size, secrets", "schema and secrets; sizes tool by tool"),
    done("R102", "Every API input has a schema", LIFECYCLE),
  ],
  "1.6 Execution lifecycle, timeouts, cancellation": [
    done("R110", "Unique id exec_{timestamp}_{random}, returned at once", EXECUTIONS, "src/util/util.test.ts"),
    done("R111", "One abort controller per execution", LIFECYCLE),
    done("R112", "A record from the start; a refused call is recorded too", ENGINE, LIFECYCLE),
    done("R113", "Execution record with all its fields", "test/e2e/models.test.ts"),
    done("R114", "Statuses pending, running, success, failed, cancelled", LIFECYCLE),
    done("R115", "The handler runs with validated input and context", ENGINE, LIFECYCLE),
    done("R116", "The record is updated on every end, with its duration", ENGINE),
    done("R117", "Sequence with sandbox before and after the run", "test/e2e/shell.test.ts"),
    done("R118", "Standard result: tool, success, output, error, latency, metadata", ENGINE, ANSWERS),
    done("R119", "Inside the process a failure is a value", LIFECYCLE),
    done("R120", "Over the API a failure is a typed error", EXECUTIONS),
    done("R121", "Five failure kinds", "test/e2e/after-failure.test.ts"),
    done("R122", "After a failure the loop logs, retries, goes on or stops", "src/agents/after-failure.test.ts", CHAT),
    done("R123", "Tool results go back into the model's context", CHAT),
    done("R124", "Active executions in memory, 100 at once per instance", ENGINE, EXECUTIONS),
    done("R125", "Stale executions are cleaned up", RECORD),
    done("R126", "Events for registered and executed are emitted", REGISTRY, "test/e2e/events.test.ts"),
    done("R127", "Tool calls of one turn run in sequence", CHAT),
    done("R128", "Status by id; active has running time; unknown is not found", EXECUTIONS),
    done("R129", "Ids never collide; every change of state is atomic", LIFECYCLE, "src/util/util.test.ts"),
    done("R135", "A caller may set 1,000 to 300,000 ms", ENGINE, "test/e2e/bad-input.test.ts"),
    done("R136", "The timeout used is on the record", LIFECYCLE),
    done("R137", "The run races the deadline; expiry fires the signal", ENGINE),
    done("R138", "30 s when nobody names a timeout", LIFECYCLE),
    done("R139", "The timeout message states the duration that applied", ENGINE, ANSWERS, "src/core/run/deadline.test.ts"),
    done("R140", "Status after a timeout is cancelled", ENGINE, EXECUTIONS),
    done("R141", "On timeout the partial result is recorded and returned, at every door", ENGINE, LIFECYCLE, ANSWERS, "test/e2e/partial-results.test.ts"),
    done("R142", "A timed-out subprocess and its children are killed", "src/tools/shell/exec.test.ts"),
    done("R143", "Cancel: running only, owner only, signal, status, record", ENGINE),
    open("R144", "Cancel reaches the handler in 100 ms, 99 % succeed", FIGURE),
  ],
  "1.7 Sandbox, providers, retry and circuit breaker": [
    done("R150", "A tool that needs a sandbox runs in a confined process", "src/tools/shell/exec.test.ts"),
    done("R151", "File limits and the timeout kill are enforced", "src/tools/shell/exec.test.ts"),
    done("R152", "The sandbox is set up before and torn down after, on every path", "src/reach/sandbox/bubblewrap/bombs.slow.test.ts"),
    done("R153", "A shell command is an argument list with stdout, stderr, exit code", "src/tools/shell/exec.test.ts"),
    done("R154", "Resource limits per execution", "src/tools/shell/exec.test.ts"),
    open("R155", "Containers and gVisor as later choices"),
    done("R160", "Route by provider: upstream, native, else unsupported", "src/core/gate/registry.test.ts"),
    done("R161", "Upstream MCP servers are configured by name", "test/e2e/federation.slow.test.ts"),
    done("R162", "External abilities: web search, document parsing, calculator", "test/e2e/catalogue.slow.test.ts"),
    open("R163", "Library hints of the sources", "not binding; the powers they speak of exist"),
    done("R165", "An execution error feeds a circuit breaker", "src/reach/upstream/resilience.test.ts", "test/e2e/bad-neighbours.test.ts", "test/e2e/after-failure.test.ts"),
    done("R166", "One retry for transient errors", "src/reach/http-api/call.test.ts", "src/core/run/resilient.test.ts", "test/e2e/after-failure.test.ts"),
    done("R167", "One failing tool leaves the rest working", LIFECYCLE),
  ],
  "1.8 Rate limits, budgets and plans": [
    done("R170", "Rate limits per user, by plan", RATES, LIMITS),
    done("R171", "Calls are counted per window, 100 a minute by default", RATES, PLANS_REAL),
    done("R172", "Over the limit is 429, without exception", "src/core/gate/rate.test.ts", LIMITS),
    done("R173", "Rate-limit headers", LIMITS, "src/server/http/problem.test.ts"),
    done("R174", "Limits may differ per category", RATES),
    done("R175", "Hourly limit per tool", RATES),
    done("R176", "Fallback by address", RATES, LIMITS, PLANS_REAL, "src/server/http/address-throttle.test.ts"),
    done("R177", "May be switched off by environment", RATES),
    done("R180", "Every execution passes a budget check", LIMITS, "src/governance/limits/budgets.test.ts"),
    done("R181", "Monthly tool calls by plan", LIMITS, "src/governance/limits/budgets.test.ts"),
    done("R182", "Telemetry feeds billing and usage views", LIMITS),
  ],
  "1.9 History, metrics, audit, tracing": [
    done("R185", "Finished executions are kept; a window in memory, oldest leave first", RECORD),
    done("R186", "Filters by tool, category, status, dates; limit and offset", HISTORY, RECORD),
    done("R187", "Figures over the filtered set", HISTORY, RECORD),
    done("R188", "Breakdown by category, use per tool, top ten", TOOLS, HISTORY),
    done("R189", "Per tool: total, successful, failed, average, last use", LIFECYCLE, HISTORY),
    done("R190", "Active list with tool, category, running time and count", EXECUTIONS),
    done("R191", "The four Prometheus names", METRICS, "test/e2e/dashboard.test.ts"),
    done("R195", "Every execution is audited with tool, user and tenant", LIFECYCLE),
    done("R196", "Events for start, complete and denial", LIFECYCLE),
    done("R197", "User and agent messages are audited", CHAT),
    done("R198", "Audit goes to the database or Kafka; nothing is lost", "src/storage/store/store.suite.ts", "src/storage/events/relay.test.ts", "test/services/sink-kafka-app.test.ts"),
    done("R199", "Audit is complete; sensitive values are masked", RECORD, HISTORY),
    done("R205", "One trace id through API, agent, tool and audit", TRACING),
    done("R206", "Span exec_tool wraps the execution", TRACING),
    done("R207", "A new span id per call; both ids on every record", LIFECYCLE, TRACING),
    done("R208", "Log events for started, completed, failed, blocked", "test/e2e/call-log.slow.test.ts"),
    done("R209", "A latency figure per call", LIFECYCLE, METRICS),
    done("R210", "Structured logs with execution context, live monitoring", "test/e2e/call-log.slow.test.ts"),
  ],
  "1.10 API": [
    done("R215", "tools.listTools", TOOLS),
    done("R216", "tools.executeTool", EXECUTIONS),
    done("R217", "tools.getToolStatus", EXECUTIONS),
    done("R218", "tools.cancelToolExecution", EXECUTIONS),
    done("R219", "tools.getToolHistory", HISTORY),
    done("R220", "tools.getToolMetrics", TOOLS),
    done("R221", "tools.getActiveExecutions", EXECUTIONS),
    done("R222", "tools.getToolDetails", "test/e2e/tools.test.ts"),
    done("R223", "POST /api/chat", "test/e2e/session-parts.test.ts"),
  ],
  "1.11 MCP, chat, genesis, multimodal, planner, flags": [
    done("R230", "Client of upstream MCP servers", "test/e2e/federation.slow.test.ts"),
    done("R231", "The engine is an MCP server offering its tools", "test/e2e/mcp-sdk-client.test.ts"),
    done("R232", "Transport, host, port and authentication by environment", LIFECYCLE),
    done("R233", "Input and output schemas conform to MCP", "src/server/mcp/listing.test.ts"),
    done("R235", "Simple chat turn", CHAT),
    done("R236", "Discovery after model selection, execution after the model call", CHAT),
    done("R237", "The agent can name only permitted tools", CHAT),
    done("R238", "Tool calls are read, checked against the set, run, given back", CHAT),
    done("R239", "Not found and permission errors go back to the model", CHAT),
    done("R245", "Genesis: three gated steps", GENESIS),
    done("R246", "Each genesis step is checked on its own", GENESIS),
    done(
      "R247",
      "A new capability is pending until a person links it",
      ...[GENESIS, TOOL_DRAFTS, "test/console/drafts.test.ts"],
    ),
    done("R250", "A capsule names its models", MULTIMODAL),
    done("R251", "Multimodal runner", MULTIMODAL),
    done("R252", "Multimodal calls have trace and audit like any tool", MULTIMODAL),
    done("R255", "The pipeline's tool step runs the plan's tools in order", PLAN),
    done("R256", "Flag off or empty plan: step skipped, logged", PLAN),
    done("R257", "Each entry is appended to the state's results", PLAN),
    done("R258", "One failing tool does not stop the others of a plan", PLAN),
    done("R259", "Input per plan entry", PLAN),
    done("R260", "mcp_tools switches registry and planner step", PLAN),
    done("R261", "tools_policy switches the allow list", "src/core/gate/allowlist.test.ts"),
  ],
  "1.12 Tools and figures": [
    done("R265", "50 tools and more in ten categories", "test/e2e/catalogue.slow.test.ts"),
    done("R266", "21 named tools with risk", "test/e2e/catalogue.slow.test.ts"),
    done("R267", "First set of seven tools", "test/e2e/catalogue.slow.test.ts", "test/e2e/machine-tools.slow.test.ts"),
    done("R268", "Second set of tools", "test/e2e/catalogue.slow.test.ts"),
    done("R269", "Web search, document parser, calculator", "test/e2e/catalogue.slow.test.ts", "test/e2e/machine-tools.slow.test.ts"),
    done("R270", "Web search goes through the egress rules", "test/e2e/catalogue.slow.test.ts"),
    done("R271", "Three of the first set work end to end", "test/e2e/catalogue.slow.test.ts"),
    open("R275", "Seven latency targets", FIGURE),
    open("R276", "API p95, execution p95, finding, propagation", FIGURE),
    open("R277", "Success, timeouts, cancels, uptime, integrity", FIGURE),
    open("R278", "100 concurrent executions; scales horizontally", "the cap and all limits hold over several instances; scaling is not measured"),
    open("R279", "Under 50 MB per execution", FIGURE),
    done("R280", "Strict typing, separated concerns, documented API, migration path", "src/imports.test.ts", "test/e2e/docs.test.ts", LIFECYCLE),
    open("R281", "Stacks named in the sources bind nobody", "nothing to prove by itself; decided by C43"),
  ],
  "1.13 Environment and codes": [
    done("R285", "The codes with status and reasons", "src/contract/errors.test.ts"),
    done("R286", "Class names of the sources map to codes", ERRORS, ANSWERS),
    done("R287", "Message texts kept from the sources", "test/e2e/bad-input.test.ts", INPUT, ENGINE, "src/core/gate/allowlist.test.ts"),
    done("R288", "A used-up budget is 402", LIMITS),
    done("R290", "MCP_TRANSPORT, MCP_HOST, MCP_PORT, MCP_AUTH_ENABLED, MCP_SESSION_TIMEOUT", CONFIG),
    done("R291", "RATE_LIMIT_ENABLED and the default window", CONFIG, RATES, PLANS_REAL),
    done("R292", "Default and longest timeout, entries in memory", CONFIG),
    done("R293", "TOOL_WHITELIST", CONFIG, "src/governance/rules/allowlist.test.ts"),
    done("R294", "Secrets of upstream servers by an environment of their own", "src/reach/upstream/credentials/credentials.test.ts"),
  ],
  "1.14 Tests and console": [
    open("R295", "Coverage of 80 % and more", "held for engine, gate, identity and record, not overall"),
    done("R296", "At least the shape of the sources' test set", PLAN),
    done("R297", "End to end from orchestrator to result with telemetry", "test/e2e/orchestrator.test.ts"),
    open("R298", "The acceptance lists", "several points wait for their parts"),
    done("R300", "A browser client on typed tRPC", "test/console/frame.test.ts"),
    done("R301", "Approval questions are answered in the console", "test/console/approvals.test.ts"),
    done("R302", "The display name is what people read", "test/console/tools.test.ts"),
    done("R303", "Monitoring dashboards work", "test/console/figures.test.ts"),
    done("R304", "Alert rules ship beside the dashboards", "test/e2e/dashboard.test.ts"),
  ],
  "3 Decisions": [
    done("C1", "category/name; category_name on the wire; aliases; risk is a field", REGISTRY),
    done("C2", "Refuse a duplicate; replacing is an explicit, audited act", TOOL_DRAFTS),
    done("C3", "Risk is safe, moderate, dangerous; low, medium, high are synonyms", "src/governance/rules/files/files.test.ts", "test/e2e/servers.test.ts"),
    done("C4", "Category and governance class are two fields", REGISTRY),
    done("C5", "The database decides; governance files are a versioned import", GOVERNANCE, POLICIES, "src/governance/documents/rules-document.test.ts", "src/governance/documents/documents.test.ts", "src/governance/rules/files/files.test.ts", "test/e2e/agent-files.test.ts"),
    done("C6", "Deny by default; when the allow list binds", "src/core/gate/allowlist.test.ts", "src/governance/rules/allowlist.test.ts", "src/app/health.test.ts", "src/core/identity/bootstrap.test.ts"),
    done("C7", "Risk per tool from the appendix; egress rules bind all network tools", "test/e2e/catalogue.slow.test.ts"),
    open("C8", "Four plans, their levels, overrides", "levels by plan and key; no override per tenant"),
    done("C9", "tool:package_manager:install, with its alias", LEVEL),
    done("C10", "The order of the twelve stages", "src/core/gate/stage.test.ts", "src/core/gate/approval.test.ts"),
    done("C11", "Resolve first, forbidden wins, then allowed, checked again when open", "src/core/run/powers/files.test.ts"),
    done("C12", "Ids, wait:false and held calls", ENGINE, EXECUTIONS, APPROVALS),
    done("C13", "Statuses; timeouts count as failures, users' cancels do not", LIFECYCLE),
    done("C14", "One result, mapped for API and planner", PLAN),
    done("C15", "Values inside, typed errors outside, isError over MCP", EXECUTIONS),
    done("C16", "Calls of a turn in order; parallel reads by capsule", CHAT),
    done("C17", "Deadline: caller, tool, upstream, 30 s; clamped", "test/e2e/servers.test.ts", "test/e2e/shell.test.ts"),
    done("C18", "External tools are hidden; administrators get UNSUPPORTED_PROVIDER", "src/core/gate/registry.test.ts"),
    done("C19", "Several rate windows, all must pass", RATES, RULES, "src/storage/state/state.suite.ts"),
    done("C20", "Executions in the store, audit apart, 90 days of history", "test/e2e/audit.slow.test.ts"),
    done("C21", "Metric names and bounded labels", METRICS),
    done("C22", "Phases of a turn are named, not numbered", CHAT),
    open("C23", "NOT_FOUND for all that is not visible, in the same words", "the same words and engines for all four stages; timing is not tested"),
    done("C24", "Plan entries are name and input", PLAN),
    open("C25", "Coverage: 80 % overall, all branches of the deciding parts", "branches of gate, arguments, limits, approval, engine, identity, record are held; not overall"),
    done("C26", "Port 3100 on 127.0.0.1; no public bind without authentication", LIFECYCLE),
    done("C27", "Audit actions and log events", CHAT),
    done("C28", "Ten categories, browser included", REGISTRY),
    done("C29", "What runs in LOCKDOWN", TABLE, "src/core/gate/mode.test.ts", RATES, RULES),
    done("C30", "mcp_tools ships on; what off means", "src/core/gate/registry.test.ts", PLAN),
    done("C31", "Permission strings as relation names", LEVEL),
    done("C32", "Policy path, probe, view and execute", "src/core/gate/policy.test.ts", "src/governance/policy/document.test.ts", "src/governance/policy/policy.suite.ts"),
    done("C33", "Running from the start, pending while held or queued, refused is failed", LIFECYCLE),
    done("C34", "No sandbox, no run", "src/tools/shell/exec.test.ts"),
    done("C35", "One rule per tool and mode, computed at load", RULES, TABLE),
    done("C36", "Schemas are JSON Schema 2020-12, bounded, without remote references", "src/reach/upstream/definitions/definitions.test.ts"),
    done("C37", "402 for budgets, 429 for rates", LIMITS, "src/core/gate/budget.test.ts", ENGINE),
    done("C38", "Reserve before approval, settle after", LIMITS, ENGINE, "src/governance/limits/budgets.test.ts", "src/governance/limits/amounts.test.ts"),
    done("C39", "Approvals expire after 600 s; never by the requester", APPROVALS, "src/governance/approvals/inbox.test.ts", ENGINE, RULES, "src/governance/rules/files/files.test.ts"),
    done("C40", "Retry once, only where safe", "test/e2e/bad-neighbours.test.ts"),
    done("C41", "Tools made by agents stay pending", GENESIS, TOOL_DRAFTS),
    done("C42", "Shell and package install are off for all but admin", LEVEL, RELATION),
    done("C43", "Kysely, Zod, tRPC 11; the console uses the public API alone", "test/console/frame.test.ts"),
    done("C44", "User ids are text; tRPC without transformer, ISO times", LIFECYCLE),
    done("C45", "History by all five statuses; active counts own, administrators see all", HISTORY, TOOLS),
    done("C46", "A dependency that is down denies; Kafka down keeps the events, and the call goes on", "test/services/fail-modes.test.ts", "src/storage/events/relay.test.ts", "test/services/sink-kafka-app.test.ts"),
    done("C47", "Invisible stays invisible in the console; visible but barred is greyed", "test/console/tools.test.ts"),
    open("C48", "95 % success, 200 tools as floor, measured at 1,000", "capacity holds; the success rate is a figure of operation"),
    done("C49", "The same codes and reasons on every surface", DOORS),
    done("C50", "A caller's capsule is its key's, else the tenant's default", IDENTITY, ADMIN),
    done("C51", "A limit and its counter belong to the same owner", PLANS_REAL, RATES, "src/governance/limits/budgets.test.ts"),
    done("C52", "On an installation with one person that person may agree through another channel", "test/e2e/self-approval.test.ts", "src/storage/store/suites/approvals.suite.ts"),
    done("C53", "What waits or is scheduled carries its whole caller and the pin of its definition", "test/e2e/narrowing.test.ts", "test/e2e/dead-run.test.ts"),
    done("C54", "The record keeps 64 KiB of arguments and of results, then size, hash and beginning", "test/e2e/record-size.test.ts"),
    done("C55", "Content from outside taints the session that read it", "test/e2e/taint.test.ts", "src/governance/rules/taint.test.ts", "src/contract/taint.test.ts"),
  ],
  "4 Beyond the sources": [
    open("R310", "What the first source left out of its first release"),
    open("R311", "Its accepted limits are lifted", "executions outlive a restart and instances share a store; not measured"),
    open("R312", "Open questions of the fourth source"),
    open("R313", "Future work of the fourth source"),
    open("R314", "Next steps of the third source"),
  ],
}; // prettier-ignore

export const REQUIREMENTS: readonly Requirement[] = Object.entries(SECTIONS).flatMap(
  ([section, rows]) => rows.map((row): Requirement => ({ ...row, section })),
);
