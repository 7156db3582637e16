// The nouns that flow through the whole program: Caller, Call, Verdict, Outcome.
import { AppError, type Code, type Fault, type FieldFault } from "./errors.ts";
import { taintIn, type Taint } from "./taint.ts";
import type { Tool } from "./tool.ts";

export type Json =
  null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };
export type JsonObject = { readonly [key: string]: Json };

export const LEVELS = ["view_only", "execute_basic", "execute_advanced", "admin"] as const;
export type Level = (typeof LEVELS)[number];

export const PLANS = ["free", "starter", "team", "enterprise"] as const;
export type Plan = (typeof PLANS)[number];

/** Whose limits apply to a call: each plan is counted on its owner's counters. */
export interface Plans {
  readonly tenant: Plan | null;
  /** The user's own, not what the tenant has. */
  readonly user: Plan | null;
  readonly key: Plan | null;
}

export const STATUSES = ["pending", "running", "success", "failed", "cancelled"] as const;
export type Status = (typeof STATUSES)[number];

export type CancelReason = "user" | "timeout" | "shutdown";

export const MODES = ["NORMAL", "ALERT", "DEGRADED", "LOCKDOWN", "RECOVERY"] as const;
/** How careful the whole server is at the moment. */
export type Mode = (typeof MODES)[number];

export interface KeyLimits {
  /** A plan of the key's own, narrower than its user's. */
  readonly plan?: Plan;
  readonly perMinute?: number;
  readonly perHour?: number;
  readonly perDay?: number;
}

/**
 * Which sign-in a console session is, the key that made its link, and when the person last proved themselves (epoch
 * ms).
 */
export interface SignedIn {
  readonly id: string;
  readonly keyId: string | null;
  readonly at: number;
}

/** Who is calling. Built by identity/ from a credential, never from what the request says of itself. */
export interface Caller {
  readonly tenantId: string;
  readonly userId: string;
  readonly role: "admin" | "user";
  /** Roles that policies read, e.g. `tool_user`. */
  readonly roles: readonly string[];
  /** The plan that the level comes from: the user's own, else the tenant's. */
  readonly plan: Plan | null;
  readonly plans: Plans;
  readonly level: Level;
  /** Scopes of the API key, e.g. `agent:execute:safe`; `*` holds them all. */
  readonly scopes: readonly string[];
  readonly capsuleId: string | null;
  readonly keyId: string | null;
  /** Rate windows of the API key itself. */
  readonly limits: KeyLimits | null;
  /** How the caller proved itself. */
  readonly via: "key" | "console" | "anonymous";
  /** Narrowed to these tools: an agent or a workflow never has more tools than it was given. */
  readonly only?: readonly string[];
  /**
   * Further capsules that must hold a tool too: those of the callers whose instructions are carried out here.
   */
  readonly also?: readonly string[];
  /** Acts in this one of the user's roles alone. */
  readonly asRole?: string;
  /** Of a console session. */
  readonly signIn?: SignedIn;
}

/**
 * A caller as it was when it left something behind that runs later: all that its rights depend on. It is kept with what
 * waits, and never counts for more than the same caller is today.
 */
export type Mandate = Pick<
  Caller,
  "tenantId" | "userId" | "role" | "level" | "scopes" | "capsuleId" | "keyId" | "via"
> &
  Partial<Pick<Caller, "only" | "also" | "asRole" | "signIn">>;

export function mandateOf(caller: Caller): Mandate {
  const { tenantId, userId, role, level, scopes, capsuleId, keyId, via } = caller;
  const { only, also, asRole, signIn } = caller;
  return {
    tenantId,
    userId,
    role,
    level,
    scopes,
    capsuleId,
    keyId,
    via,
    ...(only ? { only } : {}),
    ...(also ? { also } : {}),
    ...(asRole === undefined ? {} : { asRole }),
    ...(signIn ? { signIn } : {}),
  };
}

/** Equal texts: the same narrowing, so that one caller's answer or yes may stand for the other's. */
export const narrowingOf = ({
  only,
  also,
  asRole,
}: Pick<Caller, "only" | "also" | "asRole">): string =>
  only || also || asRole !== undefined
    ? JSON.stringify([
        only?.toSorted() ?? null,
        also?.toSorted() ?? null,
        ...(asRole === undefined ? [] : [asRole]),
      ])
    : "";

