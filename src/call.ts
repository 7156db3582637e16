// The nouns that flow through the whole program: Caller, Call, Verdict, Outcome.
import type { Code, Fault, FieldFault } from "./errors.ts";
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
  /** How the caller proved itself. */
  readonly via: "key" | "console" | "anonymous";
}

/** W3C trace context: the trace id of the request and a span of our own. */
export interface Trace {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
}

export type Entry = "mcp" | "trpc" | "rest" | "stdio";

/** What a door hands to the engine: wire words, nothing decided yet. */
export interface CallRequest {
  /** As the caller spelt it: canonical, wire name or alias. */
  readonly name: string;
  readonly arguments?: JsonObject;
  readonly timeoutMs?: number;
  readonly context?: { readonly sessionId?: string; readonly metadata?: JsonObject };
  readonly idempotencyKey?: string;
  readonly entry: Entry;
  /** Fires when the client goes away: that is a cancel by the user. */
  readonly signal?: AbortSignal;
  /** The same without a signal: is handed the function that cancels. */
  readonly whenGone?: (cancel: () => void) => void;
  /** Incoming `traceparent`, if any. */
  readonly traceparent?: string;
  /** Called for each progress report of the handler. */
  readonly onProgress?: (progress: Progress) => void;
}

export interface Progress {
  readonly progress: number;
  readonly total?: number;
  readonly message?: string;
}

/** One attempt to use a tool. Immutable; the tool is absent when the name is unknown. */
export interface Call {
  readonly id: string;
  readonly caller: Caller;
  readonly requestedName: string;
  readonly tool: Tool | null;
  readonly arguments: JsonObject;
  readonly timeoutMs: number;
  readonly sessionId: string | null;
  readonly metadata: JsonObject | null;
  readonly idempotencyKey: string | null;
  readonly entry: Entry;
  readonly trace: Trace;
  readonly startedAt: number;
  readonly signal: AbortSignal;
  readonly onProgress: ((progress: Progress) => void) | null;
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
}
