// What every door is given: the engine, who is calling, and the queries behind the API. No door decides anything.
import type { PlanStep } from "../agents/plan-step.ts";
import type { Chat } from "../agents/chat/chat.ts";
import type { AgentRecords } from "../agents/records/agent-records.ts";
import type { DraftAdmin } from "../agents/drafts/draft-admin.ts";
import type { RunControl } from "../agents/workflows/control.ts";
import type { ScheduleControl } from "../agents/workflows/schedules/control.ts";
import type { WorkReading } from "../agents/workflows/reading.ts";
import type { Questions } from "../agents/questions.ts";
import type {
  ApprovalInbox,
  ApprovalPreviews,
  StandingRules,
} from "../governance/approvals/approval.ts";
import type { Caller, JsonObject, Outcome, Trace } from "../contract/call.ts";
import type { Taint } from "../contract/taint.ts";
import type { Engine } from "../core/engine/engine.ts";
import type { Replayed } from "../core/engine/replay.ts";
import type { DocumentKind } from "../contract/document.ts";
import type { GovernanceDocuments, Governance } from "../governance/rules/governance.ts";
import type { Directory } from "../core/identity/directory.ts";
import type { Identity } from "../core/identity/index.ts";
import type { CallerWatch } from "../core/identity/caller-watch.ts";
import type { Ledger } from "../storage/ledger/ledger.ts";
import type { History } from "../core/record/history.ts";
import type { Live } from "../core/record/live.ts";
import type { Budgets } from "../governance/limits/budget.ts";
import type { Requests } from "../governance/limits/requests.ts";
import type { ModeController } from "../governance/modes/mode.ts";
import type { Metrics } from "../core/record/metrics.ts";
import type { Policies, PolicyInput } from "../governance/policy/policy.ts";
import type { Relations } from "../governance/relations/relation.ts";
import type { Assets } from "../storage/assets/assets.ts";
import type { Action, Listing } from "../storage/store/store.ts";
import type { Tracing } from "../telemetry/tracing.ts";
import type { Registry } from "../tools/registry.ts";
import type { Ids } from "../util/ids.ts";
import type { Masker } from "../util/secrets/masker.ts";
import type { TimeSlices } from "../util/async/time-slices.ts";
import type { ApiAdmin } from "../reach/http-api/admin.ts";
import type { LoginAdmin } from "../reach/upstream/admin/login-admin.ts";
import type { ServerAdmin } from "../reach/upstream/admin/server-admin.ts";
import type { Upstreams } from "../reach/upstream/upstream.ts";
import type { ModelAdmin } from "../reach/models/records.ts";
import type { Webhooks } from "../reach/webhooks/webhook.ts";
import type { AddressThrottle } from "./http/address-throttle.ts";
import type { Clients } from "./http/client-address.ts";
import type { Connections } from "./http/connections.ts";
import type { Capacity } from "./http/capacity.ts";

export interface Doors {
  readonly engine: Engine;
  readonly identity: Identity;
  readonly directory: Directory;
  readonly registry: Registry;
  /** Called when the visible tools may have changed for another cause than the registry: rights, rules, mode. */
  readonly visibility: { on(listener: () => void): () => void };
  /**
   * Called for what a caller holds open: when their rights have changed, and with null when they have lost access.
   */
  readonly standing: Pick<CallerWatch, "watch">;
  /** How the caller's capsule wants tools listed to MCP clients. */
  readonly listing: (caller: Caller) => Promise<Listing>;
  readonly history: History;
  readonly live: Live;
  readonly metrics: Metrics;
  readonly mode: ModeController;
  readonly governance: Governance;
  readonly documents: GovernanceDocuments;
  readonly relations: Relations;
  readonly policies: Policies;
  readonly approvals: ApprovalInbox & ApprovalPreviews & { readonly rules: StandingRules };
  readonly questions: Pick<Questions, "list" | "decide">;
  /** The tool step of pipelines. */
  readonly planStep: PlanStep;
  readonly chat: Chat;
  /** Workflows, runs and schedules, to be looked at. */
  readonly work: WorkReading;
  /** What people ask of runs. */
  readonly runs: RunControl;
  /** What people do with schedules. */
  readonly schedules: ScheduleControl;
  readonly clientTaint: ClientTaint;
  readonly assets: Assets;
  readonly webhooks: Webhooks;
  readonly models: ModelAdmin;
  /** Capsules, personas and models as one file. */
  readonly agentRecords: AgentRecords;
  /** Upstream servers, for administrators. */
  readonly servers: ServerAdmin;
  /** HTTP APIs among them. */
  readonly apis: ApiAdmin;
  /** Tools that were drafted here, for administrators. */
  readonly toolDrafts: DraftAdmin;
  /** What they offer besides tools. */
  readonly upstreams: Upstreams;
  /** People log in at those that want it. */
  readonly logins: LoginAdmin;
  /** Asks calls on record again under other rules; nothing runs, nothing is stored. */
  readonly replay: (caller: Caller, question: ReplayQuestion) => Promise<Replayed>;
  /** What the policy is asked about a recorded call; null: the newest one. */
  readonly policyQuestion: (caller: Caller, executionId: string | null) => Promise<PolicyQuestion>;
  /** Notes an administrator's change; durable when it resolves. */
  readonly audit: (action: Action, who: Caller, body: JsonObject) => Promise<void>;
  readonly ledger: Ledger;
  /** The only tenant of the installation; null when there are several. */
  readonly soleTenant: () => Promise<string | null>;
  readonly budgets: Pick<Budgets, "usage" | "plans">;
  readonly addressThrottle: AddressThrottle;
  readonly clients: Clients;
  readonly requests: Pick<Requests, "count">;
  readonly capacity: Capacity;
  /** Large bodies are parsed one after the other. */
  readonly turns: Pick<TimeSlices, "next">;
  readonly connections: Connections;
  readonly health: Health;
  readonly tracing: Pick<Tracing, "on" | "request">;
  readonly log: Log;
  readonly ids: Ids;
  /** As the record masks: to compare with what it holds. */
  readonly masker: Pick<Masker, "valueInSlices">;
  readonly now: () => number;
  readonly settings: DoorSettings;
  /** All settings of the server as people may see them. */
  readonly shownSettings: () => readonly ShownSetting[];
  /** The checks of `ostiary doctor`, on this machine. */
  readonly examine: () => Promise<readonly DoctorFinding[]>;
  readonly diagnose: () => Promise<Diagnosis>;
}

