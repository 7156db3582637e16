import type { ColumnTypes } from "./index.ts";

/** Above it a row's buckets are added up; below they are only put one behind the other. */
const COMPACT_ABOVE = 1_600;

// One group of the log is one message to PostgreSQL, and one transaction that ends inside of it: no server that
// freezes, or is cut off, can leave the log's turn taken. SQLite has one writer and needs none of it.
export const append = (t: ColumnTypes): string[] =>
  t.kind === "sqlite" ? [] : [WRITERS, COMPACT_BUCKETS, APPEND_GROUP];

/**
 * The newest group of each writer, a writer being one start of a server. Who lost the connection while waiting for an
 * answer sends the group again: it is written once, whichever of the two arrives first.
 */
const WRITERS = `create table log_writers (
    writer_id text not null primary key,
    instance_id text not null,
    group_no bigint not null,
    base_seq bigint not null
  )`;

/** Pairs of a bucket and its count, in any order, become ascending pairs: as \`pack\` in buckets.ts writes them. */
const COMPACT_BUCKETS = `create function compact_buckets(packed bytea) returns bytea language plpgsql immutable as $body$
declare
  size constant int := length(packed);
  one_byte constant bytea := decode('00', 'hex');
  amounts bigint[] := array_fill(0::bigint, array[256]);
  result bytea := ''::bytea;
  place int := 0;
  bucket int;
  unit bigint;
  piece int;
  rest bigint;
begin
  while place < size loop
    bucket := get_byte(packed, place) + 1;
    unit := 1;
    loop
      place := place + 1;
      exit when place >= size;
      piece := get_byte(packed, place);
      amounts[bucket] := amounts[bucket] + (piece % 128) * unit;
      exit when piece < 128;
      unit := unit * 128;
    end loop;
    place := place + 1;
  end loop;
  for bucket in 1..256 loop
    rest := amounts[bucket];
    continue when rest = 0;
    result := result || set_byte(one_byte, 0, bucket - 1);
    while rest >= 128 loop
      result := result || set_byte(one_byte, 0, (rest % 128)::int + 128);
      rest := rest / 128;
    end loop;
    result := result || set_byte(one_byte, 0, rest::int);
  end loop;
  return result;
end $body$`;

/**
 * Takes the turn of the log, numbers and links the events, writes them, the executions, the rollups and the budgets,
 * commits. Numbers above \`assumed\` are those of this group, counted from there: they are moved to where it really
 * begins. \`names\` and \`lines\` are the parts of each event's line (util/ledger-line.ts) before \`n\` and after
 * \`prevHash\`.
 */
