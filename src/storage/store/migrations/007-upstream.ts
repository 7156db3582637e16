import type { ColumnTypes } from "./index.ts";

export const upstream = (t: ColumnTypes): string[] => [
  `create table servers (
    name text not null primary key,
    tenant_id text not null,
    description text not null,
    transport text not null,
    settings text not null,
    enabled ${t.int} not null,
    origin text not null,
    created_by text not null,
    created_at ${t.int} not null,
    updated_at ${t.int} not null
  )`,
  `create table server_tools (
    server text not null,
    name text not null,
    method text not null,
    upstream_name text not null,
    wire_name text not null,
    state text not null,
    reason text,
    approved_pin text,
    seen_pin text not null,
    terms text not null,
    findings text not null,
    first_seen_at ${t.int} not null,
    seen_at ${t.int} not null,
    decided_by text,
    decided_at ${t.int},
    primary key (server, name)
  )`,
  `create table server_tool_versions (
    server text not null,
    name text not null,
    pin text not null,
    definition text not null,
    first_seen_at ${t.int} not null,
    approved_at ${t.int},
    approved_by text,
    primary key (server, name, pin)
  )`,
  `create table credentials (
    server text not null,
    user_id text not null,
    name text not null,
    tenant_id text not null,
    sealed text not null,
    updated_at ${t.int} not null,
    primary key (server, user_id, name)
  )`,
];
