import type { ColumnTypes } from "./index.ts";

// How agents work: what a capsule says about them, its versions, personas, models, and preferences of users. Versions
// of capsules from earlier releases are kept from their next edit on.
export const agentRecords = (t: ColumnTypes): string[] => [
  `alter table capsules add column settings text`,
  `alter table capsules add column parent ${t.int}`,
  `create table capsule_versions (
    capsule_id text not null references capsules (id) on delete cascade,
    version ${t.int} not null,
    status text not null,
    parent ${t.int},
    author text,
    created_at ${t.int} not null,
    body text not null,
    primary key (capsule_id, version)
  )${t.clustered}`,
  `create table personas (
    id text not null,
    tenant_id text not null,
    name text not null,
    prompt text not null,
    traits text not null,
    knobs text not null,
    capabilities text,
    created_at ${t.int} not null,
    updated_at ${t.int} not null,
    primary key (tenant_id, id)
  )${t.clustered}`,
  `create table models (
    tenant_id text not null,
    name text not null,
    settings text not null,
    key_reference text,
    sealed_key text,
    source text not null,
    enabled ${t.int} not null,
    position ${t.int} not null,
    created_at ${t.int} not null,
    updated_at ${t.int} not null,
    primary key (tenant_id, name)
  )${t.clustered}`,
  `alter table users add column preferences text not null default '{}'`,
];
