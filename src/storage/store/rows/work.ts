// What tools keep for their callers: notes, workflows and their runs, plans, agents, questions. Whoever asks names
// tenant and user; what belongs to others is absent.
import type { Json, JsonObject, Mandate } from "../../../contract/call.ts";
import type { Fault } from "../../../contract/errors.ts";
import type { TaintSource } from "../../../contract/taint.ts";
import type { Risk } from "../../../contract/tool.ts";
import type { TextQuery } from "../../../util/text/words.ts";

export interface MemoryRow {
  readonly key: string;
  readonly value: Json;
  readonly tags: readonly string[];
  readonly version: number;
  readonly updatedAt: number;
  readonly expiresAt: number | null;
}

/** Entries of one namespace that are still valid. */
export interface MemoryFilter {
  readonly tenantId: string;
  readonly namespace: string;
  /** Every one of them. */
  readonly tags: readonly string[];
  readonly now: number;
}

export interface Page {
  readonly limit: number;
  readonly offset: number;
}

export interface MemoryQueries {
  /**
   * Atomic: with `ifVersion` the write happens only when the stored version equals it (0 = must be absent). Null =
   * stale.
   */
  put(row: {
    tenantId: string;
    namespace: string;
    key: string;
    value: Json;
    tags: readonly string[];
    at: number;
    expiresAt: number | null;
    ifVersion?: number;
  }): Promise<{ version: number; created: boolean } | null>;
  get(tenantId: string, namespace: string, key: string, now: number): Promise<MemoryRow | null>;
  /** Best first. */
  search(
    filter: MemoryFilter & { readonly query: TextQuery },
    page: Page,
  ): Promise<{
    rows: (Pick<MemoryRow, "key" | "value" | "tags" | "updatedAt"> & { score: number })[];
    total: number;
  }>;
  /** By key. */
  list(
    filter: MemoryFilter & { readonly prefix: string },
    page: Page,
  ): Promise<{
    rows: (Pick<MemoryRow, "key" | "tags" | "updatedAt" | "expiresAt"> & { bytes: number })[];
    total: number;
  }>;
  /** Removes, or only tells what it would remove; answers up to `limit` of the keys. */
  clear(
    filter: MemoryFilter & { readonly key?: string; readonly dryRun: boolean },
    limit: number,
  ): Promise<{ removed: number; keys: string[] }>;
  /** Drops what expired before; answers how many. */
  sweep(before: number, limit: number): Promise<number>;
}

export const TRIGGERS = ["manual", "scheduled", "webhook", "event"] as const;
export type Trigger = (typeof TRIGGERS)[number];

export interface WorkflowStep {
  readonly id: string;
  readonly tool: string;
  readonly input: JsonObject;
  readonly if?: string;
  readonly continueOnError: boolean;
  readonly timeoutSeconds?: number;
}

export interface WorkflowRow {
  readonly id: string;
  readonly version: number;
  readonly tenantId: string;
  readonly userId: string;
  readonly name: string;
  readonly description: string;
  readonly startedBy: Trigger;
  readonly steps: readonly WorkflowStep[];
  readonly inputSchema: JsonObject | null;
  readonly risk: Risk;
  readonly createdAt: number;
  /** Whoever wrote it, as they were; null in rows of earlier releases, which do not run. */
  readonly author: Mandate | null;
}

export type RunStatus = "running" | "pending" | "success" | "failed" | "cancelled";

export interface StepState {
  readonly id: string;
  readonly executionId: string | null;
  readonly status: RunStatus | "skipped" | "waiting";
  readonly ms: number;
  readonly error?: Fault;
  readonly pendingApproval?: { readonly id: string; readonly expiresAt: string };
  /** Content from outside that it brought. */
  readonly sources?: readonly TaintSource[];
}

export interface RunRow {
  readonly id: string;
  readonly tenantId: string;
  readonly userId: string;
  readonly workflowId: string;
  readonly version: number;
  readonly executionId: string;
  readonly instanceId: string;
  readonly status: RunStatus;
  readonly input: JsonObject;
  readonly steps: readonly StepState[];
  readonly output: Json;
  readonly error: Fault | null;
  readonly startedAt: number;
  readonly endedAt: number | null;
}