const APPEND_GROUP = `create procedure append_group(
  inout base bigint, turn int, writer text, number bigint, instance text, assumed bigint,
  tenants text[], ats bigint[], actions text[], actors text[], ids text[], bodies text[], names text[], lines text[],
  starts json, ends json, counted json, budgets json, settled text[])
language plpgsql as $body$
declare
  before record;
  event record;
  chain_of text[];
  chain_n bigint[];
  chain_seq bigint[];
  chain_hash text[];
  taken text[] := '{}';
  more text[];
  chain int;
  shift bigint;
  digest text;
begin
  perform pg_advisory_xact_lock(turn);
  select w.group_no, w.base_seq into before from log_writers w where w.writer_id = writer;
  if before.group_no >= number then
    -- Answered for the second time, or overtaken by what was sent after it: never written again.
    base := case when before.group_no = number then before.base_seq end;
    commit;
    return;
  end if;
  select coalesce(max(e.seq), 0) into base from events e;
  shift := base - assumed;

  select array_agg(g.id), array_agg(coalesce(c.n, 0)), array_agg(coalesce(c.seq, 0)), array_agg(coalesce(c.hash, repeat('0', 64)))
    into chain_of, chain_n, chain_seq, chain_hash
    from (select distinct unnest(tenants) as id) g
    left join chains c on c.tenant_id = g.id and c.instance_id = instance;
  for event in
    select * from unnest(tenants, ats, actions, actors, ids, bodies, names, lines) with ordinality
      as u (tenant_id, at_ms, action, actor, execution_id, body, name, line, i)
  loop
    chain := array_position(chain_of, event.tenant_id);
    chain_seq[chain] := base + event.i;
    chain_n[chain] := chain_n[chain] + 1;
    digest := encode(sha256(convert_to('{"v":1,"seq":' || (base + event.i) || event.name || chain_n[chain]
      || ',"prevHash":"' || chain_hash[chain] || event.line || event.body || '}', 'UTF8')), 'hex');
    insert into events (seq, tenant_id, at_ms, action, actor, execution_id, body, instance_id, n, prev_hash, hash)
      values (base + event.i, event.tenant_id, event.at_ms, event.action, event.actor, event.execution_id, event.body,
        instance, chain_n[chain], chain_hash[chain], digest);
    chain_hash[chain] := digest;
  end loop;
  insert into chains (tenant_id, instance_id, n, seq, hash)
    select u.tenant_id, instance, u.n, u.seq, u.hash
    from unnest(chain_of, chain_n, chain_seq, chain_hash) as u (tenant_id, n, seq, hash)
    on conflict (tenant_id, instance_id) do update set n = excluded.n, seq = excluded.seq, hash = excluded.hash;

  if starts is not null then
    with written as (
      insert into executions as e (seq, start_seq, id, tenant_id, user_id, tool_name, category, status, cancel_reason,
        start_ms, end_ms, duration_ms, timeout_ms, instance_id, end_seq, approval_id, session_id, trace_key, error_code,
        error_seq)
      select u.seq + shift, u.seq + shift, u.id, u.tenant_id, u.user_id, u.tool_name, u.category, u.status,
        u.cancel_reason, u.start_ms, u.end_ms, u.duration_ms, u.timeout_ms, u.instance_id, u.end_seq + shift,
        u.approval_id, u.session_id, u.trace_key, u.error_code,
        case when u.error_seq > assumed then u.error_seq + shift else u.error_seq end
      from json_to_recordset(starts) as u (seq bigint, id text, tenant_id text, user_id text, tool_name text,
        category text, status text, cancel_reason text, start_ms bigint, end_ms bigint, duration_ms float8,
        timeout_ms bigint, instance_id text, end_seq bigint, approval_id text, session_id text, trace_key bigint,
        error_code text, error_seq bigint)
      on conflict (id) do update set status = excluded.status, cancel_reason = excluded.cancel_reason,
        start_ms = excluded.start_ms, approval_id = coalesce(excluded.approval_id, e.approval_id),
        end_ms = excluded.end_ms, duration_ms = excluded.duration_ms, timeout_ms = excluded.timeout_ms,
        instance_id = excluded.instance_id, start_seq = excluded.start_seq, end_seq = excluded.end_seq,
        session_id = excluded.session_id, trace_key = excluded.trace_key, error_code = excluded.error_code,
        error_seq = excluded.error_seq
      where e.end_seq is null
      returning e.id)
    select coalesce(array_agg(w.id), '{}') into taken from written w;
  end if;
  if ends is not null then
    with written as (
      update executions e set status = u.status, cancel_reason = u.cancel_reason, end_ms = u.end_ms,
        duration_ms = u.duration_ms, end_seq = u.end_seq + shift, error_code = u.error_code,
        error_seq = case when u.error_seq > assumed then u.error_seq + shift else u.error_seq end
      from json_to_recordset(ends) as u (id text, status text, cancel_reason text, end_ms bigint, duration_ms float8,
        end_seq bigint, error_code text, error_seq bigint)
      where e.id = u.id and e.end_seq is null
      returning e.id)
    select coalesce(array_agg(w.id), '{}') into more from written w;
    taken := taken || more;
  end if;

  if counted is not null then
    insert into rollups as r (tenant_id, user_id, hour, tool_name, category, status, count, total_ms, last_start_ms, buckets)
    select u.tenant_id, k.user_id, k.hour, u.tool_name, u.category, u.status, count(*), sum(u.duration_ms),
      max(u.start_ms), string_agg(set_byte(decode('0001', 'hex'), 0, u.bucket), ''::bytea)
    from json_to_recordset(counted) as u (id text, tenant_id text, user_id text, hour bigint, day bigint, tool_name text,
      category text, status text, duration_ms float8, start_ms bigint, bucket int)
    join unnest(taken) as t (id) on t.id = u.id
    cross join lateral (values (u.user_id, u.hour), (u.user_id, u.day), (u.user_id, -1::bigint), ('', -1::bigint))
      as k (user_id, hour)
    group by u.tenant_id, k.user_id, k.hour, u.tool_name, u.category, u.status
    on conflict (tenant_id, user_id, hour, tool_name, category, status) do update set
      count = r.count + excluded.count, total_ms = r.total_ms + excluded.total_ms,
      last_start_ms = greatest(r.last_start_ms, excluded.last_start_ms),
      buckets = case when length(r.buckets) > ${COMPACT_ABOVE} then compact_buckets(r.buckets || excluded.buckets)
        else coalesce(r.buckets, ''::bytea) || excluded.buckets end;
  end if;

  if budgets is not null then
    insert into usage (tenant_id, period, metric, used)
      select distinct u.tenant_id, u.period, u.metric, 0
      from json_to_recordset(budgets) as u (id text, tenant_id text, period text, metric text, amount float8)
      join unnest(taken) as t (id) on t.id = u.id
      on conflict (tenant_id, period, metric) do nothing;
    update usage s set used = greatest(0, s.used + a.amount)
      from (
        select u.tenant_id, u.period, u.metric, sum(u.amount) as amount
        from json_to_recordset(budgets) as u (id text, tenant_id text, period text, metric text, amount float8)
        join unnest(taken) as t (id) on t.id = u.id
        group by u.tenant_id, u.period, u.metric
      ) a
      where (s.tenant_id, s.period, s.metric) = (a.tenant_id, a.period, a.metric);
  end if;
  if cardinality(settled) > 0 then
    delete from reservations where execution_id = any(settled) and execution_id = any(taken);
  end if;

  insert into log_writers (writer_id, instance_id, group_no, base_seq) values (writer, instance, number, base)
    on conflict (writer_id) do update set group_no = excluded.group_no, base_seq = excluded.base_seq;
  commit;
end $body$`;