/** What one check of the doctor found. */
export interface DoctorFinding {
  readonly name: string;
  readonly status: "ok" | "warning" | "failed" | "missing";
  readonly detail: string;
  readonly fix?: string;
}

/** What runs at the moment, beyond whether every part answers. */
export interface Diagnosis {
  readonly active: number;
  readonly running: number;
  readonly waiting: number;
  readonly slots: number;
  readonly approvalsPending: number;
  /** Events that still have to be sent on; null: there is no sink. */
  readonly outboxPending: number | null;
  /** `sinceCheckpoint`: events that no checkpoint of this server covers yet. */
  readonly ledger: { readonly head: number; readonly sinceCheckpoint: number };
  readonly servers: readonly { name: string; up: boolean; breaker: BreakerState }[];
  /** Native tools whose breaker is not closed. */
  readonly tools: readonly { name: string; breaker: BreakerState }[];
  readonly sandbox: { readonly ready: boolean; readonly reason: string | null };
}

type BreakerState = "closed" | "half_open" | "open";

export interface ShownSetting {
  readonly key: string;
  readonly value: unknown;
  readonly source: "default" | "file" | "environment" | "flag";
  readonly where: string;
  readonly fallback: unknown;
  readonly secret: boolean;
  readonly description: string;
  readonly expected: string;
  readonly env: string;
  readonly flag: string | null;
}

/** Content from outside that the clients of MCP sessions have read. A client without a session is known by its key. */
export interface ClientTaint {
  /** Null: none, or the rules do not mind it. */
  of(caller: Caller, sessionId: string | null): readonly Taint[] | null;
  /** The client gets this outcome. */
  read(caller: Caller, sessionId: string | null, outcome: Outcome): void;
}

/** Sent with the empty list of tools while the flag is off. */
export const TOOLS_OFF = "The tools are switched off (features.mcpTools): nobody sees or runs any.";

export interface ReplayQuestion {
  readonly files: Partial<Readonly<Record<DocumentKind, Readonly<Record<string, string>>>>>;
  /** Epoch ms. */
  readonly from: number;
  /** At most so many, the newest. */
  readonly last: number;
}

export interface PolicyQuestion {
  /** Of the rule that decides: `ostiary/tools/allow`. */
  readonly path: string;
  /** `data.tools`. */
  readonly tools: Readonly<Record<string, { readonly enabled: boolean }>>;
  /** Null: there is no such call. */
  readonly executionId: string | null;
  /** Null: its tool does not exist any more, or its arguments were too large to keep. */
  readonly input: PolicyInput | null;
}

export interface DoorSettings {
  readonly version: string;
  /** Largest body accepted, bytes. */
  readonly maxBodyBytes: number;
  /** Host names (without port) that a request may name; the bound address is always among them. */
  readonly allowedHosts: readonly string[];
  readonly fastPath: boolean;
  /** The flag `mcp_tools`; off, lists are empty and say why. */
  readonly toolsOn: boolean;
  readonly mcpSessionTimeoutMs: number;
  /** Signs what travels through clients and back; the same on every instance. */
  readonly stateKey: Uint8Array;
  /** Scheme, host and port that a proxy in front is reached at; null: there is none. */
  readonly publicUrl: string | null;
  /** Base URL for links, known once the listener is up: the public one where there is one. */
  baseUrl: string;
  /** Where the listener itself is reached; empty until it is up. */
  localUrl: string;
}

/** Parts that must answer before the server is ready; each row says which one is missing. */
export interface Health {
  check(): Promise<{
    ready: boolean;
    checks: { name: string; ok: boolean; ms: number; reason?: string }[];
  }>;
}

export interface Log {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

/** One HTTP request after identity: what the API handlers may know about it. */
export interface RequestContext {
  readonly caller: Caller;
  readonly requestId: string;
  readonly signal: AbortSignal;
  readonly traceparent?: string | undefined;
  readonly tracestate?: string | undefined;
  readonly within?: Trace | undefined;
  /** Address of the client, as the listener or a trusted proxy saw it. */
  readonly ip?: string | undefined;
  readonly doors: Doors;
}
