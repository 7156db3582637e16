// The store port: durable and transactional. SQLite on one machine, PostgreSQL beyond it; one suite proves both alike.
import { z } from "zod";
import type { Json, JsonObject, KeyLimits, Level, Plan } from "../../contract/call.ts";
import type { DocumentKind, DocumentState, DocumentVersion } from "../../contract/document.ts";
import type { Tool } from "../../contract/tool.ts";
import type { WatchedFiles } from "../../util/files/watched-files.ts";
import type { EventFacts } from "./body.ts";
import type {
  AgentRecordStore,
  CapsuleBody,
  CapsuleEdit,
  CapsuleRow,
  CapsuleRowChange,
  CapsuleVersionRow,
} from "./rows/agent.ts";
import type {
  ApprovalHead,
  ApprovalRow,
  ApprovalVote,
  StandingRuleRow,
  TupleChange,
  TupleKey,
  TupleRow,
} from "./rows/gate.ts";
import type { ConversationStore } from "./rows/conversation.ts";
import type { DurableStore } from "./rows/durable.ts";
import type { ExecutionStore, ResultRoom, ResultRow } from "./rows/history.ts";
import type {
  ChainHead,
  CheckpointRow,
  HistoryAgreement,
  HistoryQuestion,
  LedgerRow,
  SegmentRow,
} from "./rows/ledger.ts";
import type { ProgramStore } from "./rows/program.ts";
import type { SignInStore } from "./rows/sign-in.ts";
import type { ToolDraftStore } from "./rows/tool-drafts.ts";
import type { UpstreamStore } from "./rows/upstream.ts";
import type { WebhookStore } from "./rows/webhook.ts";
import type { WorkStore } from "./rows/work.ts";
import type { WorkflowStore } from "./rows/workflow.ts";

export type * from "./body.ts";
export type * from "./rows/ledger.ts";
export * from "./rows/agent.ts";
export * from "./rows/conversation.ts";
export type * from "./rows/durable.ts";
export * from "./rows/gate.ts";
export * from "./rows/history.ts";
export type * from "./rows/program.ts";
export type * from "./rows/sign-in.ts";
export * from "./rows/tool-drafts.ts";
export * from "./rows/upstream.ts";
export * from "./rows/webhook.ts";
export * from "./rows/work.ts";
export * from "./rows/workflow.ts";

export const storeConfig = z
  .string()
  .regex(
    /^(sqlite:.+|postgres(ql)?:\/\/.+)$/,
    "expected sqlite:<file> or postgres://user@host/database",
  )
  .describe(
    "Where everything durable lives: sqlite:<file> (relative to the data directory) or postgres://…",
  );

/** Audit actions. */
export const ACTIONS = [
  "tool.execution.start",
  "tool.execution.complete",
  "tool.execution.failed",
  "tool.execution.cancelled",
  "tool.execution.denied",
  "tool.execution.held",
  "server.started",
  "server.stopped",
  "config.changed",
  "tenant.changed",
  "user.created",
  "user.changed",
  "key.created",
  "key.changed",
  "key.revoked",
  "key.rotated",
  "capsule.created",
  "capsule.changed",
  "persona.created",
  "persona.changed",
  "persona.removed",
  "tool.changed",
  "tool.drafted",
  "tool.tested",
  "tool.linked",
  "tool.rejected",
  "tool.unlinked",
  "tool.rolled_back",
  "login.used",
  "login.ended",
  "approval.requested",
  "approval.voted",
  "approval.approved",
  "approval.declined",
  "approval.expired",
  "approval.not_presented",
  "approval.cancelled",
  "approval.consumed",
  "approval.rule_created",
  "approval.rule_revoked",
  "mode.changed",
  "mode.proposed",
  "sensor.warning",
  "policy.changed",
  "governance.changed",
  "relations.changed",
  "chat.message",
  "chat.session",
  "asset.added",
  "asset.removed",
  "schedule.changed",
  "schedule.removed",
  "question.asked",
  "question.answered",
  "question.declined",
  "workflow.run",
  "history.rebuilt",
  "audit.archived",
  "audit.exported",
  "audit.rolled_back",
  "budget.low",
  "tool.refusals.suppressed",
  "webhook.created",
  "webhook.changed",
  "webhook.removed",
  "webhook.disabled",
  "upstream.added",
  "upstream.changed",
  "upstream.removed",
  "upstream.status",
  "upstream.tools_seen",
  "upstream.tool_decided",
  "upstream.credential_changed",
] as const;
export type Action = (typeof ACTIONS)[number];

