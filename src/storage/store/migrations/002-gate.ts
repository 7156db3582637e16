import type { ColumnTypes } from "./index.ts";

// What the gate keeps: relationships, governed documents, approvals, budgets, and the numbers instances follow.
export const gate = (t: ColumnTypes): string[] => [
  `alter table keys add column limits text`,
  `alter table executions add column approval_id text`,
  // Never holds a row: a statement that inserts here fails, and takes its whole batch with it.
  `create table guards (holds ${t.int} not null constraint guards_hold check (holds = 1))`,
  `create table tuples (
    resource_type text not null,
    resource_id text not null,
    relation text not null,
    subject_type text not null,
    subject_id text not null,
    subject_relation text not null,
    caveat text not null,
    caveat_context text not null,
    expires_at ${t.int},
    primary key (resource_type, resource_id, relation, subject_type, subject_id, subject_relation)
  )${t.clustered}`,
  `create index tuples_by_expiry on tuples (expires_at) where expires_at is not null`,
  `create table tuple_changes (revision ${t.seq} primary key, changes text not null)`,
  `create table documents (
    kind text not null,
    version ${t.int} not null,
    state text not null,
    files text not null,
    hash text not null,
    note text not null,
    created_by text not null,
    created_at ${t.int} not null,
    enforced_at ${t.int},
    primary key (kind, version)
  )`,
  `create unique index documents_in_force on documents (kind, state) where state in ('enforced', 'shadow')`,
  `create table approvals (
    id text not null primary key,
    tenant_id text not null,
    execution_id text not null,
    requester text not null,
    key_id text,
    capsule_id text,
    tool_name text not null,
    tool_pin text not null,
    policy_version text not null,
    requested_binding text not null,
    binding text not null,
    arguments text not null,
    edited_arguments text,
    sealed text,
    edited_sealed text,
    risk text not null,
    reasons text not null,
    state text not null,
    needed ${t.int} not null,
    created_at ${t.int} not null,
    expires_at ${t.int} not null,
    presented_at ${t.int},
    decided_at ${t.int}
  )`,
  `create unique index approvals_one_pending on approvals (tenant_id, requester, requested_binding) where state = 'pending'`,
  `create index approvals_by_execution on approvals (execution_id)`,
  `create index approvals_by_time on approvals (tenant_id, created_at, id)`,
  // The inbox is looked at each second; what is over must not slow it down.
  `create index approvals_waiting on approvals (tenant_id, created_at, id) where state = 'pending'`,
  `create index approvals_undone on approvals (expires_at) where state in ('pending', 'approved')`,
  `create table approval_votes (
    approval_id text not null,
    user_id text not null,
    decision text not null,
    comment text,
    at_ms ${t.int} not null,
    primary key (approval_id, user_id)
  )${t.clustered}`,
  `create table standing_rules (
    id text not null primary key,
    tenant_id text not null,
    user_id text not null,
    tool_name text not null,
    tool_pin text not null,
    matches text not null,
    from_approval text not null,
    created_by text not null,
    created_at ${t.int} not null,
    expires_at ${t.int} not null,
    revoked_at ${t.int}
  )`,
  `create index standing_rules_in_force on standing_rules (tenant_id, expires_at) where revoked_at is null`,
  `create table usage (
    tenant_id text not null,
    period text not null,
    metric text not null,
    used ${t.real} not null,
    primary key (tenant_id, period, metric)
  )${t.clustered}`,
  `create table reservations (
    execution_id text not null,
    metric text not null,
    tenant_id text not null,
    period text not null,
    amount ${t.real} not null,
    instance_id text not null,
    at_ms ${t.int} not null,
    primary key (execution_id, metric)
  )${t.clustered}`,
  `create index reservations_by_budget on reservations (tenant_id, period, metric, amount)`,
  `create index reservations_by_instance on reservations (instance_id)`,
  `create table revisions (name text not null primary key, revision ${t.int} not null)`,
];
