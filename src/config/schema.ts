// Every setting there is. A key that is not here is refused; a key here without a reader is a defect.
import { isIP } from "node:net";
import { z } from "zod";
import { browserConfig } from "../reach/browser/browser.ts";
import { databasesConfig } from "../reach/databases/database.ts";
import { modelsConfig } from "../reach/models/config.ts";
import { policyConfig } from "../governance/policy/policy.ts";
import { relationsConfig } from "../governance/relations/relation.ts";
import { searchConfig } from "../reach/web-search/web-search.ts";
import { secretsConfig } from "../reach/egress/secrets.ts";
import { sinkConfig } from "../storage/events/sink.ts";
import { stateConfig } from "../storage/state/state.ts";
import { storeConfig } from "../storage/store/store.ts";
import { SAMPLERS } from "../telemetry/samplers.ts";
import { mcpServersConfig } from "../reach/upstream/config.ts";

/** `x-env` names the variable where it is not the derived OSTIARY_ one, `x-flag` the flag of `serve`. */
interface Extra {
  "x-env"?: string;
  "x-flag"?: string;
  /** JSON Schema's annotation for a secret: may be set, is never shown. */
  writeOnly?: true;
}

const about = (description: string, extra: Extra = {}) => ({ description, ...extra });
const whole = (min: number, max: number) => z.int().min(min).max(max);
const HOST_NAME = /^(\*|\[[0-9a-fA-F:.]+\]|[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?)$/;
/** Where people and clients reach it: nothing but scheme, host and port. */
const ORIGIN =
  /^https?:\/\/(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?)(:\d{1,5})?$/;
const isNetwork = (text: string): boolean => {
  const [, address = "", bits] = /^([^/]+)(?:\/(\d{1,3}))?$/.exec(text) ?? [];
  const family = isIP(address);
  return family !== 0 && (bits === undefined || Number(bits) <= (family === 6 ? 128 : 32));
};
/** What identity accepts as a credential: a minted key, or something else that is long enough. */
const ADMIN_KEY = /^(?:(?!ost_)[\x21-\x7e]{32,512}|ost_[a-z0-9]{1,16}_[0-9A-Za-z]{49})$/;

const server = z.strictObject({
  transport: z
    .enum(["http", "stdio"])
    .default("http")
    .meta(
      about(
        "How `ostiary serve` is reached: over HTTP, or as one MCP session on stdin and stdout.",
        { "x-env": "MCP_TRANSPORT" },
      ),
    ),
  host: z
    .string()
    .min(1)
    .default("127.0.0.1")
    .meta(
      about("Address to listen on. Anything but loopback needs authentication.", {
        "x-env": "MCP_HOST",
        "x-flag": "--host",
      }),
    ),
  port: whole(0, 65_535)
    .default(3100)
    .meta(
      about(
        "Port to listen on. When it is not set and taken, the next free one is used; 0 takes any.",
        { "x-env": "MCP_PORT", "x-flag": "--port" },
      ),
    ),
  allowedHosts: z
    .array(z.string().regex(HOST_NAME, "expected a host name without scheme or port"))
    .max(100)
    .default([])
    .meta(
      about(
        "Further host names a request may name in its Host header; loopback names and the bound address always may.",
      ),
    ),
  publicUrl: z
    .string()
    .regex(ORIGIN, "expected an address such as https://tools.example.com, without a path")
    .optional()
    .meta(
      about(
        "Where people and clients reach the server through a proxy. Links, OAuth addresses and cookies follow it, and its host name may be named in the Host header.",
      ),
    ),
  trustedProxies: z
    .array(z.string().refine(isNetwork, "expected an IP address or a network such as 10.0.0.0/8"))
    .max(100)
    .default([])
    .meta(
      about(
        "Addresses and networks of proxies whose X-Forwarded-For names the client. From any other address that header is ignored.",
      ),
    ),
  maxBodyBytes: whole(1024, 104_857_600)
    .default(4_194_304)
    .meta(about("Largest request body, in bytes.")),
  maxBodiesBytes: whole(1024, 17_179_869_184)
    .default(134_217_728)
    .meta(
      about(
        "Bytes of large request bodies (over 64 KiB) that are worked on at a time; more are answered 503. One caller has a quarter of it.",
      ),
    ),
  maxStreamsPerCaller: whole(1, 10_000)
    .default(16)
    .meta(about("Event streams that one key may have open at a time; more are answered 429.")),
  maxStreams: whole(1, 100_000).default(1000).meta(about("Event streams open at a time in all.")),
  authEnabled: z
    .boolean()
    .default(true)
    .meta(
      about("Off: requests without a credential act as the owner. Only possible on loopback.", {
        "x-env": "MCP_AUTH_ENABLED",
      }),
    ),
  sessionTimeoutSeconds: whole(10, 86_400)
    .default(900)
    .meta(
      about("An MCP session without traffic ends after this many seconds.", {
        "x-env": "MCP_SESSION_TIMEOUT",
      }),
    ),
  fastPath: z
    .boolean()
    .default(true)
    .meta(about("Answer plain stateless MCP tools/call without the SDK.")),
  shutdownGraceSeconds: whole(0, 600)
    .default(30)
    .meta(about("How long running executions may finish after SIGTERM before they are cancelled.")),
});

const execution = z.strictObject({
  defaultTimeoutMs: whole(1000, 300_000)
    .default(30_000)
    .meta(
      about("Time limit of an execution when neither caller nor tool names one, in ms.", {
        "x-env": "TOOL_EXECUTION_DEFAULT_TIMEOUT",
      }),
    ),
  maxTimeoutMs: whole(1000, 300_000)
    .default(300_000)
    .meta(
      about("Longest time limit anyone may ask for, in ms.", {
        "x-env": "TOOL_EXECUTION_MAX_TIMEOUT",
      }),
    ),
  maxRunning: whole(1, 10_000)
    .default(100)
    .meta(about("Executions that run at once on this instance.")),
  maxQueued: whole(0, 100_000)
    .default(1000)
    .meta(about("Executions that may wait for a free place; more are answered 503.")),
  maxQueueWaitMs: whole(0, 600_000)
    .default(60_000)
    .meta(about("Longest wait for a free place, in ms.")),
  cacheSeconds: whole(0, 86_400)
    .default(60)
    .meta(
      about(
        "How long the answer of a tool that is cacheable and read-only may be given again to the same caller; 0: never.",
      ),
    ),
});

const approvals = z.strictObject({
  maxPendingPerCaller: whole(1, 100_000)
    .default(20)
    .meta(about("Calls of one caller that may wait for a person at a time.")),
  webhook: z
    .strictObject({
      url: z
        .string()
        .regex(/^https?:\/\/\S+$/, "expected an http:// or https:// address")
        .optional()
        .meta(
          about(
            "Receives approvals that are requested and decided, signed by the Standard Webhooks specification: a webhook of its own, at any address.",
          ),
        ),
      secret: z
        .string()
        .regex(/^whsec_[A-Za-z0-9+/]{32,88}={0,2}$/, "expected whsec_ and 24 to 64 bytes in base64")
        .optional()
        .meta(about("Signs the messages.", { writeOnly: true })),
    })
    .prefault({})
    .meta(about("Messages to a program outside.")),
});

const webhooks = z.strictObject({
  privateHosts: z
    .array(
      z
        .string()
        .regex(
          /^(\[[0-9a-f:.]+\]|[a-z0-9]([a-z0-9.-]*[a-z0-9])?):\d{1,5}$/,
          "expected host:port in lower case, e.g. hooks.internal:8443",
        ),
    )
    .max(100)
    .default([])
    .meta(
      about(
        "Private places, as host:port, that webhooks may be at, also over http. All others must be public and https. What `approvals.webhook.url` names needs no entry.",
      ),
    ),
  retryWaits: z
    .array(z.string().regex(/^\d{1,8}(ms|s|m|h)$/, "expected a wait such as 30s, 10m or 5h"))
    .max(20)
    .default(["5s", "30s", "2m", "10m", "1h", "5h", "24h"])
    .meta(about("Waits between attempts to deliver a message; after the last one it is given up.")),
  disableAfterDays: whole(1, 365)
    .default(5)
    .meta(about("A webhook that has taken nothing for so many days is switched off.")),
});

const switchOf = (value: boolean, env: string, text: string) =>
  z
    .boolean()
    .default(value)
    .meta(about(text, { "x-env": env }));

/** As the OTEL_ variables have it. */
const pairs = z
  .string()
  .max(8_192)
  .regex(
    /^\s*[^=,\s]+\s*=(?:[^%,]|%[0-9A-Fa-f]{2})*(?:,\s*[^=,\s]+\s*=(?:[^%,]|%[0-9A-Fa-f]{2})*)*$/,
    "expected name=value pairs with commas between them, percent-encoded",
  );

const telemetry = z.strictObject({
  otlp: z
    .strictObject({
      endpoint: z
        .url({ protocol: /^https?$/ })
        .optional()
        .meta(
          about(
            "Send traces to this collector: OTLP over HTTP, protobuf, at `<endpoint>/v1/traces` and `/v1/metrics`. Nothing is sent, and nothing loaded, while it is not set.",
            { "x-env": "OTEL_EXPORTER_OTLP_ENDPOINT" },
          ),
        ),
      headers: pairs.optional().meta(
        about("Headers for the collector, such as its key: `name=value,name=value`.", {
          "x-env": "OTEL_EXPORTER_OTLP_HEADERS",
          writeOnly: true,
        }),
      ),
      delayMs: whole(10, 600_000)
        .default(5000)
        .meta(
          about("Longest wait before finished spans are sent, in ms.", {
            "x-env": "OTEL_BSP_SCHEDULE_DELAY",
          }),
        ),
      metricsIntervalMs: whole(100, 3_600_000)
        .default(60_000)
        .meta(
          about("How often durations are sent, in ms.", { "x-env": "OTEL_METRIC_EXPORT_INTERVAL" }),
        ),
    })
    .prefault({})
    .meta(about("The collector.")),
  serviceName: z
    .string()
    .min(1)
    .max(256)
    .default("ostiary")
    .meta(about("Name of this service in traces.", { "x-env": "OTEL_SERVICE_NAME" })),
  resourceAttributes: pairs.optional().meta(
    about("What traces say of this installation: `name=value,name=value`.", {
      "x-env": "OTEL_RESOURCE_ATTRIBUTES",
    }),
  ),
  sampler: z
    .enum(SAMPLERS)
    .default("parentbased_always_on")
    .meta(
      about(
        "Which traces are recorded; parentbased: what the caller's traceparent says, if there is one.",
        { "x-env": "OTEL_TRACES_SAMPLER" },
      ),
    ),
  samplerArg: z
    .string()
    .regex(/^(?:0?\.\d{1,9}|[01](?:\.0{1,9})?)$/, "expected a ratio from 0 to 1")
    .optional()
    .meta(
      about("The ratio of the traceidratio samplers. Default: 1.", {
        "x-env": "OTEL_TRACES_SAMPLER_ARG",
      }),
    ),
  content: z
    .boolean()
    .default(false)
    .meta(about("Put arguments and results of calls, masked, into traces.")),
  disabled: switchOf(false, "OTEL_SDK_DISABLED", "Send nothing even though there is an endpoint."),
});

export const configSchema = z.strictObject({
  dataDir: z
    .string()
    .min(1)
    .default("~/.ostiary")
    .meta(
      about(
        "Folder of everything this installation keeps: keys, database, lock. Owned by one process at a time.",
        { "x-flag": "--data-dir" },
      ),
    ),
  store: storeConfig.default("sqlite:ostiary.db").meta(about(storeConfig.description ?? "")),
  workspace: z
    .string()
    .min(1)
    .optional()
    .meta(
      about(
        "Folder the file tools work in. Default: the folder the server was started in, or `<dataDir>/workspace` when that is a home or the root.",
      ),
    ),
  workspacePerSession: z
    .boolean()
    .default(false)
    .meta(
      about(
        "Give every session a folder of its own below the workspace; calls without a session share one per user.",
      ),
    ),
  governance: z
    .string()
    .min(1)
    .optional()
    .meta(
      about(
        "Folder with tools.yaml, modes.yaml, plans.yaml, schema.zed and policies/ for the first start. Default: the one that comes with Ostiary.",
      ),
    ),
  adminKey: z
    .string()
    .regex(ADMIN_KEY, "expected 32 to 512 visible characters without spaces (or a whole ost_… key)")
    .optional()
    .meta(
      about(
        "Presets the administrator's key; otherwise one is made at first start and shown once.",
        { writeOnly: true },
      ),
    ),
  server: server.prefault({}).meta(about("The listener and its doors.")),
  execution: execution.prefault({}).meta(about("Limits of executions.")),
  approvals: approvals.prefault({}).meta(about("Calls that a person must agree to.")),
  webhooks: webhooks.prefault({}).meta(about("Programs outside that are notified of events.")),
  log: z
    .strictObject({
      level: z
        .enum(["debug", "info", "warn", "error", "silent"])
        .default("info")
        .meta(
          about(
            "Least severity that is logged (to stderr: readable lines on a terminal, JSON elsewhere).",
          ),
        ),
      calls: z
        .enum(["all", "failures", "none"])
        .default("all")
        .meta(
          about(
            "Which calls get lines of their own: `all` writes tool_call_started (with masked arguments), tool_call_completed, tool_call_failed and tool_call_blocked, `failures` the last two only.",
          ),
        ),
    })
    .prefault({})
    .meta(about("Logging.")),
  audit: z
    .strictObject({
      checkpointEvents: whole(1, 1_000_000)
        .default(1000)
        .meta(
          about("A signed checkpoint of the ledger is made after so many events of this server."),
        ),
      checkpointSeconds: whole(1, 86_400)
        .default(60)
        .meta(about("And at the latest so many seconds after an event that no checkpoint covers.")),
      archiveAfterDays: whole(0, 36_500)
        .default(90)
        .meta(
          about(
            "Events older than this are moved from the database into files of the folder `archive`, once a day; 0: never.",
          ),
        ),
    })
    .prefault({})
    .meta(about("The audit ledger: its checkpoints and its archive.")),
  record: z
    .strictObject({
      maxArgumentBytes: whole(2048, 4_194_304)
        .default(65_536)
        .meta(
          about(
            "Bytes of a call's arguments that the record keeps; of larger ones the beginning, size and SHA-256. Calls of unknown tools keep 2048.",
          ),
        ),
      maxResultBytes: whole(2048, 4_194_304)
        .default(65_536)
        .meta(about("The same of a call's result.")),
      fetchedResultBytes: whole(0, 68_719_476_736)
        .default(268_435_456)
        .meta(
          about(
            "Room for larger results that are fetched later (background and approved calls, idempotency keys), for 24 hours, in bytes; one user has an eighth of it.",
          ),
        ),
    })
    .prefault({})
    .meta(about("What is kept of each call.")),
  history: z
    .strictObject({
      memoryEntries: whole(0, 1_000_000)
        .default(1000)
        .meta(
          about("Finished executions kept in memory; the store keeps them all.", {
            "x-env": "MAX_HISTORY_SIZE",
          }),
        ),
    })
    .prefault({})
    .meta(about("History.")),
  metrics: z
    .strictObject({
      identityLabels: z
        .boolean()
        .default(false)
        .meta(about("Put agent_id and user_id on the metrics of `/metrics`.")),
    })
    .prefault({})
    .meta(about("Metrics.")),
  state: stateConfig.default("memory").meta(about(stateConfig.description ?? "")),
  policy: policyConfig.default("embedded").meta(about(policyConfig.description ?? "")),
  policyPath: z
    .string()
    .regex(
      /^[A-Za-z_][A-Za-z0-9_]*(\/[A-Za-z_][A-Za-z0-9_]*)+$/,
      "expected a path like ostiary/tools/allow",
    )
    .default("ostiary/tools/allow")
    .meta(about("The rule that decides: package and name, with slashes.")),
  relations: relationsConfig.default("embedded").meta(about(relationsConfig.description ?? "")),
  sink: sinkConfig.default("none").meta(about(sinkConfig.description ?? "")),
  sinkFrom: z
    .enum(["start", "now"])
    .default("start")
    .meta(
      about(
        "Where a sink that was never sent anything begins: with the first event of the log, or with those to come.",
      ),
    ),
  work: z.string().default("embedded").meta(about("Background work: embedded, or temporal://…")),
  rateLimit: z
    .strictObject({
      refusalsPerMinute: whole(1, 1_000_000)
        .default(300)
        .meta(
          about(
            "Refused calls (unknown tools, invalid input, not allowed) of one key per minute; further ones are answered 429 and not recorded one by one.",
          ),
        ),
      enabled: switchOf(
        true,
        "RATE_LIMIT_ENABLED",
        "Limit calls by user, tenant, category, tool, key and address. Off: only the operating mode's windows and throttled callers stay.",
      ),
      requestsPerMinute: whole(1, 1_000_000)
        .optional()
        .meta(
          about(
            "Calls per minute of each user whose plan names no number; set here, of users on Enterprise too. Default: what plans.yaml says (100).",
            { "x-env": "RATE_LIMIT_REQUESTS_PER_MINUTE" },
          ),
        ),
    })
    .prefault({})
    .meta(about("Rate limits.")),
  secrets: secretsConfig
    .default({})
    .meta(about(secretsConfig.description ?? "", { writeOnly: true })),
  search: z
    .strictObject({
      provider: searchConfig.provider.meta(
        about(
          "Who answers web/search. duckduckgo needs no key and limits how often it is asked; searxng needs url; brave and tavily need apiKey.",
        ),
      ),
      url: searchConfig.url.meta(
        about("Address of the SearXNG instance; of the others where it is not their own."),
      ),
      apiKey: searchConfig.apiKey.meta(
        about("Key of Brave Search or Tavily.", { writeOnly: true }),
      ),
    })
    .prefault({})
    .meta(about("Web search.")),
  models: modelsConfig.default({}).meta(about(modelsConfig.description ?? "", { writeOnly: true })),
  sandbox: z
    .strictObject({
      diskMb: whole(1, 1_048_576)
        .default(1024)
        .meta(
          about(
            "Most that one program in a box may put on the disk of the host, in MB; beyond it is killed. Installing packages has 2048.",
          ),
        ),
      diskEntries: whole(1, 10_000_000)
        .default(100_000)
        .meta(about("Most files and folders that it may make there.")),
    })
    .prefault({})
    .meta(about("Programs in the sandbox.")),
  packages: z
    .strictObject({
      pip: z
        .url({ protocol: /^https?$/ })
        .default("https://pypi.org/simple")
        .meta(
          about(
            "Index that system/package_install takes packages of Python from. Its hosts must be allowed in the governance files.",
          ),
        ),
      npm: z
        .url({ protocol: /^https?$/ })
        .default("https://registry.npmjs.org")
        .meta(about("Registry that system/package_install takes packages of JavaScript from.")),
    })
    .prefault({})
    .meta(about("Where packages are installed from.")),
  databases: databasesConfig
    .default({})
    .meta(about(databasesConfig.description ?? "", { writeOnly: true })),
  mcpServers: mcpServersConfig
    .default({})
    .meta(about(mcpServersConfig.description ?? "", { writeOnly: true })),
  assets: z
    .strictObject({
      maxMbPerUser: whole(1, 1_048_576)
        .default(1_024)
        .meta(about("Most that one user's pictures, sound and other files may take, in MiB.")),
    })
    .prefault({})
    .meta(about("Files that models made and people sent.")),
  browser: browserConfig.prefault({}).meta(about("The browser of the browser tools.")),
  tools: z
    .strictObject({
      whitelist: z
        .array(z.string().min(1))
        .max(10_000)
        .default([])
        .meta(
          about("Names of the only tools that may run; `*` means all.", {
            "x-env": "TOOL_WHITELIST",
          }),
        ),
      visibleEnv: z
        .array(z.string().min(1))
        .max(200)
        .default(["LANG", "LC_ALL", "LC_CTYPE", "TZ", "TERM", "NODE_ENV"])
        .meta(about("Environment variables that system/env may show.")),
    })
    .prefault({})
    .meta(about("Tools.")),
  features: z
    .strictObject({
      mcpTools: switchOf(true, "FEATURE_MCP_TOOLS", "Registry and planner step."),
      toolsPolicy: switchOf(
        false,
        "FEATURE_TOOLS_POLICY",
        "Enforce the allow list even when it is empty.",
      ),
    })
    .prefault({})
    .meta(about("Switches.")),
  telemetry: telemetry
    .prefault({})
    .meta(about("Traces, and durations of MCP requests, over OTLP.")),
});

/**
 * Settings whose feature does not exist yet. Any value but the one that describes what happens today is refused at
 * start: an ignored setting is worse than a missing one. Building the feature means deleting its row.
 */
export const NOT_AVAILABLE: readonly { key: string; only: unknown; feature: string }[] = [
  { key: "work", only: "embedded", feature: "background work on Temporal" },
];

export function configJsonSchema(): Record<string, unknown> {
  return { ...z.toJSONSchema(configSchema, { io: "input" }), title: "Ostiary configuration" };
}