export interface ScheduleRow {
  readonly id: string;
  readonly tenantId: string;
  readonly userId: string;
  /** The key it was made with: the runs have the same rights, and none once it is revoked. */
  readonly keyId: string | null;
  readonly workflowId: string;
  readonly cron: string;
  readonly timezone: string;
  readonly enabled: boolean;
  readonly input: JsonObject;
  readonly nextAt: number;
  readonly lastAt: number | null;
  readonly lastExecutionId: string | null;
  readonly lastError: string | null;
  readonly createdAt: number;
  /** Whoever scheduled it, as they were; null in rows of earlier releases, which do not run. */
  readonly mandate: Mandate | null;
  /** What was scheduled: this version, with this pin. */
  readonly version: number | null;
  readonly pin: string | null;
}

export interface PlanPhase {
  readonly id: number;
  readonly name: string;
  readonly description: string;
  readonly successCriteria: readonly string[];
  readonly state: "pending" | "current" | "succeeded" | "failed";
  readonly outcome?: string;
}

export interface PlanRow {
  readonly tenantId: string;
  readonly userId: string;
  /** The session, or the user's own where there is none. */
  readonly place: string;
  readonly id: string;
  readonly version: number;
  readonly goal: string;
  readonly phases: readonly PlanPhase[];
  readonly currentPhaseId: number | null;
  readonly updatedAt: number;
}

export type AgentStatus = "running" | "success" | "failed" | "stopped" | "expired";

export interface AgentRow {
  readonly id: string;
  readonly tenantId: string;
  readonly userId: string;
  readonly parentId: string | null;
  readonly groupId: string | null;
  readonly executionId: string;
  readonly instanceId: string;
  readonly depth: number;
  readonly objective: string;
  readonly tools: readonly string[];
  readonly budget: { readonly toolCalls: number; readonly tokens: number };
  readonly status: AgentStatus;
  readonly toolCalls: number;
  readonly tokens: number;
  readonly lastEvent: string;
  readonly result: Json;
  readonly startedAt: number;
  readonly endsAt: number;
  readonly endedAt: number | null;
}

export interface AgentMessage {
  readonly id: string;
  readonly agentId: string;
  readonly sender: "caller" | "agent";
  readonly body: string;
  readonly at: number;
}

export const QUESTION_STATES = [
  "pending",
  "answered",
  "declined",
  "expired",
  "not_presented",
] as const;
export type QuestionState = (typeof QUESTION_STATES)[number];

export interface QuestionRow {
  readonly id: string;
  readonly tenantId: string;
  readonly userId: string;
  readonly executionId: string;
  readonly question: string;
  readonly context: string | null;
  readonly options: readonly string[] | null;
  readonly state: QuestionState;
  readonly answer: string | null;
  readonly answeredBy: string | null;
  readonly createdAt: number;
  readonly expiresAt: number;
  readonly presentedAt: number | null;
  readonly decidedAt: number | null;
}

interface Owner {
  readonly tenantId: string;
  readonly userId: string;
}

/** Everybody of the tenant, or one of them. */
export interface WorkFilter {
  readonly tenantId: string;
  readonly userId?: string;
}

/** What administrators and owners look at; nothing is changed. */
export interface WorkReads {
  /** Newest versions, newest first. */
  workflows(filter: WorkFilter, page: Page): Promise<WorkflowRow[]>;
  /** Of one workflow, newest first. */
  runs(filter: WorkFilter & { readonly workflowId: string }, page: Page): Promise<RunRow[]>;
  run(filter: WorkFilter, id: string): Promise<RunRow | null>;
  /** By when they are due next. */
  schedules(
    filter: WorkFilter & { readonly workflowId?: string },
    page: Page,
  ): Promise<ScheduleRow[]>;
}

export interface WorkStore {
  readonly memory: MemoryQueries;

  readonly work: WorkReads;

