// The nouns that flow through the whole program: Caller, Call, Verdict, Outcome.
import { AppError, type Code, type Fault, type FieldFault } from "./errors.ts";
import type { Tool } from "./tools/tool.ts";

export type Json =
  null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };
export type JsonObject = { readonly [key: string]: Json };

export const LEVELS = ["view_only", "execute_basic", "execute_advanced", "admin"] as const;
export type Level = (typeof LEVELS)[number];

export const PLANS = ["free", "starter", "team", "enterprise"] as const;
export type Plan = (typeof PLANS)[number];

export const STATUSES = ["pending", "running", "success", "failed", "cancelled"] as const;
export type Status = (typeof STATUSES)[number];

export type CancelReason = "user" | "timeout" | "shutdown";

export const MODES = ["NORMAL", "ALERT", "DEGRADED", "LOCKDOWN", "RECOVERY"] as const;
/** How careful the whole house is at the moment. */
export type Mode = (typeof MODES)[number];

export interface KeyLimits {
  readonly perMinute?: number;
  readonly perHour?: number;
  readonly perDay?: number;
}

/** Who is calling. Built by identity/ from a credential, never from what the request says of itself. */
export interface Caller {
  readonly tenantId: string;
  readonly userId: string;
  readonly role: "admin" | "user";
  /** Roles that policies read, e.g. `tool_user`. */
  readonly roles: readonly string[];
  readonly plan: Plan | null;
  readonly level: Level;
  /** Scopes of the API key, e.g. `agent:execute:safe`; `*` holds them all. */
  readonly scopes: readonly string[];
  readonly capsuleId: string | null;
  readonly keyId: string | null;
  /** Rate windows of the API key itself. */
  readonly limits: KeyLimits | null;
  /** How the caller proved itself. */
  readonly via: "key" | "console" | "anonymous";
  /** Narrowed to these tools: what works on somebody's behalf never holds more than it was given. */
  readonly only?: readonly string[];
}

/** W3C trace context: the trace id of the request and a span of our own. */
export interface Trace {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  /** False: whoever began the trace does not record it. */
  readonly sampled?: boolean;
  /** The `tracestate` that came with it, handed on as it is. */
  readonly state?: string;
}

/** The doors, and what calls on somebody's behalf from inside. */
export type Entry = "mcp" | "trpc" | "rest" | "stdio" | InnerEntry;
export type InnerEntry = "workflow" | "agent" | "schedule" | "tool";

/** What a door hands to the engine: wire words, nothing decided yet. */
export interface CallRequest {
  /** As the caller spelt it: canonical, wire name or alias. */
  readonly name: string;
  readonly arguments?: JsonObject;
  readonly timeoutMs?: number;
  readonly context?: { readonly sessionId?: string; readonly metadata?: JsonObject };
  readonly idempotencyKey?: string;
  readonly entry: Entry;
  /** Address of the client as the listener saw it. */
  readonly ip?: string | undefined;
  /** Fires when the client goes away: that is a cancel by the user. */
  readonly signal?: AbortSignal;
  /** The same without a signal: is handed the function that cancels. */
  readonly whenGone?: (cancel: () => void) => void;
  /** Incoming `traceparent`, if any. */
  readonly traceparent?: string;
  /** Incoming `tracestate`; counts only beside a valid `traceparent`. */
  readonly tracestate?: string;
  /** The span it is part of, where a door has one of its own: both texts were read for that. */
  readonly within?: Trace | undefined;
  /** Called for each progress report of the handler. */
  readonly onProgress?: (progress: Progress) => void;
  /** What the caller's own client can be asked while the call runs; only doors that reach it have one. */
  readonly client?: ClientSide;
  /** Made by a call that does nothing meanwhile: the place that one holds among those that run is enough for both. */
  readonly rides?: true;
}

/** Questions of a server upstream to the caller's client, by a key of its choice, as MCP writes them. */
export type InputQuestions = Readonly<
  Record<string, { readonly method: string; readonly params: JsonObject }>
>;
/** Its answers under the same keys. */
export type InputAnswers = Readonly<Record<string, JsonObject>>;

/** The caller's client, as far as a server upstream may speak to it. It decides nothing here. */
export interface ClientSide {
  /** As it declared them: elicitation, sampling, roots. Only shown and handed on. */
  readonly capabilities: JsonObject;
  /** Rejects when the client cannot be asked, or its answer does not come in time. */
  ask(
    questions: InputQuestions,
    from: { readonly server: string; readonly signal: AbortSignal },
  ): Promise<InputAnswers>;
  /** Log messages and the like that belong to this call. */
  notify(method: string, params: JsonObject): void;
  /** It wants log messages from this level on; absent: none. */
  readonly logLevel?: string | undefined;
}

export interface Progress {
  readonly progress: number;
  readonly total?: number;
  readonly message?: string;
}

/** A person's yes to one call. It is not trusted: the approval stage compares and uses it up. */
export interface Grant {
  readonly approvalId: string;
}

/** One attempt to use a tool. Immutable; the tool is absent when the name is unknown. */
export interface Call {
  readonly id: string;
  readonly action: "execute";
  readonly caller: Caller;
  readonly requestedName: string;
  readonly tool: Tool | null;
  readonly arguments: JsonObject;
  readonly timeoutMs: number;
  readonly sessionId: string | null;
  readonly metadata: JsonObject | null;
  readonly idempotencyKey: string | null;
  readonly entry: Entry;
  readonly ip: string | null;
  /** Set when a held call goes on after a person's yes. */
  readonly grant: Grant | null;
  readonly trace: Trace;
  readonly startedAt: number;
  readonly signal: AbortSignal;
  readonly onProgress: ((progress: Progress) => void) | null;
  readonly client: ClientSide | null;
}

