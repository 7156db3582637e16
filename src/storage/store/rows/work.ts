// What tools keep for their callers: notes, plans, agents, questions; workflows are in workflow.ts. Queries name
// tenant and user; what belongs to others is absent.
import type { Json } from "../../../contract/call.ts";
import type { TextQuery } from "../../../util/text/words.ts";
import type { Owner, Page } from "./workflow.ts";

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

export interface WorkStore {
  readonly memory: MemoryQueries;

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
