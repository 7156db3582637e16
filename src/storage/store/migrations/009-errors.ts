import type { ColumnTypes } from "./index.ts";

// Text in errors is looked for in the index alone and in the few events it refers to. Rows of earlier releases refer
// to none: their own ends are read, until history is rebuilt. Successful calls do not enter the index.
export const errors = (t: ColumnTypes): string[] => [
  `alter table executions add column error_seq ${t.int}`,
  `drop index if exists executions_unsuccessful`,
  // The other name that a rebuild may have given it.
  `drop index if exists executions_unsuccessful_b`,
  `create index executions_errors on executions
    (tenant_id, user_id, start_ms, seq, error_seq, status, duration_ms, tool_name, category, error_code)
    where status in ('failed', 'cancelled')`,
];
