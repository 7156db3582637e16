import type { ColumnTypes } from "./index.ts";

export const ledger = (t: ColumnTypes): string[] => [
  // Events of earlier releases have none of the three, nor a hash.
  `alter table events add column instance_id text`,
  `alter table events add column n ${t.int}`,
  // Where each chain ends: found by reading the log, kept so that nobody has to.
  `create table chains (
    tenant_id text not null,
    instance_id text not null,
    n ${t.int} not null,
    seq ${t.int} not null,
    hash text not null,
    primary key (tenant_id, instance_id)
  )${t.clustered}`,
  `create table checkpoints (
    instance_id text not null,
    n ${t.int} not null,
    seq ${t.int} not null,
    at_ms ${t.int} not null,
    line text not null,
    primary key (instance_id, n)
  )${t.clustered}`,
  // Readers of the log take them at their place.
  `create index checkpoints_by_seq on checkpoints (seq)`,
  // The beginning of the log that now lies in files.
  `create table segments (
    to_seq ${t.seq} primary key,
    from_seq ${t.int} not null,
    at_ms ${t.int} not null,
    file text not null,
    manifest text not null
  )`,
  // How far those who follow the log have come, and which server follows for them.
  `create table cursors (
    name text not null primary key,
    seq ${t.int} not null,
    owner text,
    until_ms ${t.int} not null
  )`,
];