/** One entry of the append-only log. `body` is JSON text, written once and never changed. */
export interface LogEvent {
  readonly tenantId: string;
  readonly at: number;
  readonly action: Action;
  /** Who did it: a user id. */
  readonly actor: string;
  readonly executionId: string | null;
  readonly body: string;
}

/** Events of the actor's executions in the tenant, and of the actions that a listener gets besides. */
export interface LogFilter {
  readonly tenantId: string;
  readonly actor: string;
  /** Also those of all other actors in the tenant. */
  readonly everyActor?: boolean;
  /** Also events of these actions in the tenant, by any actor. */
  readonly tenantActions?: readonly Action[];
  /** Also events of these actions in any tenant. */
  readonly anyTenantActions?: readonly Action[];
}

export interface TenantRow {
  readonly id: string;
  readonly name: string;
  readonly plan: Plan | null;
}

export interface UserRow {
  readonly id: string;
  readonly tenantId: string;
  readonly name: string;
  readonly role: "admin" | "user";
  readonly roles: readonly string[];
  readonly plan: Plan | null;
  /** Their own settings, as programs of theirs like to read them; at most MAX_PREFERENCES_BYTES as JSON. */
  readonly preferences: JsonObject;
  readonly createdAt: number;
}

export const MAX_PREFERENCES_BYTES = 16_384;

export interface KeyRow {
  readonly id: string;
  readonly tenantId: string;
  readonly userId: string;
  readonly name: string;
  /** First characters of the key, enough to recognise it. */
  readonly prefix: string;
  readonly salt: string;
  readonly hash: string;
  readonly scopes: readonly string[];
  readonly level: Level | null;
  readonly capsuleId: string | null;
  readonly createdAt: number;
  readonly expiresAt: number | null;
  readonly revokedAt: number | null;
  readonly lastUsedAt: number | null;
  /** Calls of this key; null: no window of its own. */
  readonly limits: KeyLimits | null;
}

/** Thrown by a write that would break uniqueness; `what` names the noun. */
export class AlreadyExists extends Error {
  readonly what: string;
  constructor(what: string) {
    super(`${what} already exists`);
    this.what = what;
  }
}

/** Thrown when a condition of a write does not hold; nothing was written. */
export class PreconditionFailed extends Error {}

/** Calls go on and are in the log, but history lacks some of them. */
export class HistoryBehind extends Error {}

/** The log cannot be written, so nothing runs. The message is public. */
export class LogUnwritable extends Error {}

