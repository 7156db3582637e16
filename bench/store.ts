// The SQLite store alone: durable appends by parallel callers, then history and figures over a million executions.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { openStore, type HistoryFilter, type LogEvent, type Store } from "../src/store/store.ts";
import { median, type BenchOptions, type Row } from "./row.ts";

const HOUR = 3_600_000;
const ROWS = 1_000_000;
const DAYS = 30;

export async function run(options: BenchOptions): Promise<Row[]> {
  const dataDir = mkdtempSync(join(tmpdir(), "ostiary-bench-store-"));
  try {
    return [...(await appends(dataDir, options)), ...(await history(dataDir, options))];
  } finally {
    rmSync(dataDir, { recursive: true, force: true });
  }
}

async function appends(dataDir: string, { quick, note }: BenchOptions): Promise<Row[]> {
  const store = await openStore("sqlite:appends.db", { dataDir });
  note("appends: two durable events per call");
  const rows: Row[] = [];
  for (const callers of [1, 16, 64]) {
    const calls = (callers === 1 ? 1500 : callers * 1000) / (quick ? 4 : 1);
    await drive(store, callers, calls / 4); // warm
    const rounds: { perSecond: number; mainUs: number }[] = [];
    for (let round = 0; round < 3; round++) rounds.push(await drive(store, callers, calls));
    const name = `store: start and end of a call, ${callers} caller${callers > 1 ? "s" : ""}`;
    const perSecond = Math.round(median(rounds.map((r) => r.perSecond)));
    const mainUs = Number(median(rounds.map((r) => r.mainUs)).toFixed(1));
    const busy = callers === 64;
    rows.push({ name, value: perSecond, unit: "calls/s", ...(busy && { target: 30_000 }), better: "higher" }); // prettier-ignore
    rows.push({ name: `${name}, main thread`, value: mainUs, unit: "µs CPU/call", ...(busy && { target: 10 }), better: "lower" }); // prettier-ignore
  }
  await store.close();
  return rows;
}

let made = 0;
async function drive(store: Store, callers: number, calls: number) {
  const pairs = Array.from({ length: calls }, (): [LogEvent, LogEvent] => pair(made++, Date.now()));
  let next = 0;
  const cpu = process.threadCpuUsage();
  const began = performance.now();
  const caller = async (): Promise<void> => {
    for (let at = next++; at < calls; at = next++) {
      const [start, end] = pairs[at] ?? pair(at, 0);
      await store.log.append(start);
      await store.log.append(end);
    }
  };
  await Promise.all(Array.from({ length: callers }, caller));
  const seconds = (performance.now() - began) / 1000;
  const { user, system } = process.threadCpuUsage(cpu);
  return { perSecond: calls / seconds, mainUs: (user + system) / calls };
}

function pair(n: number, at: number): [LogEvent, LogEvent] {
  const id = `exec_${at}_${n.toString(36).padStart(9, "0")}`;
  const common = { toolName: "system/echo", category: "system", userId: "usr_0", startTime: at };
  const gates = ["registry", "capsule", "level", "input"].map((stage) => ({ stage, verdict: "allow", ms: 0.01 })); // prettier-ignore
  const start = {
    ...common, requestedName: "system_echo", status: "running", arguments: { text: "x".repeat(64) }, timeout: 30_000,
    tenantId: "local", capsuleId: "starter", keyId: "key_1", sessionId: null, metadata: null, idempotencyKey: null,
    traceId: "0".repeat(32), spanId: "0".repeat(16), toolVersion: "1.0.0", toolPin: "0".repeat(64), runner: "native",
    entry: "mcp", instanceId: "inst_1", gates, approvalId: null, budget: { tool_calls: 1 }, reserved: false,
    mode: "NORMAL", roles: ["tool_user"],
  }; // prettier-ignore
  const end = {
    ...common, status: "success", endTime: at + 1, executionTime: 1.25, result: { text: "x".repeat(64) }, error: null,
    errorCode: null, errorReason: null, remedy: null, cancelReason: null, metadata: null,
    budgetDelta: {},
  }; // prettier-ignore
  const event = { tenantId: "local", at, actor: "usr_0", executionId: id };
  return [
    { ...event, action: "tool.execution.start", body: JSON.stringify(start) },
    { ...event, action: "tool.execution.complete", body: JSON.stringify(end) },
  ];
}