/** How deep calls may make calls. */
export const MAX_CALL_DEPTH = 8;

/** Where an inner call comes from: what the record and the answer of its parent tell about it. */
export interface CallParent extends Pick<Call, "sessionId" | "ip" | "trace" | "metadata"> {
  readonly id: string;
  readonly entry: Entry;
}

/** The request of a call that another call makes; `metadata` says whose it is and how deep. Refuses to go too deep. */
export function innerRequest(
  parent: CallParent,
  entry: InnerEntry,
  request: Pick<
    CallRequest,
    "name" | "arguments" | "timeoutMs" | "signal" | "onProgress" | "client" | "rides"
  > & { readonly metadata?: JsonObject },
): CallRequest {
  const { metadata, ...rest } = request;
  const depth = depthOf(parent) + 1;
  if (depth > MAX_CALL_DEPTH) {
    throw new AppError(
      "EXECUTION_FAILED",
      "depth_exceeded",
      `calls within calls go ${MAX_CALL_DEPTH} deep at most`,
      { remedy: "let a step do the work itself instead of starting another run" },
    );
  }
  const { traceId, spanId, sampled, state } = parent.trace;
  return {
    ...rest,
    entry,
    context: {
      ...(parent.sessionId === null ? {} : { sessionId: parent.sessionId }),
      metadata: { ...agentOf(parent), ...metadata, parentExecutionId: parent.id, depth },
    },
    ip: parent.ip ?? undefined,
    traceparent: `00-${traceId}-${spanId}-${sampled === false ? "00" : "01"}`,
    ...(state === undefined ? {} : { tracestate: state }),
  };
}

const INNER: readonly Entry[] = ["workflow", "agent", "schedule", "tool"];

/** What an agent started stays known as its work, however deep. */
function agentOf(parent: CallParent): JsonObject {
  const { agentId, agentDepth } = depthOf(parent) > 0 ? (parent.metadata ?? {}) : {};
  return {
    ...(agentId === undefined ? {} : { agentId }),
    ...(agentDepth === undefined ? {} : { agentDepth }),
  };
}

/** What a door was told about depth counts for nothing: only inner calls carry it. */
export function depthOf({ entry, metadata }: Pick<CallParent, "entry" | "metadata">): number {
  const depth = metadata?.["depth"];
  return INNER.includes(entry) && typeof depth === "number" ? depth : 0;
}

/** One entry of `gates`: what a stage decided, stamped by the gate with name and time taken. */
export interface Verdict {
  readonly stage: string;
  readonly verdict: "allow" | "deny" | "hold";
  readonly ms: number;
  readonly code?: Code;
  readonly reason?: string;
  readonly message?: string;
  readonly remedy?: string;
  /** File and line of the rule that matched. */
  readonly rule?: string;
  /** The engine that was missing or that decided. */
  readonly engine?: string;
  readonly errors?: readonly FieldFault[];
  readonly retryAfterSeconds?: number;
  /** The stage agrees, but a person must be asked: why. */
  readonly asks?: string;
  /** The stage takes an earlier question back: which. */
  readonly waives?: string;
  /** What a policy in trial would have said, when it differs. */
  readonly shadow?: {
    readonly version: string;
    readonly verdict: "allow" | "deny";
    readonly reason: string;
  };
  /** Only in explanations: the rule as it is written, and the data the stage looked at. */
  readonly ruleText?: string;
  readonly read?: Json;
}

/** One rate window as answers and headers tell it. */
export interface RateWindow {
  readonly name: string;
  readonly quota: number;
  readonly windowSeconds: number;
  readonly remaining: number;
  readonly resetSeconds: number;
}

/** What a caller learns about the approval its call waits for. */
export interface ApprovalNotice {
  readonly id: string;
  readonly state:
    "pending" | "approved" | "declined" | "expired" | "not_presented" | "cancelled" | "consumed";
  readonly expiresAt: number;
  /** How long a door may keep the caller waiting before it answers `pending`. */
  readonly holdSeconds: number;
}

/** Same fields whatever happened. */
export interface Outcome {
  readonly executionId: string;
  readonly toolName: string;
  readonly requestedName: string;
  readonly category: string;
  readonly status: Status;
  readonly success: boolean;
  readonly output: Json;
  /** The output as the record keeps it, where a runner has masked it for both. */
  readonly recorded?: Json | undefined;
  readonly error: Fault | null;
  readonly cancelReason: CancelReason | null;
  readonly gates: readonly Verdict[];
  /** False: the tool is invisible to this caller, and the answer must look like a missing one. */
  readonly visible: boolean;
  /** True once the handler was started: REST then answers 200 whatever its end. */
  readonly dispatched: boolean;
  readonly startedAt: number;
  readonly endedAt: number | null;
  readonly latencyMs: number;
  readonly timeoutMs: number;
  readonly metadata: JsonObject;
  readonly trace: Trace;
  /** True when an earlier answer was repeated for its idempotency key. */
  readonly replayed: boolean;
  /** Set while the call waits for a person, and on what became of it. */
  readonly approval: ApprovalNotice | null;
  /** The rate windows this call counted in; empty when none applies. */
  readonly rate: readonly RateWindow[];
}
