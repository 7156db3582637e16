import type { ColumnTypes } from "./index.ts";

// Whose words a workflow is, whose rights a schedule has and what exactly it runs; console sign-ins that can be listed.
// Rows of earlier releases have none of it: they do not run until they are made again.
export const mandates = (t: ColumnTypes): string[] => [
  `alter table workflows add column author text`,
  `alter table schedules add column mandate text`,
  `alter table schedules add column version ${t.int}`,
  `alter table schedules add column pin text`,
  `create table sign_ins (
    id text not null primary key,
    tenant_id text not null,
    user_id text not null,
    key_id text,
    parent_id text,
    secret_hash text not null,
    created_at ${t.int} not null,
    seen_at ${t.int} not null,
    ended_at ${t.int},
    ended_by text
  )`,
  `create unique index sign_ins_by_secret on sign_ins (secret_hash)`,
  `create index sign_ins_by_user on sign_ins (tenant_id, user_id)`,
  `delete from facts where name like 'session.%'`,
];