/** The caller with what both hold: nothing that either of the two lacks. */
export function narrowed(caller: Caller, mandate: Mandate): Caller {
  const only = both(caller.only, mandate.only);
  const capsules = new Set([...(caller.also ?? []), ...(mandate.also ?? [])]);
  if (mandate.capsuleId !== null) capsules.add(mandate.capsuleId);
  if (caller.capsuleId !== null) capsules.delete(caller.capsuleId);
  const asRole = mandate.asRole ?? caller.asRole;
  const level = LEVELS[Math.min(LEVELS.indexOf(caller.level), LEVELS.indexOf(mandate.level))];
  return {
    ...caller,
    ...(asRole === undefined ? {} : { asRole, roles: rolesAs(caller, mandate) }),
    role: caller.role === "admin" && mandate.role === "admin" ? "admin" : "user",
    level: level ?? "view_only",
    scopes: sharedScopes(caller.scopes, mandate.scopes),
    // A caller that had no capsule had no tools.
    capsuleId: mandate.capsuleId === null ? null : caller.capsuleId,
    ...(only ? { only } : {}),
    ...(capsules.size > 0 ? { also: [...capsules] } : {}),
  };
}

/** A role that either side does not hold, or two different ones, leave none. */
function rolesAs(caller: Caller, mandate: Mandate): readonly string[] {
  const wanted = [caller.asRole, mandate.asRole].filter((role) => role !== undefined);
  return caller.roles.filter((role) => wanted.every((one) => one === role));
}

function both(
  one: readonly string[] | undefined,
  other: readonly string[] | undefined,
): readonly string[] | undefined {
  if (!one || !other) return one ?? other;
  return one.filter((name) => other.includes(name));
}

function sharedScopes(one: readonly string[], other: readonly string[]): readonly string[] {
  if (one.includes("*")) return other;
  return other.includes("*") ? one : one.filter((scope) => other.includes(scope));
}

/** W3C trace context: the trace id of the request and a span of our own. */
export interface Trace {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  /** False: the program that began the trace does not record it. */
  readonly sampled?: boolean;
  /** The `tracestate` that came with it, handed on as it is. */
  readonly state?: string;
}

/** The doors, and the parts of this server that make calls for a caller. */
export type Entry = "mcp" | "trpc" | "rest" | "stdio" | InnerEntry;
export type InnerEntry = "workflow" | "agent" | "chat" | "schedule" | "tool";

/** What a door hands to the engine: wire words, nothing decided yet. */
export interface CallRequest {
  /**
   * Of the execution, chosen and written down by whoever must find it again after a crash. Set by this server alone,
   * never from a client's words.
   */
  readonly id?: string;
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
  /** The limit behind `signal`, where that can fire because a time is up. */
  readonly outerLimit?: TimeLimit;
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
  /**
   * Called once the start is durable. The caller may be answered from then on and ask for the outcome later: it is kept
   * whole for a while.
   */
  readonly onBegun?: (executionId: string) => void;
  /** What the caller's own client can be asked while the call runs; only doors that reach it have one. */
  readonly client?: ClientSide;
  /** Made by a call that does nothing meanwhile: the place that one holds among those that run is enough for both. */
  readonly sharesSlot?: true;
  /**
   * Content from outside that the agent or client has read. Set by this server alone, never from what a client sends.
   */
  readonly taint?: readonly Taint[];
}

/** A time after which a call is ended. */
export interface TimeLimit {
  readonly ms: number;
  /** In the words of a message; null: the call's own timeout. */
  readonly whose: string | null;
}

/** Questions of an upstream server to the caller's client, by a key of its choice, as MCP writes them. */
export type InputQuestions = Readonly<
  Record<string, { readonly method: string; readonly params: JsonObject }>
>;
/** Its answers under the same keys. */
export type InputAnswers = Readonly<Record<string, JsonObject>>;

/** The caller's client, as far as an upstream server may speak to it. It decides nothing here. */
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
  /** Called when the upstream server answers with a task. Absent: the client declared no tasks. */
  readonly onTask?: (() => void) | undefined;
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
  /** Set when a held call is resumed after its approval. */
  readonly grant: Grant | null;
  readonly trace: Trace;
  readonly startedAt: number;
  readonly signal: AbortSignal;
  readonly onProgress: ((progress: Progress) => void) | null;
  readonly client: ClientSide | null;
  /** Nobody was asked because its programs are on a run list: they get a box in which they can only read. */
  readonly confined?: true;
  /** What a capsule leaves of the network. */
  readonly egress?: EgressLimit;
  /** Absent: nothing from outside is known to stand behind it. `metadata.taint` is the same for the record. */
  readonly taint?: readonly Taint[];
}