  readonly workflows: {
    /** Throws AlreadyExists("workflow") where the version is taken. */
    create(row: WorkflowRow): Promise<void>;
    /** The version, or (null) the newest. */
    get(owner: Owner, id: string, version: number | null): Promise<WorkflowRow | null>;
    named(owner: Owner, name: string): Promise<WorkflowRow | null>;
    /** Newest versions, newest first, each with its last run; `search` is part of name or description. */
    list(
      owner: Owner,
      search: string,
      page: Page,
    ): Promise<{
      rows: (WorkflowRow & {
        scheduled: boolean;
        lastRun: Pick<RunRow, "id" | "status" | "startedAt"> | null;
      })[];
      total: number;
    }>;
  };

  readonly runs: {
    create(row: RunRow): Promise<void>;
    get(owner: Owner, id: string): Promise<RunRow | null>;
    ofExecution(owner: Owner, executionId: string): Promise<RunRow | null>;
    /** False when it has ended already: an end is final. */
    update(
      id: string,
      change: Pick<RunRow, "status" | "steps" | "output" | "error" | "endedAt">,
    ): Promise<boolean>;
    /** Runs an instance has not ended, or (null) of any that began before `startedBefore`. */
    open(filter: { instanceId: string } | { startedBefore: number }): Promise<RunRow[]>;
  };

  readonly schedules: {
    /** One per owner, workflow, cron and timezone: an existing one is changed and keeps its id. */
    save(row: ScheduleRow): Promise<ScheduleRow>;
    get(owner: Owner, id: string): Promise<ScheduleRow | null>;
    /**
     * Takes up to `limit` that are due, each for one instance until `leasedUntil`: of any number that try, one gets it.
     */
    lease(now: number, leasedUntil: number, limit: number): Promise<ScheduleRow[]>;
    /** Written before the run starts, so that a crash leaves it out instead of running it twice. */
    advance(id: string, change: { nextAt: number; lastAt: number }): Promise<void>;
    ended(
      id: string,
      change: { lastExecutionId: string | null; lastError: string | null; enabled: boolean },
    ): Promise<void>;
  };

  readonly plans: {
    get(owner: Owner, place: string): Promise<PlanRow | null>;
    /** Only over `fromVersion` (0: there is none yet); false when somebody was quicker. */
    save(row: PlanRow, fromVersion: number): Promise<boolean>;
  };

  readonly agents: {
    create(row: AgentRow): Promise<void>;
    get(owner: Owner, id: string): Promise<AgentRow | null>;
    /** All of a group, oldest first. */
    group(owner: Owner, groupId: string): Promise<AgentRow[]>;
    /** False when it has ended already. */
    update(
      id: string,
      change: Partial<
        Pick<AgentRow, "status" | "toolCalls" | "tokens" | "lastEvent" | "result" | "endedAt">
      >,
    ): Promise<boolean>;
    open(filter: { instanceId: string } | { endsBefore: number }): Promise<AgentRow[]>;
    say(message: AgentMessage): Promise<void>;
    messages(agentId: string, limit: number): Promise<AgentMessage[]>;
  };

  readonly questions: {
    ask(row: QuestionRow): Promise<void>;
    get(tenantId: string, id: string): Promise<QuestionRow | null>;
    /** Newest first. */
    list(
      filter: { tenantId: string; userId?: string; state?: QuestionState },
      limit: number,
    ): Promise<QuestionRow[]>;
    presented(ids: readonly string[], at: number): Promise<void>;
    /** pending -> its end, by exactly one of all that try; an answer only before it expires. */
    decide(
      id: string,
      change: {
        state: "answered" | "declined";
        answer: string | null;
        answeredBy: string;
        at: number;
      },
    ): Promise<QuestionRow | null>;
    /** Pending ones whose call has ended. */
    left(limit: number): Promise<QuestionRow[]>;
    /** Unanswered ones whose time is over become expired, or not_presented where nobody saw them. */
    expire(id: string, now: number): Promise<QuestionRow | null>;
  };
}
