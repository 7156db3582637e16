import type { ColumnTypes } from "./index.ts";

// More to find executions by, and how long they took. Successful calls without a session enter none of these indexes
// but the one of traces. What was recorded before has none of it until history is rebuilt from the log. On SQLite a
// rebuild makes executions anew with every index named `<name>_b` and `<name>` by turns: a later change has to look
// for both.
export const history = (t: ColumnTypes): string[] => [
  `alter table executions add column session_id text`,
  `alter table executions add column trace_key ${t.int}`,
  `alter table executions add column error_code text`,
  `create index executions_by_session on executions (tenant_id, user_id, session_id, start_ms${t.thenSeq})
    where session_id is not null`,
  `create index executions_by_error on executions (tenant_id, user_id, error_code, start_ms${t.thenSeq})
    where error_code is not null`,
  `create index executions_unsuccessful on executions (tenant_id, user_id, start_ms${t.thenSeq})
    where status in ('failed', 'cancelled')`,
  // Trace ids are random. Within ranges of the log they still fall on a few pages; a look-up asks every range.
  `create index executions_by_trace on executions ((seq / 4096), trace_key)`,
  // How many durations lie in each bucket, packed.
  `alter table rollups add column buckets ${t.bytes}`,
  // The sums of executions whose events were archived: a rebuild begins with them.
  `create table rollups_archived (
    tenant_id text not null,
    user_id text not null,
    hour ${t.int} not null,
    tool_name text not null,
    category text not null,
    status text not null,
    count ${t.int} not null,
    total_ms ${t.real} not null,
    last_start_ms ${t.int} not null,
    buckets ${t.bytes},
    primary key (tenant_id, user_id, hour, tool_name, category, status)
  )${t.clustered}`,
];
