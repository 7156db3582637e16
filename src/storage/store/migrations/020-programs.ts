import type { ColumnTypes } from "./index.ts";

// Programs of code mode that go on after a person's decision, with the journal of what each asked.
export const programs = (t: ColumnTypes): string[] => [
  `create table programs (
    id text not null primary key,
    tenant_id text not null,
    user_id text not null,
    state text not null,
    fence ${t.int} not null,
    driver text not null,
    mandate text not null,
    sealed text not null,
    waits text not null,
    answer text,
    started_at ${t.int} not null,
    ended_at ${t.int},
    expires_at ${t.int} not null
  )${t.clustered}`,
  `create table program_entries (
    program_id text not null,
    seq ${t.int} not null,
    kind text not null,
    name text not null,
    hash text not null,
    execution_id text,
    answer text,
    answered ${t.int},
    answered_at ${t.int},
    primary key (program_id, seq)
  )${t.clustered}`,
  `create index program_entries_by_execution on program_entries (execution_id) where execution_id is not null`,
];
