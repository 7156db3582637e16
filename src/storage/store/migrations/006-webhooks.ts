import type { ColumnTypes } from "./index.ts";

export const webhooks = (t: ColumnTypes): string[] => [
  `create table webhooks (
    id text not null primary key,
    tenant_id text not null,
    url text not null,
    events text not null,
    description text not null,
    enabled ${t.int} not null,
    origin text not null,
    sealed text not null,
    previous_sealed text,
    previous_until ${t.int},
    from_seq ${t.int} not null,
    created_by text not null,
    created_at ${t.int} not null,
    updated_at ${t.int} not null,
    last_success_at ${t.int},
    last_failure_at ${t.int},
    failures ${t.int} not null,
    failing_since ${t.int},
    disabled_reason text,
    dropped ${t.int} not null
  )`,
  `create index webhooks_by_tenant on webhooks (tenant_id, id)`,
  `create table webhook_deliveries (
    id text not null primary key,
    webhook_id text not null,
    tenant_id text not null,
    event_seq ${t.int},
    type text not null,
    body text not null,
    state text not null,
    attempts ${t.int} not null,
    next_at ${t.int} not null,
    leased_until ${t.int} not null,
    last_status ${t.int},
    last_error text,
    response text,
    created_at ${t.int} not null,
    attempted_at ${t.int}
  )`,
  // One message per endpoint and event, however often the log is read.
  `create unique index webhook_deliveries_by_event on webhook_deliveries (webhook_id, event_seq)`,
  `create index webhook_deliveries_due on webhook_deliveries (webhook_id, next_at) where state = 'pending'`,
  `create index webhook_deliveries_by_webhook on webhook_deliveries (webhook_id, id)`,
  `create index webhook_deliveries_by_age on webhook_deliveries (created_at)`,
];
