// Every setting there is. A key that is not here is refused; a key here without a reader is a defect.
import { z } from "zod";
import { browserConfig } from "../browser/browser.ts";
import { databasesConfig } from "../database/database.ts";
import { modelsConfig } from "../model/model.ts";
import { policyConfig } from "../policy/policy.ts";
import { relationsConfig } from "../relation/relation.ts";
import { searchConfig } from "../search/search.ts";
import { secretsConfig } from "../egress/secrets.ts";
import { stateConfig } from "../state/state.ts";
import { storeConfig } from "../store/store.ts";

/** `x-env` names the variable where it is not the derived OSTIARY_ one, `x-flag` the flag of `serve`. */
interface Extra {
  "x-env"?: string;
  "x-flag"?: string;
  /** JSON Schema's word for a secret: may be set, is never shown. */
  writeOnly?: true;
}

const about = (description: string, extra: Extra = {}) => ({ description, ...extra });
const whole = (min: number, max: number) => z.int().min(min).max(max);
const HOST_NAME = /^(\*|\[[0-9a-fA-F:.]+\]|[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?)$/;
/** What identity accepts as a credential: a minted key, or something else that is long enough. */
const ADMIN_KEY = /^(?:(?!ost_)[\x21-\x7e]{32,512}|ost_[a-z0-9]{1,16}_[0-9A-Za-z]{49})$/;

const server = z.strictObject({
  transport: z.enum(["http", "stdio"]).default("http").meta(about(
    "How `ostiary serve` is reached: over HTTP, or as one MCP session on stdin and stdout.", { "x-env": "MCP_TRANSPORT" })),
  host: z.string().min(1).default("127.0.0.1").meta(about(
    "Address to listen on. Anything but loopback needs authentication.", { "x-env": "MCP_HOST", "x-flag": "--host" })),
  port: whole(0, 65_535).default(3100).meta(about(
    "Port to listen on. When it is not set and taken, the next free one is used; 0 takes any.", { "x-env": "MCP_PORT", "x-flag": "--port" })),
  allowedHosts: z.array(z.string().regex(HOST_NAME, "expected a host name without scheme or port")).max(100).default([]).meta(about(
    "Further host names a request may name in its Host header; loopback names and the bound address always may.")),
  maxBodyBytes: whole(1024, 104_857_600).default(4_194_304).meta(about("Largest request body, in bytes.")),
  authEnabled: z.boolean().default(true).meta(about(
    "Off: requests without a credential act as the owner. Only possible on loopback.", { "x-env": "MCP_AUTH_ENABLED" })),
  sessionTimeoutSeconds: whole(10, 86_400).default(900).meta(about(
    "An MCP session without traffic ends after this many seconds.", { "x-env": "MCP_SESSION_TIMEOUT" })),
  fastPath: z.boolean().default(true).meta(about("Answer plain stateless MCP tools/call without the SDK.")),
  shutdownGraceSeconds: whole(0, 600).default(30).meta(about(
    "How long running executions may finish after SIGTERM before they are cancelled.")),
}); // prettier-ignore

const execution = z.strictObject({
  defaultTimeoutMs: whole(1000, 300_000).default(30_000).meta(about(
    "Time limit of an execution when neither caller nor tool names one, in ms.", { "x-env": "TOOL_EXECUTION_DEFAULT_TIMEOUT" })),
  maxTimeoutMs: whole(1000, 300_000).default(300_000).meta(about(
    "Longest time limit anyone may ask for, in ms.", { "x-env": "TOOL_EXECUTION_MAX_TIMEOUT" })),
  maxRunning: whole(1, 10_000).default(100).meta(about("Executions that run at once on this instance.")),
  maxQueued: whole(0, 100_000).default(1000).meta(about("Executions that may wait for a free place; more are answered 503.")),
  maxQueueWaitMs: whole(0, 600_000).default(60_000).meta(about("Longest wait for a free place, in ms.")),
}); // prettier-ignore

const approvals = z.strictObject({
  maxPendingPerCaller: whole(1, 100_000).default(20).meta(about("Calls of one caller that may wait for a person at a time.")),
  webhook: z.strictObject({
    url: z.string().regex(/^https?:\/\/\S+$/, "expected an http:// or https:// address").optional().meta(about(
      "Told of approvals that are asked for and decided, signed as Standard Webhooks say.")),
    secret: z.string().regex(/^whsec_[A-Za-z0-9+/]{32,88}={0,2}$/, "expected whsec_ and 24 to 64 bytes in base64").optional().meta(about(
      "Signs the messages.", { writeOnly: true })),
  }).prefault({}).meta(about("Messages to a program outside.")),
}); // prettier-ignore

const switchOf = (value: boolean, env: string, text: string) =>
  z.boolean().default(value).meta(about(text, { "x-env": env })); // prettier-ignore

export const configSchema = z.strictObject({
  dataDir: z.string().min(1).default("~/.ostiary").meta(about(
    "Folder of everything this installation keeps: keys, database, lock. Owned by one process at a time.", { "x-flag": "--data-dir" })),
  store: storeConfig.default("sqlite:ostiary.db").meta(about(storeConfig.description ?? "")),
  workspace: z.string().min(1).optional().meta(about(
    "Folder the file tools work in. Default: the folder the server was started in, or `<dataDir>/workspace` when that is a home or the root.")),
  workspacePerSession: z.boolean().default(false).meta(about(
    "Give every session a folder of its own below the workspace; calls without a session share one per user.")),
  governance: z.string().min(1).optional().meta(about(
    "Folder with tools.yaml, modes.yaml, plans.yaml, schema.zed and policies/ for the first start. Default: the one that comes with Ostiary.")),
  adminKey: z.string().regex(ADMIN_KEY, "expected 32 to 512 visible characters without spaces (or a whole ost_… key)").optional().meta(about(
    "Presets the administrator's key; otherwise one is made at first start and shown once.", { writeOnly: true })),
  server: server.prefault({}).meta(about("The listener and its doors.")),
  execution: execution.prefault({}).meta(about("Limits of executions.")),
  approvals: approvals.prefault({}).meta(about("Calls that a person must agree to.")),
  log: z.strictObject({
    level: z.enum(["debug", "info", "warn", "error", "silent"]).default("info").meta(about("Least severity that is logged (to stderr).")),
  }).prefault({}).meta(about("Logging.")),
  history: z.strictObject({
    memoryEntries: whole(0, 1_000_000).default(1000).meta(about(
      "Finished executions kept in memory; the store keeps them all.", { "x-env": "MAX_HISTORY_SIZE" })),
  }).prefault({}).meta(about("History.")),
  metrics: z.strictObject({
    identityLabels: z.boolean().default(false).meta(about("Put agent_id and user_id on the metrics of `/metrics`.")),
  }).prefault({}).meta(about("Metrics.")),
  state: stateConfig.default("memory").meta(about(stateConfig.description ?? "")),
  policy: policyConfig.default("embedded").meta(about(policyConfig.description ?? "")),
  policyPath: z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*(\/[A-Za-z_][A-Za-z0-9_]*)+$/, "expected a path like ostiary/tools/allow").default("ostiary/tools/allow").meta(about(
    "The rule that decides: package and name, with slashes.")),
  relations: relationsConfig.default("embedded").meta(about(relationsConfig.description ?? "")),
  sink: z.string().default("none").meta(about("Where audit events are sent on to: none, or kafka://…")),
  work: z.string().default("embedded").meta(about("Background work: embedded, or temporal://…")),
  rateLimit: z.strictObject({
    enabled: switchOf(true, "RATE_LIMIT_ENABLED", "Limit calls by user, category, tool, key and address. Off: only the operating mode's windows and throttled callers stay."),
    requestsPerMinute: whole(1, 1_000_000).optional().meta(about(
      "Calls per minute of a caller without a plan. Default: what plans.yaml says (100).", { "x-env": "RATE_LIMIT_REQUESTS_PER_MINUTE" })),
  }).prefault({}).meta(about("Rate limits.")),
  secrets: secretsConfig.default({}).meta(about(secretsConfig.description ?? "", { writeOnly: true })),
  search: z.strictObject({
    provider: searchConfig.provider.meta(about("Who answers web/search.")),
    url: searchConfig.url.meta(about("Address of the SearXNG instance; of the others where it is not their own.")),
    apiKey: searchConfig.apiKey.meta(about("Key of Brave Search or Tavily.", { writeOnly: true })),
  }).prefault({}).meta(about("Web search.")),
  models: modelsConfig.default({}).meta(about(modelsConfig.description ?? "", { writeOnly: true })),
  packages: z.strictObject({
    pip: z.url({ protocol: /^https?$/ }).default("https://pypi.org/simple").meta(about("Index that system/package_install takes packages of Python from. Its hosts must be allowed in the governance files.")),
    npm: z.url({ protocol: /^https?$/ }).default("https://registry.npmjs.org").meta(about("Registry that system/package_install takes packages of JavaScript from.")),
  }).prefault({}).meta(about("Where packages are installed from.")),
  databases: databasesConfig.default({}).meta(about(databasesConfig.description ?? "", { writeOnly: true })),
  browser: browserConfig.prefault({}).meta(about("The browser of the browser tools.")),
  tools: z.strictObject({
    whitelist: z.array(z.string().min(1)).max(10_000).default([]).meta(about(
      "Names of the only tools that may run; `*` means all.", { "x-env": "TOOL_WHITELIST" })),
    visibleEnv: z.array(z.string().min(1)).max(200).default(["LANG", "LC_ALL", "LC_CTYPE", "TZ", "TERM", "NODE_ENV"]).meta(about(
      "Environment variables that system/env may tell.")),
  }).prefault({}).meta(about("Tools.")),
  features: z.strictObject({
    mcpTools: switchOf(true, "FEATURE_MCP_TOOLS", "Registry and planner step."),
    toolsPolicy: switchOf(false, "FEATURE_TOOLS_POLICY", "Enforce the allow list even when it is empty."),
  }).prefault({}).meta(about("Switches.")),
  telemetry: z.strictObject({
    otlpEndpoint: z.string().optional().meta(about("Send traces there over OTLP.", { "x-env": "OTEL_EXPORTER_OTLP_ENDPOINT" })),
  }).prefault({}).meta(about("Tracing.")),
}); // prettier-ignore

/**
 * Settings whose feature does not exist yet. Any value but the one that describes what happens today is refused at
 * start: an ignored setting is worse than a missing one. Building the feature means deleting its row.
 */
export const NOT_AVAILABLE: readonly { key: string; only: unknown; feature: string }[] = [
  { key: "sink", only: "none", feature: "sending audit events to Kafka" },
  { key: "work", only: "embedded", feature: "background work on Temporal" },
  { key: "telemetry.otlpEndpoint", only: undefined, feature: "trace export over OTLP" },
];

export function configJsonSchema(): Record<string, unknown> {
  return { ...z.toJSONSchema(configSchema, { io: "input" }), title: "Ostiary configuration" };
}