export interface Store
  extends
    WorkStore,
    ToolDraftStore,
    WorkflowStore,
    DurableStore,
    ProgramStore,
    ConversationStore,
    WebhookStore,
    UpstreamStore,
    AgentRecordStore {
  readonly kind: "sqlite" | "postgres";
  /** True when other instances may write: caches then need a lease. */
  readonly shared: boolean;

  readonly log: {
    /**
     * Durable when it resolves, with the sequence number of the event. Events appended while a commit is under way
     * form the next group; order of calls is order in the log. Rejects when the log cannot be written. Executions and
     * rollups follow: on PostgreSQL in the same transaction, on SQLite in a later one that reads of them wait for.
     * `known` is what the body holds: with it the text need not be parsed.
     */
    append(event: LogEvent, known?: EventFacts): Promise<number>;
    /**
     * Events of one user's executions after `seq`, oldest first, for resuming a stream. A page ends early where they
     * are large; an empty one is the end.
     */
    since(seq: number, filter: LogFilter, limit: number): Promise<(LogEvent & { seq: number })[]>;
    /**
     * Every event after a number, oldest first, as the ledger has it; one tenant's alone when named. Pages as with
     * `since`.
     */
    read(after: number, limit: number, tenantId?: string): Promise<LedgerRow[]>;
    /** Sequence number of the newest event, 0 when empty. */
    head(): Promise<number>;
  };

  /** What proves the log: see src/storage/ledger. */
  readonly ledger: {
    /** Where each chain ends. */
    heads(): Promise<ChainHead[]>;
    addCheckpoint(row: CheckpointRow): Promise<void>;
    lastCheckpoint(instanceId: string): Promise<CheckpointRow | null>;
    /**
     * Of all servers, oldest first: those that were made when the log stood after `afterSeq`, at most at
     * `throughSeq`.
     */
    checkpoints(afterSeq: number, throughSeq?: number): Promise<CheckpointRow[]>;
    /** The newest of each server. */
    lastCheckpoints(): Promise<CheckpointRow[]>;
    /** Oldest first. */
    segments(): Promise<SegmentRow[]>;
    /**
     * Number of the oldest event that is still needed: by an open execution, or a follower of the log; null when
     * nobody does.
     */
    needed(now: number): Promise<number | null>;
    /** Notes that the beginning of the log lies in a file, and takes it out of the database, in one step. */
    archive(row: SegmentRow): Promise<void>;
    /** Compares history with the log, in pages; calls go on meanwhile. */
    agreement(question: HistoryQuestion): Promise<HistoryAgreement>;
  };

  /** How far those who follow the log have come. One server follows at a time: the one that holds the lease. */
  readonly cursors: {
    seq(name: string): Promise<number | null>;
    /**
     * Takes or keeps the lease when nobody else has it; answers how far it is (from `start` the first time), null
     * when another has it.
     */
    hold(
      name: string,
      owner: string,
      now: number,
      until: number,
      start: number,
    ): Promise<number | null>;
    /** False when the lease was lost: then another goes on from where it was. */
    advance(name: string, owner: string, seq: number): Promise<boolean>;
    release(name: string, owner: string): Promise<void>;
  };

  readonly executions: ExecutionStore;

  readonly idempotency: {
    /** Reserves (scope, key) for an execution; answers the earlier reservation when there is one younger than 24 h. */
    reserve(row: {
      scope: string;
      key: string;
      requestHash: string;
      executionId: string;
      at: number;
    }): Promise<{ requestHash: string; executionId: string } | null>;
    /** Gives a reservation back when its execution never ran; another execution's stays. */
    release(row: { scope: string; key: string; executionId: string }): Promise<void>;
    find(
      scope: string,
      key: string,
      now: number,
    ): Promise<{ requestHash: string; executionId: string } | null>;
  };

  /**
   * Whole results that callers may fetch later, where the record keeps only the beginning. For a day, and not without
   * end.
   */
  readonly results: {
    /** Those of the same user, then of all users, make room for it, oldest first. */
    put(row: ResultRow, room: ResultRoom): Promise<void>;
    get(executionId: string, now: number): Promise<Json | undefined>;
  };

  readonly tenants: {
    ensure(row: { id: string; name: string; plan: Plan | null; createdAt: number }): Promise<void>;
    get(id: string): Promise<TenantRow | null>;
    update(id: string, change: Pick<TenantRow, "plan">): Promise<TenantRow | null>;
  };

  readonly users: {
    create(row: UserRow): Promise<void>;
    get(id: string): Promise<UserRow | null>;
    list(tenantId: string, page: { limit: number; after?: string }): Promise<UserRow[]>;
    update(
      id: string,
      change: Partial<Pick<UserRow, "name" | "role" | "roles" | "plan" | "preferences">>,
    ): Promise<UserRow | null>;
  };

  readonly keys: {
    create(row: KeyRow): Promise<void>;
    get(id: string): Promise<KeyRow | null>;
    byPrefix(prefix: string): Promise<KeyRow[]>;
    list(
      tenantId: string,
      page: { limit: number; after?: string; userId?: string },
    ): Promise<KeyRow[]>;
    /** False when it was revoked already or does not exist. */
    revoke(id: string, at: number): Promise<boolean>;
    touch(uses: readonly { id: string; at: number }[]): Promise<void>;
    expire(id: string, at: number): Promise<void>;
    update(id: string, change: Pick<KeyRow, "limits">): Promise<KeyRow | null>;
  };

  readonly signIns: SignInStore;

  readonly capsules: {
    create(row: CapsuleRow): Promise<void>;
    get(id: string): Promise<CapsuleRow | null>;
    defaultOf(tenantId: string): Promise<CapsuleRow | null>;
    list(tenantId: string, page: { limit: number; after?: string }): Promise<CapsuleRow[]>;
    /**
     * Makes a new version that acts at once, and archives the one before. Setting isDefault takes it from the former
     * default in the same transaction.
     */
    update(id: string, change: CapsuleRowChange & CapsuleEdit): Promise<CapsuleRow | null>;
    /** A new version of the acting body that does not act until it is activated. */
    draft(
      id: string,
      change: Partial<CapsuleBody> & CapsuleEdit,
    ): Promise<CapsuleVersionRow | null>;
    /** Newest first. */
    versions(id: string, page: { limit: number; before?: number }): Promise<CapsuleVersionRow[]>;
    version(id: string, version: number): Promise<CapsuleVersionRow | null>;
    /**
     * A draft newer than what acts becomes the version that acts; any other body becomes a new version. The one that
     * acted is archived. Null when there is no such version.
     */
    activate(id: string, version: number, edit: CapsuleEdit): Promise<CapsuleRow | null>;
  };

  readonly capabilities: {
    /** Registered definitions, native ones included; `native` is null on what comes back. */
    all(): Promise<StoredTool[]>;
    /**
     * Inserts or replaces by name in one transaction; every definition is kept under its pin. The id and the first day
     * of a name stay; `at` is when its pin changed.
     */
    save(tools: readonly StoredTool[], at: number): Promise<void>;
    record(name: string): Promise<CapabilityRecord | null>;
    setEnabled(name: string, enabled: boolean): Promise<boolean>;
    remove(name: string): Promise<boolean>;
    definition(pin: string): Promise<StoredTool | null>;
  };

  /** Relationships of the embedded engine. Expired ones may be swept by any write. */
  readonly tuples: {
    all(): Promise<{ revision: number; tuples: TupleRow[] }>;
    /** What changed after a revision, oldest first; null when that is too long ago and `all` must be read. */
    since(revision: number): Promise<{ revision: number; changes: TupleChange[] } | null>;
    /**
     * Atomic, preconditions included; answers the new revision. Throws AlreadyExists("relationship") for a `create`
     * of what is there (an expired one is not there), PreconditionFailed when one does not hold.
     */
    write(
      changes: readonly TupleChange[],
      preconditions: readonly { matches: boolean; filter: Partial<TupleKey> }[],
      now: number,
    ): Promise<number>;
  };

  /** Policies, governance files and the relation schema, each version kept. */
  readonly documents: {
    /** Takes the next version number of its kind. */
    create(row: Omit<DocumentVersion, "version">): Promise<DocumentVersion>;
    get(kind: DocumentKind, version: number): Promise<DocumentVersion | null>;
    inState(kind: DocumentKind, state: "enforced" | "shadow"): Promise<DocumentVersion | null>;
    /** Newest first, files included. */
    list(kind: DocumentKind, page: { limit: number; before?: number }): Promise<DocumentVersion[]>;
    /**
     * To enforced or shadow: the version in that state retires in the same transaction. Null when there is no such
     * version.
     */
    setState(
      kind: DocumentKind,
      version: number,
      state: DocumentState,
      at: number,
    ): Promise<DocumentVersion | null>;
  };

  readonly approvals: {
    /**
     * Unique among pending ones by (tenant, requester, binding as requested): answers the one that is there instead.
     * One whose time is over is not joined but ended in the same step; `ended` has it, its execution is still to be
     * closed.
     */
    request(
      row: ApprovalRow,
    ): Promise<{ row: ApprovalRow; joined: boolean; ended: readonly ApprovalRow[] }>;
    get(id: string): Promise<ApprovalRow | null>;
    ofExecution(executionId: string): Promise<ApprovalRow | null>;
    /** Newest first. */
    list(
      filter: {
        tenantId: string;
        requester?: string;
        state?: ApprovalRow["state"];
        toolName?: string;
        /** Only those that people agreed to, used or not. */
        granted?: true;
      },
      page: { limit: number; after?: { createdAt: number; id: string } },
    ): Promise<ApprovalHead[]>;
    /** What the heads leave out, masked as people see it; by id. */
    argumentsOf(
      ids: readonly string[],
    ): Promise<Map<string, Pick<ApprovalRow, "arguments" | "editedArguments">>>;
    /** How many wait, and the bytes of their sealed calls. */
    pendingOf(tenantId: string, requester: string): Promise<{ count: number; bytes: number }>;
    /** When what was asked in a range of time (both ends inclusive) was decided; newest first. */
    waits(
      filter: {
        tenantId: string;
        requester?: string;
        toolName?: string;
        from: number;
        to: number;
      },
      limit: number,
    ): Promise<Pick<ApprovalRow, "createdAt" | "decidedAt" | "state">[]>;
    /** Of all tenants. */
    pending(): Promise<number>;
    presented(ids: readonly string[], at: number): Promise<void>;
    /**
     * One vote per person, atomic: the n-th approve makes it approved, one decline declined. With `edit` the
     * arguments and the binding are replaced and only this vote counts. Null: not pending, expired, voted already,
     * edited since (the binding is no longer the one `seen`), or the voter is the requester, which the statement
     * itself refuses unless the vote allows it (`self`) and one person is enough.
     */
    vote(
      id: string,
      vote: ApprovalVote & { readonly self?: true },
      edit?: { arguments: JsonObject; sealed: string; binding: string },
      seen?: string,
    ): Promise<ApprovalRow | null>;
    /** approved -> consumed, by exactly one of all that try; only with the same binding and before it expires. */
    consume(id: string, binding: string, at: number): Promise<boolean>;
    /** pending (or approved) -> the given end; drops the sealed call. False when it was not. */
    end(
      id: string,
      from: "pending" | "approved",
      to: "cancelled" | "expired" | "not_presented",
      at: number,
    ): Promise<boolean>;
    /** Pending or approved ones whose time is over. */
    overdue(now: number, limit: number): Promise<ApprovalHead[]>;
    /** Approved before `decidedBefore` and not used: the instance that should have resumed them died. */
    stranded(decidedBefore: number, limit: number): Promise<ApprovalHead[]>;
    /** Pending, but their execution never got a record: the instance died in between. */
    unheld(createdBefore: number, limit: number): Promise<ApprovalHead[]>;
    /** Pending or approved ones of all tenants, by id, from the one after `after` on. */
    open(after: string, limit: number): Promise<ApprovalHead[]>;
    /** Ended without being used, but their execution still waits: the instance died in between. */
    unended(decidedBefore: number, limit: number): Promise<ApprovalHead[]>;
  };

  readonly standingRules: {
    create(row: StandingRuleRow): Promise<void>;
    /** Not revoked; expired ones left out. */
    active(tenantId: string, now: number): Promise<StandingRuleRow[]>;
    get(id: string): Promise<StandingRuleRow | null>;
    revoke(id: string, at: number): Promise<boolean>;
  };

  /**
   * Budgets per tenant and month. Use is counted by the log itself (start and end events), in the same transaction.
   * What is called a metric here is the name of a counter: the tenant's own, or that of one of its users or keys.
   */
  readonly usage: {
    /**
     * Atomic over all amounts: each `used + reserved + amount` must stay within its limit (null: none), else nothing is
     * taken and the first that does not fit is named. Repeating it for the same execution takes nothing more.
     */
    reserve(row: {
      executionId: string;
      instanceId: string;
      tenantId: string;
      period: string;
      at: number;
      amounts: readonly { metric: string; amount: number; limit: number | null }[];
    }): Promise<{ ok: true } | { ok: false; metric: string; used: number }>;
    /**
     * One of each counter for each of many executions that have reserved nothing yet, in their order, as many as fit
     * all of them, in one transaction. Answers those that got theirs, and what is taken of each counter now.
     */
    reserveOnes(
      executionIds: readonly string[],
      row: {
        instanceId: string;
        tenantId: string;
        period: string;
        at: number;
        counters: readonly { metric: string; limit: number }[];
      },
    ): Promise<{ taken: ReadonlySet<string>; used: readonly number[] }>;
    /** Use that is no part of an execution: requests. */
    add(
      rows: readonly { tenantId: string; period: string; metric: string; amount: number }[],
    ): Promise<void>;
    release(executionId: string): Promise<void>;
    /** Reservations of an instance whose execution neither started nor waits for a person: at its next start. */
    releaseOrphans(instanceId: string): Promise<number>;
    of(
      tenantId: string,
      period: string,
      /** Only these counters. */
      metrics?: readonly string[],
    ): Promise<{ metric: string; used: number; reserved: number }[]>;
  };

  /**
   * Numbers that rise when something changed, so that every instance notices: policy, governance, relations, mode,
   * tools …
   */
  readonly revisions: {
    bump(name: string): Promise<number>;
    all(): Promise<Readonly<Record<string, number>>>;
  };

  /** Small durable facts of the installation: instance id, server secret, one-time login links. */
  readonly facts: {
    get(name: string): Promise<string | null>;
    /** Sets only when absent; answers what is stored afterwards. */
    putIfAbsent(name: string, value: string): Promise<string>;
    set(name: string, value: string): Promise<void>;
    /** Sets only while it still holds `from` (null: while it is absent); answers whether it did. */
    replace(name: string, from: string | null, to: string): Promise<boolean>;
    /** Deletes and answers whether it was there: a one-time token is used by exactly one caller. */
    take(name: string): Promise<string | null>;
  };

  /**
   * Starts of several instances on one database go one after the other. One that waited for half a minute starts all
   * the same, as what a start writes is written once in any case: one that froze in the middle keeps nobody out.
   */
  alone<T>(start: () => Promise<T>): Promise<T>;
  /**
   * Rejects when the store cannot answer, with LogUnwritable when it answers and the log cannot be written, with
   * HistoryBehind when it answers with less than it should, with FilesLost when what is written would be lost.
   */
  ping(): Promise<void>;
  close(): Promise<void>;
}

export type StoredTool = Omit<Tool, "native">;

/** What the store knows of a capability besides its definition. */
export interface CapabilityRecord {
  /** UUID; the same as long as the name is registered. */
  readonly id: string;
  readonly createdAt: number;
  /** When its pin changed last. */
  readonly updatedAt: number;
}

export interface StoreOptions {
  readonly dataDir: string;
  /** Under whose name this server chains what it writes. */
  readonly instanceId?: string;
  /** Called for each group of writes that became durable. */
  readonly onCommit?: (size: number, ms: number) => void;
  /** While one of these is lost nothing is acknowledged. The store adds its own. */
  readonly files?: WatchedFiles;
}

/** For those who open a store beside a server, as tests and benchmarks do. */
export const NO_INSTANCE = "none";

/** Opens the store the address names; migrations run first. Heavy drivers load only when chosen. */
export async function openStore(address: string, options: StoreOptions): Promise<Store> {
  if (address.startsWith("sqlite:")) {
    const { openSqlite } = await import("./sqlite/sqlite.ts");
    return openSqlite(address.slice("sqlite:".length), options);
  }
  const { openPostgres } = await import("./postgres/postgres.ts");
  return openPostgres(address, options);
}
