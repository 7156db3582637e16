import type { ColumnTypes } from "./index.ts";

// The ledger stays bare: no secondary index, readers walk it by seq. History reads the projection beside it.
export const initial = (t: ColumnTypes): string[] => [
  `create table events (
    seq ${t.seq} primary key,
    tenant_id text not null,
    at_ms ${t.int} not null,
    action text not null,
    actor text not null,
    execution_id text,
    prev_hash text,
    hash text,
    body text not null
  )`,
  `create table executions (
    seq ${t.seq} primary key,
    id text not null unique,
    tenant_id text not null,
    user_id text not null,
    tool_name text not null,
    category text not null,
    status text not null,
    cancel_reason text,
    start_ms ${t.int} not null,
    end_ms ${t.int},
    duration_ms ${t.real},
    timeout_ms ${t.int} not null,
    instance_id text not null,
    start_seq ${t.int} not null,
    end_seq ${t.int}
  )`,
  `create index executions_by_time on executions (tenant_id, user_id, start_ms${t.thenSeq})`,
  `create index executions_by_tool on executions (tenant_id, user_id, tool_name, start_ms${t.thenSeq})`,
  `create index executions_by_category on executions (tenant_id, user_id, category, start_ms${t.thenSeq})`,
  // Two halves of one index: a start touches the small one, an end moves the row to the large one.
  `create index executions_by_status on executions (tenant_id, user_id, status, start_ms${t.thenSeq})
    where end_seq is not null`,
  `create index executions_open on executions (tenant_id, user_id, status, start_ms${t.thenSeq})
    where end_seq is null`,
  `create table rollups (
    tenant_id text not null,
    user_id text not null,
    hour ${t.int} not null,
    tool_name text not null,
    category text not null,
    status text not null,
    count ${t.int} not null,
    total_ms ${t.real} not null,
    last_start_ms ${t.int} not null,
    primary key (tenant_id, user_id, hour, tool_name, category, status)
  )${t.clustered}`,
  `create table idempotency (
    scope text not null,
    key text not null,
    request_hash text not null,
    execution_id text not null,
    at_ms ${t.int} not null,
    primary key (scope, key)
  )${t.clustered}`,
  `create index idempotency_by_age on idempotency (at_ms)`,
  `create table tenants (
    id text not null primary key,
    name text not null,
    plan text,
    created_at ${t.int} not null
  )`,
  `create table users (
    id text not null primary key,
    tenant_id text not null,
    name text not null,
    role text not null,
    roles text not null,
    plan text,
    created_at ${t.int} not null
  )`,
  `create index users_by_tenant on users (tenant_id, id)`,
  `create table keys (
    id text not null primary key,
    tenant_id text not null,
    user_id text not null,
    name text not null,
    prefix text not null,
    salt text not null,
    hash text not null,
    scopes text not null,
    level text,
    capsule_id text,
    created_at ${t.int} not null,
    expires_at ${t.int},
    revoked_at ${t.int},
    last_used_at ${t.int}
  )`,
  `create index keys_by_prefix on keys (prefix)`,
  `create index keys_by_tenant on keys (tenant_id, id)`,
  `create table capsules (
    id text not null primary key,
    tenant_id text not null,
    name text not null,
    version ${t.int} not null,
    status text not null,
    is_default ${t.int} not null,
    created_at ${t.int} not null,
    updated_at ${t.int} not null
  )`,
  `create index capsules_by_tenant on capsules (tenant_id, id)`,
  `create unique index capsules_one_default on capsules (tenant_id) where is_default = 1`,
  `create table capsule_capabilities (
    capsule_id text not null references capsules (id) on delete cascade,
    position ${t.int} not null,
    name text not null,
    primary key (capsule_id, position)
  )${t.clustered}`,
  `create table definitions (pin text not null primary key, body text not null)`,
  `create table capabilities (
    name text not null primary key,
    pin text not null,
    enabled ${t.int} not null,
    body text not null
  )`,
  `create table memory (
    tenant_id text not null,
    namespace text not null,
    key text not null,
    value text not null,
    tags text not null,
    version ${t.int} not null,
    created_version ${t.int} not null,
    updated_at ${t.int} not null,
    expires_at ${t.int},
    primary key (tenant_id, namespace, key)
  )`,
  `create table facts (name text not null primary key, value text not null)`,
];
