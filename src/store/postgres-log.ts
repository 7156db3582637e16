// The log on PostgreSQL: the same group commit as on SQLite, on one connection of its own.
import type { Client } from "pg";
import { Chains, type Head } from "./chain.ts";
import { groups, type Flat, type Result } from "./group.ts";
import { appender, readItems } from "./message.ts";
import { columns, postgresProjection, type PostgresProjection } from "./postgres-projection.ts";
import { apply, type Changes } from "./projection.ts";
import { NO_INSTANCE, type Store, type StoreOptions } from "./store.ts";
import { tally } from "./tally.ts";

/**
 * Instances take turns: a number is given out only after the group before it is committed. So no reader that follows
 * the log by number can pass over an event that becomes visible later.
 */
export const TURN = 0x6f737469;
const BEGIN = `begin; select pg_advisory_xact_lock(${TURN}); select max(seq) as seq from events`;
const HEADS =
  "select tenant_id, n, hash from chains where instance_id = $1 and tenant_id = any($2::text[])";
const MOVE_HEADS = `insert into chains (tenant_id, instance_id, n, seq, hash)
  select * from unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[], $5::text[])
  on conflict (tenant_id, instance_id) do update set n = excluded.n, seq = excluded.seq, hash = excluded.hash`;

const INSERT_EVENTS = `insert into events
    (seq, tenant_id, at_ms, action, actor, execution_id, body, instance_id, n, prev_hash, hash)
  select * from unnest($1::bigint[], $2::text[], $3::bigint[], $4::text[], $5::text[], $6::text[], $7::text[],
    $8::text[], $9::bigint[], $10::text[], $11::text[])`;

/** Only one log writes at a time (TURN), so a sum that is not inserted here is there to be updated. Never below zero. */
const ADD_USAGE = `with added as (
    select * from unnest($1::text[], $2::text[], $3::text[], $4::float8[]) as a (tenant_id, period, metric, amount)
  ), made as (
    insert into usage (tenant_id, period, metric, used)
    select tenant_id, period, metric, greatest(0, amount) from added
    on conflict do nothing returning tenant_id, period, metric
  )
  update usage u set used = greatest(0, u.used + a.amount) from added a
  where (u.tenant_id, u.period, u.metric) = (a.tenant_id, a.period, a.metric)
    and not exists (select 1 from made m where (m.tenant_id, m.period, m.metric) = (a.tenant_id, a.period, a.metric))`;
const SETTLE_RESERVATIONS = "delete from reservations where execution_id = any($1::text[])";

export interface PostgresLog {
  readonly append: Store["log"]["append"];
  failing(): boolean;
  close(): Promise<void>;
}

export function postgresLog(connect: () => Promise<Client>, options: StoreOptions): PostgresLog {
  const instanceId = options.instanceId ?? NO_INSTANCE;
  const projection = postgresProjection({ executions: "executions", rollups: "rollups" });
  let client: Client | null = null;

  async function live(): Promise<Client> {
    if (client) return client;
    const opened = await connect();
    // Without a listener a lost connection would end the process; the next group opens a new one.
    opened.on("error", () => drop(opened));
    opened.on("end", () => drop(opened));
    client = opened;
    return opened;
  }

  function drop(which: Client): void {
    if (client === which) client = null;
  }

  async function commit(flat: Flat[]): Promise<Result[]> {
    const on = await live();
    try {
      const began = (await on.query(BEGIN)) as unknown as { rows: { seq: number | null }[] }[];
      const { rows } = await on.query<Head & { tenant_id: string }>(HEADS, [
        instanceId,
        tenantsOf(flat),
      ]);
      const heads = new Map(rows.map(({ tenant_id, n, hash }) => [tenant_id, { n, hash }]));
      const chains = new Chains(instanceId, (tenantId) => heads.get(tenantId) ?? null);
      const { results, events, changes } = number(
        flat,
        began[2]?.rows[0]?.seq ?? 0,
        instanceId,
        chains,
      );
      if (events.length > 0) await on.query(INSERT_EVENTS, columns(events));
      const moved = Array.from(chains.moved(), ([tenantId, at]): Flat[] => [
        tenantId,
        instanceId,
        at.n,
        at.seq,
        at.hash,
      ]);
      if (moved.length > 0) await on.query(MOVE_HEADS, columns(moved));
      await writeChanges(on, projection, changes);
      await on.query("commit");
      return results;
    } catch (cause) {
      projection.undone();
      // Its state is unknown after a failure, so it is not used again.
      drop(on);
      await on.end().catch(() => {});
      throw cause;
    }
  }

  const queue = groups(commit, undefined, options.onCommit);
  return {
    append: appender(queue),
    failing: () => queue.failing(),
    async close() {
      await queue.drain();
      const last = client;
      client = null;
      await last?.end();
    },
  };
}

function tenantsOf(flat: readonly Flat[]): string[] {
  const tenants = new Set<string>();
  readItems(flat, { event: ({ tenantId }) => void tenants.add(tenantId), batch: () => undefined });
  return [...tenants];
}

/** Gives each event of a group its number and its place in its chain. */
function number(flat: readonly Flat[], head: number, instanceId: string, chains: Chains) {
  const results: Result[] = [];
  const events: Flat[][] = [];
  const changes: Changes = new Map();
  readItems(flat, {
    event(event, effect) {
      const { tenantId, at, action, actor, executionId, body } = event;
      const seq = head + events.length + 1;
      const link = chains.link(event, seq);
      chains.take(tenantId, seq, link);
      if (effect && executionId !== null) apply(effect, executionId, seq, changes);
      events.push([
        seq,
        tenantId,
        at,
        action,
        actor,
        executionId,
        body,
        instanceId,
        link.n,
        link.prevHash,
        link.hash,
      ]);
      results.push(seq);
    },
    batch: () => undefined,
  });
  return { results, events, changes };
}

async function writeChanges(
  on: Client,
  projection: PostgresProjection,
  changes: Changes,
): Promise<void> {
  const budgets = tally();
  for (const change of await projection.write(on, changes)) budgets.add(change);
  const sums = budgets.sums().map((u): Flat[] => [u.tenant_id, u.period, u.metric, u.used]);
  if (sums.length > 0) await on.query(ADD_USAGE, columns(sums));
  if (budgets.settled.length > 0) await on.query(SETTLE_RESERVATIONS, [budgets.settled]);
}