async function history(dataDir: string, { quick, note }: BenchOptions): Promise<Row[]> {
  const now = Math.floor(Date.now() / HOUR) * HOUR;
  const address = "sqlite:history.db";
  await (await openStore(address, { dataDir })).close();
  const began = performance.now();
  fill(join(dataDir, "history.db"), now - DAYS * 24 * HOUR);
  note(`history: ${ROWS} executions, half of one user, made in ${Math.round((performance.now() - began) / 1000)} s`); // prettier-ignore

  const opening = performance.now();
  const store = await openStore(address, { dataDir });
  const openMs = performance.now() - opening;
  const { list, figures, usage } = store.executions;
  const user = { tenantId: "local", userId: "usr_0" };
  const page = { limit: 50 };
  const tools = 20;
  const pick = (i: number, of: number) => (i * 7919) % of;
  const tool = (i: number) => `cat${pick(i, tools) % 5}/tool${pick(i, tools)}`;
  const range = (i: number) => {
    const from = now - DAYS * 24 * HOUR + pick(i, DAYS * 12) * HOUR + 1_234_567;
    return { from, to: from + 15 * 24 * HOUR };
  };
  const questions: [name: string, target: number, ask: (i: number) => Promise<unknown>][] = [
    ["page, newest", 5, () => list(user, page)],
    ["page by tool", 5, (i) => list({ ...user, toolName: tool(i) }, page)],
    ["page by category", 5, (i) => list({ ...user, category: `cat${i % 5}` }, page)],
    ["page by status", 5, (i) => list({ ...user, status: i % 2 ? "failed" : "cancelled" }, page)],
    ["page of running ones", 5, () => list({ ...user, status: "running" }, page)],
    ["page by date range", 5, (i) => list({ ...user, ...range(i) }, page)],
    ["page by tool, status and date range", 5, (i) => list({ ...user, toolName: tool(i), status: "failed", ...range(i) }, page)],
    ["page by keyset, anywhere", 5, (i) => list(user, { ...page, after: { startTime: range(i).from, id: "" } })],
    ["page at offset 10,000", 5, (i) => list(i % 2 ? user : { ...user, status: "success" }, { ...page, offset: 10_000 })],
    ["figures, all time", 20, () => figures(user)],
    ["figures by tool", 20, (i) => figures({ ...user, toolName: tool(i) })],
    ["figures by status", 20, () => figures({ ...user, status: "failed" })],
    ["figures of 15 days, broken hours", 20, (i) => figures({ ...user, ...range(i) })],
    ["figures of 15 days by tool", 20, (i) => figures({ ...user, toolName: tool(i), ...range(i) })],
    ["figures since a time", 20, (i) => figures({ ...user, from: range(i).from } satisfies HistoryFilter)],
    ["usage of the tenant", 20, () => usage({ tenantId: "local" })],
  ]; // prettier-ignore
  const rows: Row[] = [{ name: "store: open with 1,000,000 executions", value: round(openMs), unit: "ms", better: "lower" }]; // prettier-ignore
  for (const [what, target, ask] of questions) {
    const times: number[] = [];
    for (let i = 0; i < (quick ? 21 : 61); i++) {
      const asked = performance.now();
      await ask(i);
      times.push(performance.now() - asked);
    }
    rows.push({ name: `store: ${what}, p50 of 1,000,000`, value: round(median(times)), unit: "ms", target, better: "lower" }); // prettier-ignore
  }
  await store.close();
  return rows;
}

const round = (ms: number): number => Number(ms.toFixed(2));

/** Bulk SQL without durability, indexes built at the end: only the rows matter here, not how they came. */
function fill(file: string, from: number): void {
  using db = new DatabaseSync(file);
  db.exec("pragma journal_mode = off; pragma synchronous = off; pragma cache_size = -200000");
  const indexes = db.prepare("select name, sql from sqlite_master where type = 'index' and tbl_name = 'executions' and sql is not null").all(); // prettier-ignore
  for (const { name } of indexes) db.exec(`drop index ${String(name)}`);
  const step = (DAYS * 24 * HOUR) / ROWS;
  db.exec(`
    create temp table made as
    with recursive n(i) as (select 0 union all select i + 1 from n where i + 1 < ${ROWS})
    select i, cast(${from} + i * ${step} as integer) as at,
      printf('exec_%d_%09d', cast(${from} + i * ${step} as integer), i) as id,
      case when i % 2 = 0 then 'usr_0' else 'usr_' || (1 + (i / 2) % 20) end as user,
      ((i / 2) * 7 + i / 1000) % 20 as tool,
      case (i / 2) % 25 when 3 then 'failed' when 7 then 'failed' when 11 then 'cancelled' else 'success' end as status,
      (i % 400) / 4.0 as ms
    from n;
    insert into events (seq, tenant_id, at_ms, action, actor, execution_id, body)
      select 2 * i + 1, 'local', at, 'tool.execution.start', user, id,
        json_object('toolName', 'cat' || (tool % 5) || '/tool' || tool, 'category', 'cat' || (tool % 5), 'status', 'running',
          'arguments', json('{"text":"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"}'), 'startTime', at, 'timeout', 30000,
          'userId', user, 'tenantId', 'local', 'traceId', '0af7651916cd43dd8448eb211c80319c', 'instanceId', 'one',
          'gates', json('[{"stage":"registry","verdict":"allow","ms":0.01},{"stage":"level","verdict":"allow","ms":0.01}]'))
      from made order by i;
    insert into events (seq, tenant_id, at_ms, action, actor, execution_id, body)
      select 2 * i + 2, 'local', at, 'tool.execution.complete', user, id,
        json_object('status', status, 'endTime', at + 5, 'executionTime', ms, 'result', 'done', 'userId', user)
      from made order by i;
    insert into executions (seq, id, tenant_id, user_id, tool_name, category, status, cancel_reason, start_ms, end_ms,
        duration_ms, timeout_ms, instance_id, start_seq, end_seq)
      select 2 * i + 1, id, 'local', user, 'cat' || (tool % 5) || '/tool' || tool, 'cat' || (tool % 5), status,
        case status when 'cancelled' then 'timeout' end, at, at + 5, ms, 30000, 'one', 2 * i + 1, 2 * i + 2
      from made order by i;
    drop table made`);
  const rolled = `tool_name, category, case cancel_reason when 'timeout' then 'timeout' else status end as s,
    count(*), sum(duration_ms), max(start_ms) from executions`;
  db.exec(`
    insert into rollups select tenant_id, user_id, start_ms / ${HOUR} as hour, ${rolled} group by 1, 2, 3, 4, 5, 6;
    insert into rollups select tenant_id, user_id, -2 - start_ms / ${24 * HOUR} as day, ${rolled} group by 1, 2, 3, 4, 5, 6;
    insert into rollups select tenant_id, user_id, -1, ${rolled} group by 1, 2, 4, 5, 6;
    insert into rollups select tenant_id, '', -1, ${rolled} group by 1, 4, 5, 6`);
  for (const { sql } of indexes) db.exec(String(sql));
}
