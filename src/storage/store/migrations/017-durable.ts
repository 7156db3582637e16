import type { ColumnTypes } from "./index.ts";

// Work that goes on after a crash: its items on lease, the instances, what a run needs to be taken over, its history,
// and each due time of a schedule once.
export const durable = (t: ColumnTypes): string[] => [
  `create table work_items (
    kind text not null,
    id text not null,
    due_ms ${t.int},
    leased_by text,
    lease ${t.int} not null,
    woken ${t.int} not null,
    failures ${t.int} not null,
    primary key (kind, id)
  )${t.clustered}`,
  `create index work_items_due on work_items (due_ms) where due_ms is not null`,
  `create index work_items_leased on work_items (leased_by) where leased_by is not null`,
  `create table instances (
    id text not null primary key,
    started_at ${t.int} not null,
    seen_at ${t.int} not null,
    lost_at ${t.int}
  )`,
  `alter table workflow_runs add column fence ${t.int} not null default 0`,
  `alter table workflow_runs add column mandate text`,
  `alter table workflow_runs add column parent text`,
  `alter table workflow_runs add column parent_run_id text`,
  `alter table workflow_runs add column wanted text`,
  `alter table workflow_runs add column wanted_by text`,
  `alter table workflow_runs add column start_key text`,
  `alter table workflow_runs add column waits_for text`,
  `create unique index workflow_runs_by_start on workflow_runs (start_key) where start_key is not null`,
  `create index workflow_runs_waiting on workflow_runs (tenant_id, user_id) where waits_for is not null and ended_at is null`,
  `create index workflow_runs_by_user on workflow_runs (tenant_id, user_id, started_at, id)`,
  `create index workflow_runs_by_status on workflow_runs (tenant_id, status, started_at, id)`,
  `create index workflow_runs_by_tenant on workflow_runs (tenant_id, started_at, id)`,
  `create table run_events (
    run_id text not null,
    seq ${t.int} not null,
    at_ms ${t.int} not null,
    kind text not null,
    body text not null,
    primary key (run_id, seq)
  )${t.clustered}`,
  `alter table schedules add column catch_up text not null default 'once'`,
  `alter table schedules add column overlap text not null default 'skip'`,
  `alter table schedules drop column leased_until`,
  `create table due_times (
    schedule_id text not null,
    due_at ${t.int} not null,
    state text not null,
    execution_id text,
    note text,
    ended_at ${t.int},
    primary key (schedule_id, due_at)
  )${t.clustered}`,
  `create index due_times_open on due_times (schedule_id, due_at) where ended_at is null`,
  `create index due_times_ended on due_times (ended_at) where ended_at is not null`,
];
