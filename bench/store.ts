// The SQLite store alone: durable appends by parallel callers, then history and figures over a million executions.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import {
  openStore,
  type HistoryFilter,
  type LogEvent,
  type Store,
} from "../src/storage/store/store.ts";
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
    rows.push({
      name,
      value: perSecond,
      unit: "calls/s",
      ...(busy && { target: 30_000 }),
      better: "higher",
    });
    rows.push({
      name: `${name}, main thread`,
      value: mainUs,
      unit: "µs CPU/call",
      ...(busy && { target: 10 }),
      better: "lower",
    });
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
  const gates = ["registry", "capsule", "level", "input"].map((stage) => ({
    stage,
    verdict: "allow",
    ms: 0.01,
  }));
  const start = {
    ...common,
    requestedName: "system_echo",
    status: "running",
    arguments: { text: "x".repeat(64) },
    timeout: 30_000,
    tenantId: "local",
    capsuleId: "starter",
    keyId: "key_1",
    sessionId: null,
    metadata: null,
    idempotencyKey: null,
    traceId: "0".repeat(32),
    spanId: "0".repeat(16),
    toolVersion: "1.0.0",
    toolPin: "0".repeat(64),
    runner: "native",
    entry: "mcp",
    instanceId: "inst_1",
    gates,
    approvalId: null,
    budget: { tool_calls: 1 },
    reserved: false,
    mode: "NORMAL",
    roles: ["tool_user"],
  };
  const end = {
    ...common,
    status: "success",
    endTime: at + 1,
    executionTime: 1.25,
    result: { text: "x".repeat(64) },
    error: null,
    errorCode: null,
    errorReason: null,
    remedy: null,
    cancelReason: null,
    metadata: null,
    budgetDelta: {},
  };
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
  note(
    `history: a log of ${ROWS} executions, half of one user, made in ${Math.round((performance.now() - began) / 1000)} s`,
  );
  const rebuilt = await rebuild(address, dataDir);

  const opening = performance.now();
  const store = await openStore(address, { dataDir });
  const openMs = performance.now() - opening;
  const { list, figures, search, stats, usage } = store.executions;
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
    [
      "page by tool, status and date range",
      5,
      (i) => list({ ...user, toolName: tool(i), status: "failed", ...range(i) }, page),
    ],
    [
      "page by keyset, anywhere",
      5,
      (i) => list(user, { ...page, after: { startTime: range(i).from, id: "" } }),
    ],
    [
      "page at offset 10,000",
      5,
      (i) => list(i % 2 ? user : { ...user, status: "success" }, { ...page, offset: 10_000 }),
    ],
    ["page by session", 5, (i) => list({ ...user, sessionId: `s${pick(i, 900)}` }, page)],
    [
      "page by error code",
      5,
      (i) => list({ ...user, errorCode: i % 2 ? "NOT_FOUND" : "TIMEOUT" }, page),
    ],
    ["page by trace", 5, (i) => search({ ...user, traceId: traceOf(2 * pick(i, ROWS / 2)) }, page)],
    [
      "page by text in the error, found",
      5,
      (i) => search({ ...user, errorText: `number ${2 * (3 + 25 * (i % 20))} ` }, page),
    ],
    [
      "page by text in the error, 10,000 searched",
      5,
      (i) => search({ ...user, errorText: `number ${pick(i, 900)} ` }, page),
    ],
    ["page of all users", 5, () => list({ tenantId: "local" }, page)],
    ["figures, all time", 20, () => figures(user)],
    ["figures by tool", 20, (i) => figures({ ...user, toolName: tool(i) })],
    ["figures by status", 20, () => figures({ ...user, status: "failed" })],
    ["figures of 15 days, broken hours", 20, (i) => figures({ ...user, ...range(i) })],
    ["figures of 15 days by tool", 20, (i) => figures({ ...user, toolName: tool(i), ...range(i) })],
    [
      "figures since a time",
      20,
      (i) => figures({ ...user, from: range(i).from } satisfies HistoryFilter),
    ],
    ["figures by session", 20, (i) => figures({ ...user, sessionId: `s${pick(i, 900)}` })],
    [
      "stats of the tenant, all time, per user",
      20,
      () => stats({ tenantId: "local" }, { perUser: true }),
    ],
    [
      "stats of the tenant, 15 days, per user",
      20,
      (i) => stats({ tenantId: "local", ...range(i) }, { perUser: true }),
    ],
    ["usage of the tenant", 20, () => usage({ tenantId: "local" })],
  ];
  const rows: Row[] = [
    rebuilt,
    {
      name: "store: open with 1,000,000 executions",
      value: round(openMs),
      unit: "ms",
      better: "lower",
    },
  ];
  for (const [what, target, ask] of questions) {
    const times: number[] = [];
    for (let i = 0; i < (quick ? 21 : 61); i++) {
      const asked = performance.now();
      await ask(i);
      times.push(performance.now() - asked);
    }
    rows.push({
      name: `store: ${what}, p50 of 1,000,000`,
      value: round(median(times)),
      unit: "ms",
      target,
      better: "lower",
    });
  }
  await store.close();
  return rows;
}

const round = (ms: number): number => Number(ms.toFixed(2));

async function rebuild(address: string, dataDir: string): Promise<Row> {
  const store = await openStore(address, { dataDir });
  const began = performance.now();
  const { events } = await store.executions.rebuild(() => undefined);
  const perSecond = Math.round(events / ((performance.now() - began) / 1000));
  const { total } = await store.executions.figures({ tenantId: "local" });
  await store.close();
  if (total !== ROWS) throw new Error(`${total} executions after the rebuild, ${ROWS} in the log`);
  return {
    name: "store: history of 1,000,000 executions rebuilt",
    value: perSecond,
    unit: "events/s",
    better: "higher",
  };
}

/** As the fill below makes them. */
const traceOf = (i: number): string =>
  (i * 40_503).toString(16).padStart(12, "0") + i.toString(16).padStart(20, "0");

/** Bulk SQL without durability: only the log matters here, not how it came. History is made of it by a rebuild. */
function fill(file: string, from: number): void {
  using db = new DatabaseSync(file);
  db.exec("pragma journal_mode = off; pragma synchronous = off; pragma cache_size = -200000");
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
          'userId', user, 'tenantId', 'local', 'traceId', printf('%012x%020x', i * 40503, i), 'instanceId', 'one',
          'sessionId', case when (i / 2) % 10 = 0 then 's' || (i / 20 % 1000) end,
          'gates', json('[{"stage":"registry","verdict":"allow","ms":0.01},{"stage":"level","verdict":"allow","ms":0.01}]'))
      from made;
    insert into events (seq, tenant_id, at_ms, action, actor, execution_id, body)
      select 2 * i + 2, 'local', at, 'tool.execution.' || case status when 'success' then 'complete' else status end, user, id,
        json_object('status', status, 'startTime', at, 'endTime', at + 5, 'executionTime', ms, 'userId', user,
          'result', case status when 'success' then 'done' end, 'toolName', 'cat' || (tool % 5) || '/tool' || tool,
          'category', 'cat' || (tool % 5), 'cancelReason', case status when 'cancelled' then 'timeout' end,
          'error', case when status <> 'success' then 'it broke: number ' || (i % 1000) || ' of many' end,
          'errorCode', case status when 'failed' then 'NOT_FOUND' when 'cancelled' then 'TIMEOUT' end)
      from made;
    drop table made`);
}