/** How far a capsule lets its calls reach: nowhere, or to the hosts that the governance files list. */
export interface EgressLimit {
  readonly reach: "none" | "list";
  /** Which rule decided it: `capsule research: autonomy 2`. */
  readonly rule: string;
}

/** The limit of a call as it counts for those that it makes. */
export const limitWithin = ({ timeoutMs }: Pick<Call, "timeoutMs">): TimeLimit => ({
  ms: timeoutMs,
  whose: "the time of the call that made it",
});

/** How deep calls may make calls. */
export const MAX_CALL_DEPTH = 8;

/** Where an inner call comes from: what the record and the answer of its parent contain about it. */
export interface CallParent extends Pick<Call, "sessionId" | "ip" | "trace" | "metadata"> {
  readonly id: string;
  readonly entry: Entry;
}

type InnerRequest = Pick<
  CallRequest,
  | "id"
  | "name"
  | "arguments"
  | "timeoutMs"
  | "signal"
  | "outerLimit"
  | "onProgress"
  | "client"
  | "sharesSlot"
  | "taint"
  | "idempotencyKey"
> & { readonly metadata?: JsonObject };

/**
 * The request of a call that another call makes; `metadata` says whose it is and how deep. Refuses to go too deep. It
 * is tainted as its parent is, where its maker does not say more.
 */
export function innerRequest(
  parent: CallParent,
  entry: InnerEntry,
  request: InnerRequest,
): CallRequest {
  const { metadata, taint = taintIn(parent.metadata), ...rest } = request;
  const depth = depthOf(parent) + 1;
  if (depth > MAX_CALL_DEPTH) {
    const message = `calls within calls go ${MAX_CALL_DEPTH} deep at most`;
    const remedy = "let a step do the work itself instead of starting another run";
    throw new AppError("EXECUTION_FAILED", "depth_exceeded", message, { remedy });
  }
  const { traceId, spanId, sampled, state } = parent.trace;
  const whose = { ...agentOf(parent), ...metadata, parentExecutionId: parent.id, depth };
  return {
    ...rest,
    entry,
    context: {
      ...(parent.sessionId === null ? {} : { sessionId: parent.sessionId }),
      metadata: whose,
    },
    ip: parent.ip ?? undefined,
    traceparent: `00-${traceId}-${spanId}-${sampled === false ? "00" : "01"}`,
    ...(state === undefined ? {} : { tracestate: state }),
    ...(taint.length === 0 ? {} : { taint }),
  };
}

const INNER: readonly Entry[] = ["workflow", "agent", "chat", "schedule", "tool"];

export const isInnerEntry = (entry: Entry): entry is InnerEntry => INNER.includes(entry);

/** What an agent started stays known as its work, however deep. */
function agentOf(parent: CallParent): JsonObject {
  const { agentId, agentDepth } = depthOf(parent) > 0 ? (parent.metadata ?? {}) : {};
  return {
    ...(agentId === undefined ? {} : { agentId }),
    ...(agentDepth === undefined ? {} : { agentDepth }),
  };
}

/** A depth that a client sends is ignored: only inner calls have one. */
export function depthOf({ entry, metadata }: Pick<CallParent, "entry" | "metadata">): number {
  const depth = metadata?.["depth"];
  return isInnerEntry(entry) && typeof depth === "number" ? depth : 0;
}

/** A tool throws it when it failed, but has something to show all the same. */
export class PartialError extends AppError {
  readonly partial: Json;

  constructor({ code, reason, message, ...rest }: Fault, partial: Json) {
    super(code, reason, message, rest);
    this.partial = partial;
  }
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
  /** The operating mode that forbids the call. */
  readonly mode?: Mode;
  readonly errors?: readonly FieldFault[];
  readonly retryAfterSeconds?: number;
  /** The stage agrees, but a person must be asked: why. */
  readonly asks?: string;
  /** The stage takes an earlier question back: which. */
  readonly waives?: string;
  /** What a policy in trial would have decided, when it differs. */
  readonly shadow?: {
    readonly version: string;
    readonly verdict: "allow" | "deny";
    readonly reason: string;
  };
  /** Only in explanations: the rule as it is written, and the data the stage looked at. */
  readonly ruleText?: string;
  readonly read?: Json;
}

/** One rate window as answers and headers show it. */
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
