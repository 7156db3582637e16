import type { ColumnTypes } from "./index.ts";

// What tools keep for their callers: notes that can be searched, workflows, plans, agents, questions, drafted tools.
export const work = (t: ColumnTypes): string[] => [
  ...(t.kind === "sqlite" ? SQLITE_SEARCH : POSTGRES_SEARCH),
  `create index memory_by_expiry on memory (expires_at) where expires_at is not null`,
  `create table workflows (
    id text not null,
    version ${t.int} not null,
    tenant_id text not null,
    user_id text not null,
    name text not null,
    description text not null,
    sought text not null,
    started_by text not null,
    steps text not null,
    input_schema text,
    risk text not null,
    created_at ${t.int} not null,
    primary key (id, version)
  )`,
  `create unique index workflows_by_name on workflows (tenant_id, user_id, name, version)`,
  `create table workflow_runs (
    id text not null primary key,
    tenant_id text not null,
    user_id text not null,
    workflow_id text not null,
    version ${t.int} not null,
    execution_id text not null,
    instance_id text not null,
    status text not null,
    input text not null,
    steps text not null,
    output text,
    error text,
    started_at ${t.int} not null,
    ended_at ${t.int}
  )`,
  `create index workflow_runs_by_workflow on workflow_runs (workflow_id, started_at)`,
  `create index workflow_runs_by_execution on workflow_runs (execution_id)`,
  `create index workflow_runs_open on workflow_runs (instance_id) where ended_at is null`,
  `create table schedules (
    id text not null primary key,
    tenant_id text not null,
    user_id text not null,
    key_id text,
    workflow_id text not null,
    cron text not null,
    timezone text not null,
    enabled ${t.int} not null,
    input text not null,
    next_at ${t.int} not null,
    leased_until ${t.int} not null,
    last_at ${t.int},
    last_execution_id text,
    last_error text,
    created_at ${t.int} not null
  )`,
  `create unique index schedules_by_workflow on schedules (tenant_id, user_id, workflow_id, cron, timezone)`,
  `create index schedules_due on schedules (next_at) where enabled = 1`,
  `create table plans (
    tenant_id text not null,
    user_id text not null,
    place text not null,
    id text not null,
    version ${t.int} not null,
    goal text not null,
    phases text not null,
    current_phase_id ${t.int},
    updated_at ${t.int} not null,
    primary key (tenant_id, user_id, place)
  )${t.clustered}`,
  `create table agents (
    id text not null primary key,
    tenant_id text not null,
    user_id text not null,
    parent_id text,
    group_id text,
    execution_id text not null,
    instance_id text not null,
    depth ${t.int} not null,
    objective text not null,
    tools text not null,
    budget text not null,
    status text not null,
    tool_calls ${t.int} not null,
    tokens ${t.int} not null,
    last_event text not null,
    result text,
    started_at ${t.int} not null,
    ends_at ${t.int} not null,
    ended_at ${t.int}
  )`,
  `create index agents_open on agents (instance_id) where ended_at is null`,
  `create index agents_by_user on agents (tenant_id, user_id, started_at)`,
  `create table agent_messages (
    id text not null primary key,
    agent_id text not null,
    sender text not null,
    body text not null,
    at_ms ${t.int} not null
  )`,
  `create index agent_messages_by_agent on agent_messages (agent_id, at_ms)`,
  `create table questions (
    id text not null primary key,
    tenant_id text not null,
    user_id text not null,
    execution_id text not null,
    question text not null,
    context text,
    options text,
    state text not null,
    answer text,
    answered_by text,
    created_at ${t.int} not null,
    expires_at ${t.int} not null,
    presented_at ${t.int},
    decided_at ${t.int}
  )`,
  `create index questions_by_time on questions (tenant_id, user_id, created_at, id)`,
  `create index questions_waiting on questions (tenant_id, created_at) where state = 'pending'`,
  `create table tool_drafts (
    name text not null primary key,
    tenant_id text not null,
    user_id text not null,
    version text not null,
    pin text not null,
    config text not null,
    proposed_risk text,
    created_at ${t.int} not null
  )`,
];

// The index refers to rows by a number of their own, which stays the same when the file is packed.
const SQLITE_SEARCH = [
  `alter table memory rename to memory_before`,
  `create table memory (
    id integer primary key,
    tenant_id text not null,
    namespace text not null,
    key text not null,
    value text not null,
    tags text not null,
    words text not null default '',
    version integer not null,
    created_version integer not null,
    updated_at integer not null,
    expires_at integer,
    unique (tenant_id, namespace, key)
  )`,
  `create virtual table memory_words using fts5 (words, content='', contentless_delete=1)`,
  `create trigger memory_words_insert after insert on memory begin
    insert into memory_words (rowid, words) values (new.id, new.words);
  end`,
  `create trigger memory_words_delete after delete on memory begin
    delete from memory_words where rowid = old.id;
  end`,
  `create trigger memory_words_update after update of words on memory begin
    delete from memory_words where rowid = old.id;
    insert into memory_words (rowid, words) values (new.id, new.words);
  end`,
  `insert into memory (tenant_id, namespace, key, value, tags, words, version, created_version, updated_at, expires_at)
    select tenant_id, namespace, key, value, tags, key || ' ' || value, version, created_version, updated_at, expires_at
    from memory_before`,
  `drop table memory_before`,
];

const POSTGRES_SEARCH = [
  `alter table memory add column words text not null default ''`,
  `update memory set words = key || ' ' || value`,
  `alter table memory add column search tsvector generated always as (to_tsvector('simple'::regconfig, words)) stored`,
  `create index memory_search on memory using gin (search)`,
];
