// The tables as Kysely sees them: text ids, epoch ms, JSON as text, booleans as 0/1, alike on both databases.
import type { CancelReason, Level, Plan, Status } from "../call.ts";
import type { Action, CapsuleRow, UserRow } from "./store.ts";

interface EventsTable {
  seq: number;
  tenant_id: string;
  at_ms: number;
  action: Action;
  actor: string;
  execution_id: string | null;
  body: string;
  prev_hash: string | null;
  hash: string | null;
}

export interface ExecutionsTable {
  /** Number of the first event; ties of start_ms are ordered by it. */
  seq: number;
  id: string;
  tenant_id: string;
  user_id: string;
  tool_name: string;
  category: string;
  status: Status;
  cancel_reason: CancelReason | null;
  start_ms: number;
  end_ms: number | null;
  duration_ms: number | null;
  timeout_ms: number;
  instance_id: string;
  start_seq: number;
  end_seq: number | null;
}

/** A timeout is a cancelled execution that is counted apart. */
export type RollupStatus = "success" | "failed" | "cancelled" | "timeout";

export interface RollupsTable {
  tenant_id: string;
  /** Empty: of the whole tenant (all-time rows only). */
  user_id: string;
  /** Epoch hour of the start, or the sum of a day (`dayRow`) or of all time (ALL_TIME): both below zero. */
  hour: number;
  tool_name: string;
  category: string;
  status: RollupStatus;
  count: number;
  total_ms: number;
  last_start_ms: number;
}

export const ALL_TIME = -1;
export const WHOLE_TENANT = "";
export const HOUR_MS = 3_600_000;
export const DAY_HOURS = 24;

/** Days keep a range of months from reading every hour of it. They run backwards, below ALL_TIME. */
export function dayRow(epochDay: number): number {
  return ALL_TIME - 1 - epochDay;
}

interface CapabilitiesTable {
  name: string;
  pin: string;
  enabled: number;
  body: string;
}

interface MemoryTable {
  tenant_id: string;
  namespace: string;
  key: string;
  value: string;
  tags: string;
  version: number;
  /** The version it had when it was (re)created: versions go on when an expired key comes back. */
  created_version: number;
  updated_at: number;
  expires_at: number | null;
}

export interface Tables {
  events: EventsTable;
  executions: ExecutionsTable;
  rollups: RollupsTable;
  idempotency: {
    scope: string;
    key: string;
    request_hash: string;
    execution_id: string;
    at_ms: number;
  };
  tenants: { id: string; name: string; plan: Plan | null; created_at: number };
  users: {
    id: string;
    tenant_id: string;
    name: string;
    role: UserRow["role"];
    roles: string;
    plan: Plan | null;
    created_at: number;
  };
  keys: {
    id: string;
    tenant_id: string;
    user_id: string;
    name: string;
    prefix: string;
    salt: string;
    hash: string;
    scopes: string;
    level: Level | null;
    capsule_id: string | null;
    created_at: number;
    expires_at: number | null;
    revoked_at: number | null;
    last_used_at: number | null;
  };
  capsules: {
    id: string;
    tenant_id: string;
    name: string;
    version: number;
    status: CapsuleRow["status"];
    is_default: number;
    created_at: number;
    updated_at: number;
  };
  capsule_capabilities: { capsule_id: string; position: number; name: string };
  capabilities: CapabilitiesTable;
  definitions: { pin: string; body: string };
  memory: MemoryTable;
  facts: { name: string; value: string };
}
