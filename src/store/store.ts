// The store port: durable and transactional. SQLite on one machine, PostgreSQL beyond it; one suite proves both alike.
import { z } from "zod";
import type { CancelReason, Json, JsonObject, Level, Plan, Status } from "../call.ts";
import type { Tool } from "../tools/tool.ts";

export const storeConfig = z
  .string()
  .regex(
    /^(sqlite:.+|postgres(ql)?:\/\/.+)$/,
    "expected sqlite:<file> or postgres://user@host/database",
  )
  .describe(
    "Where everything durable lives: sqlite:<file> (relative to the data directory) or postgres://…",
  );

/** Audit actions (requirements C27). */
export const ACTIONS = [
  "tool.execution.start", "tool.execution.complete", "tool.execution.failed", "tool.execution.cancelled",
  "tool.execution.denied", "tool.execution.held",
  "server.started", "server.stopped", "config.changed",
  "user.created", "user.changed", "key.created", "key.revoked", "key.rotated", "capsule.created", "capsule.changed",
  "tool.changed", "login.used",
] as const; // prettier-ignore
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

/** Body of `tool.execution.start`, and (with the end merged in) of `.denied`: an execution's first event. */
export interface StartBody {
  readonly toolName: string;
  readonly requestedName: string;
  readonly category: string;
  readonly status: Status;
  /** Masked before it gets here. */
  readonly arguments: JsonObject;
  readonly startTime: number;
  readonly timeout: number;
  readonly userId: string;
  readonly tenantId: string;
  readonly capsuleId: string | null;
  readonly keyId: string | null;
  readonly sessionId: string | null;
  readonly metadata: JsonObject | null;
  readonly idempotencyKey: string | null;
  readonly traceId: string;
  readonly spanId: string;
  readonly toolVersion: string | null;
  readonly toolPin: string | null;
  readonly runner: string | null;
  readonly entry: string;
  readonly instanceId: string;
  readonly gates: readonly Json[];
}

/** Body of `.complete`, `.failed`, `.cancelled`. */
export interface EndBody {
  readonly status: Status;
  readonly endTime: number;
  readonly executionTime: number;
  readonly result: Json;
  readonly error: string | null;
  readonly errorCode: string | null;
  readonly errorReason: string | null;
  readonly remedy: string | null;
  readonly cancelReason: CancelReason | null;
  readonly metadata: JsonObject | null;
  /** For the rollups, so that the projection needs no look-up. */
  readonly toolName: string;
  readonly category: string;
  readonly userId: string;
  readonly startTime: number;
}

/** A denied call is one event: start and end together. */
export type DeniedBody = StartBody & EndBody;

export interface ExecutionRecord extends StartBody {
  readonly id: string;
  readonly endTime: number | null;
  readonly executionTime: number | null;
  readonly result: Json;
  readonly error: string | null;
  readonly errorCode: string | null;
  readonly errorReason: string | null;
  readonly remedy: string | null;
  readonly cancelReason: CancelReason | null;
  readonly resultMetadata: JsonObject | null;
}

export interface HistoryFilter {
  readonly tenantId: string;
  readonly userId: string;
  readonly toolName?: string;
  readonly category?: string;
  readonly status?: Status;
  /** Inclusive, epoch ms, on the start time. */
  readonly from?: number;
  readonly to?: number;
}

export interface HistoryPage {
  readonly limit: number;
  readonly offset?: number;
  /** Keyset: rows that come after this execution, newest first. */
  readonly after?: { readonly startTime: number; readonly id: string };
}

/** Finished executions counted by rollups, never by a scan. Denied calls count as failed. */
export interface Figures {
  readonly total: number;
  readonly success: number;
  readonly failed: number;
  /** All cancelled ones, timeouts included. */
  readonly cancelled: number;
  readonly timeout: number;
  /** ms; 0 when nothing has finished. */
  readonly averageExecutionTime: number;
}

export interface UsageRow extends Figures {
  readonly toolName: string;
  readonly category: string;
  readonly lastStart: number | null;
}

export interface UserRow {
  readonly id: string;
  readonly tenantId: string;
  readonly name: string;
  readonly role: "admin" | "user";
  readonly roles: readonly string[];
  readonly plan: Plan | null;
  readonly createdAt: number;
}

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
}

export interface CapsuleRow {
  readonly id: string;
  readonly tenantId: string;
  readonly name: string;
  readonly version: number;
  readonly status: "draft" | "active" | "archived";
  readonly isDefault: boolean;
  /** Tool names; the single entry `*` stands for every native tool (capsule `all`). */
  readonly capabilities: readonly string[];
  readonly createdAt: number;
  readonly updatedAt: number;
}

export interface MemoryRow {
  readonly key: string;
  readonly value: Json;
  readonly tags: readonly string[];
  readonly version: number;
  readonly updatedAt: number;
  readonly expiresAt: number | null;
}

/** Thrown by a write that would break uniqueness; `what` names the noun. */
export class AlreadyExists extends Error {
  readonly what: string;
  constructor(what: string) {
    super(`${what} already exists`);
    this.what = what;
  }
}

