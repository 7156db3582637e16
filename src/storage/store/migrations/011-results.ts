import type { ColumnTypes } from "./index.ts";

// The record keeps the beginning of a large result. Who comes back for it within a day finds the whole here.
export const results = (t: ColumnTypes): string[] => [
  `create table results (
    execution_id text primary key,
    tenant_id text not null,
    user_id text not null,
    at_ms ${t.int} not null,
    size ${t.int} not null,
    body text not null
  )`,
  `create index results_by_age on results (at_ms, execution_id)`,
  `create index results_by_user on results (tenant_id, user_id, at_ms, execution_id, size)`,
];