export interface Store {
  readonly kind: "sqlite" | "postgres";
  /** True when other instances may write: caches then need a lease. */
  readonly shared: boolean;

  readonly log: {
    /**
     * Durable when it resolves, with the sequence number of the event. Events appended while a commit is under way
     * form the next group; order of calls is order in the log. The execution projection and the rollups are written
     * in the same transaction. Rejects when the log cannot be written.
     */
    append(event: LogEvent): Promise<number>;
    /** Events of one user's executions after `seq`, oldest first, for resuming a stream. */
    since(seq: number, filter: { tenantId: string; actor: string }, limit: number): Promise<(LogEvent & { seq: number })[]>;
    /** Sequence number of the newest event, 0 when empty. */
    head(): Promise<number>;
  }; // prettier-ignore

  readonly executions: {
    get(id: string): Promise<ExecutionRecord | null>;
    /** Newest first. */
    list(filter: HistoryFilter, page: HistoryPage): Promise<ExecutionRecord[]>;
    figures(filter: HistoryFilter): Promise<Figures>;
    /** Per tool, of one user or (userId absent) of the tenant; all time. */
    usage(filter: { tenantId: string; userId?: string; toolName?: string }): Promise<UsageRow[]>;
    /** Running or pending rows of an instance, or of any instance when started before `startedBefore`. */
    open(filter: { instanceId: string } | { startedBefore: number }): Promise<ExecutionRecord[]>;
  };

  readonly idempotency: {
    /** Reserves (scope, key) for an execution; answers the earlier reservation when there is one younger than 24 h. */
    reserve(row: { scope: string; key: string; requestHash: string; executionId: string; at: number }): Promise<{ requestHash: string; executionId: string } | null>;
    /** Gives a reservation back when its execution never ran; another execution's stays. */
    release(row: { scope: string; key: string; executionId: string }): Promise<void>;
    find(scope: string, key: string, now: number): Promise<{ requestHash: string; executionId: string } | null>;
  }; // prettier-ignore

  readonly tenants: {
    ensure(row: { id: string; name: string; plan: Plan | null; createdAt: number }): Promise<void>;
    get(id: string): Promise<{ id: string; name: string; plan: Plan | null } | null>;
  };

  readonly users: {
    create(row: UserRow): Promise<void>;
    get(id: string): Promise<UserRow | null>;
    list(tenantId: string, page: { limit: number; after?: string }): Promise<UserRow[]>;
    update(
      id: string,
      change: Partial<Pick<UserRow, "name" | "role" | "roles" | "plan">>,
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
  };

  readonly capsules: {
    create(row: CapsuleRow): Promise<void>;
    get(id: string): Promise<CapsuleRow | null>;
    defaultOf(tenantId: string): Promise<CapsuleRow | null>;
    list(tenantId: string, page: { limit: number; after?: string }): Promise<CapsuleRow[]>;
    /** Raises the version. Setting isDefault takes it from the former default in the same transaction. */
    update(id: string, change: Partial<Pick<CapsuleRow, "name" | "status" | "isDefault" | "capabilities">> & { updatedAt: number }): Promise<CapsuleRow | null>;
  }; // prettier-ignore

  readonly capabilities: {
    /** Registered definitions, native ones included; `native` is null on what comes back. */
    all(): Promise<StoredTool[]>;
    /** Inserts or replaces by name in one transaction; every definition is kept under its pin. */
    save(tools: readonly StoredTool[]): Promise<void>;
    setEnabled(name: string, enabled: boolean): Promise<boolean>;
    remove(name: string): Promise<boolean>;
    definition(pin: string): Promise<StoredTool | null>;
  };

  readonly memory: {
    /** Atomic: with `ifVersion` the write happens only when the stored version equals it (0 = must be absent). Null = stale. */
    put(row: { tenantId: string; namespace: string; key: string; value: Json; tags: readonly string[]; at: number; expiresAt: number | null; ifVersion?: number }): Promise<{ version: number; created: boolean } | null>;
    get(tenantId: string, namespace: string, key: string, now: number): Promise<MemoryRow | null>;
  }; // prettier-ignore

  /** Small durable facts of the installation: instance id, server secret, one-time login links. */
  readonly facts: {
    get(name: string): Promise<string | null>;
    /** Sets only when absent; answers what is stored afterwards. */
    putIfAbsent(name: string, value: string): Promise<string>;
    set(name: string, value: string): Promise<void>;
    /** Deletes and answers whether it was there: a one-time token is used by exactly one caller. */
    take(name: string): Promise<string | null>;
  };

  /** Rejects when the store cannot answer. */
  ping(): Promise<void>;
  close(): Promise<void>;
}

export type StoredTool = Omit<Tool, "native">;

/** Opens the store the address names; migrations run first. Heavy drivers load only when chosen. */
export async function openStore(address: string, options: { dataDir: string }): Promise<Store> {
  if (address.startsWith("sqlite:")) {
    const { openSqlite } = await import("./sqlite.ts");
    return openSqlite(address.slice("sqlite:".length), options);
  }
  const { openPostgres } = await import("./postgres.ts");
  return openPostgres(address);
}
