// A call through us to a server over HTTP, beside the same call through a bare proxy and through proxies of others.
// All live at once; rounds go round them, and ratios are taken inside a round. PROXIED_CALLS=200000 also watches
// memory over so many.
import { join } from "node:path";
import { startGoverned } from "./governed.ts";
import {
  ROOT,
  rssOf,
  startLoad,
  startServer,
  type BenchServer,
  type LoadGenerator,
  type LoadReport,
} from "./process.ts";
import { ECHO_TEXT } from "./requests.ts";
import { startMcpProxy, startSupergateway } from "./rivals.ts";
import { cpu, mainCpu, rate, ratioOf, type Plan, type Reports } from "./rounds.ts";
import { median, type BenchOptions, type Row } from "./row.ts";

const BARE = "bare node:http + undici proxy";
const OURS = "governed, recorded, proxied call";
const [MCP_PROXY, SUPERGATEWAY] = ["mcp-proxy", "supergateway"];

/** Many short rounds: the machine may change its mind within seconds, and a ratio is taken inside a round. */
const PLAN: Plan = { connections: 64, rounds: 21, warmMs: 100, measureMs: 500 };
const QUICK: Plan = { connections: 64, rounds: 5, warmMs: 100, measureMs: 500 };
const STEP = 20_000;

export interface Proxy extends BenchServer {
  readonly request: string;
}

export async function run(options: BenchOptions): Promise<Row[]> {
  const load = startLoad();
  const script = (name: string): string => join(ROOT, "bench", "servers", `${name}.ts`);
  const running: { stop(): Promise<void> }[] = [];
  const kept = <T extends { stop(): Promise<void> }>(one: T): T => (running.push(one), one);
  try {
    const upstream = kept(await startServer("upstream", [script("echo-upstream")]));
    const bare = kept(await startServer(BARE, [script("proxy"), String(upstream.port)]));
    const governed = await startGoverned(options);
    running.push({ stop: () => governed.remove() });
    await approved(governed, upstream.port);
    const mcpProxy = kept(await startMcpProxy());
    const supergateway = kept(await startSupergateway());
    const proxies: Proxy[] = [
      { ...bare, request: modernCall(bare.port, null, "echo") },
      { ...governed, name: OURS, request: modernCall(governed.port, governed.key, "up_echo") },
      { ...mcpProxy, request: modernCall(mcpProxy.port, null, "echo") },
      { ...supergateway, request: sessionCall(supergateway.port, supergateway.session ?? "") },
    ];
    for (const proxy of proxies) {
      options.note(`warming up: ${proxy.name}`);
      await measured(load, proxy, { ...QUICK, measureMs: options.quick ? 3_000 : 10_000 });
    }
    const reports = await roundsOver(load, proxies, options.quick ? QUICK : PLAN, options);
    const rows = rowsOf(reports);
    const calls = Number(process.env["PROXIED_CALLS"] ?? 0);
    const ours = proxies[1];
    if (calls > 0 && ours) rows.push(...(await memory(load, ours, calls, options)));
    return rows;
  } finally {
    load.stop();
    for (const one of running.reverse()) await one.stop();
  }
}

/** As an administrator does it: added, looked at, agreed to. */
export async function approved({ port, key }: BenchServer, upstreamPort: number): Promise<void> {
  const api = async (path: string, body: object): Promise<void> => {
    const answer = await fetch(`http://127.0.0.1:${port}/api/v1${path}`, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${key ?? ""}` },
      body: JSON.stringify(body),
    });
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
  };
  await api("/servers", {
    name: "up",
    transport: { kind: "http", url: `http://127.0.0.1:${upstreamPort}/mcp` },
    settings: { maxConcurrent: 256 },
  });
  await api("/servers/up/approve", {
    terms: { category: "system", risk: "safe", effects: "read_only" },
  });
}

export async function roundsOver(
  load: LoadGenerator,
  proxies: readonly Proxy[],
  plan: Plan,
  { note }: BenchOptions,
): Promise<Reports> {
  const reports: Reports = new Map(proxies.map(({ name }) => [name, []]));
  for (let round = 0; round < plan.rounds; round++) {
    const rates: string[] = [];
    // Each round begins with another one: none is always the one after the heaviest.
    for (let turn = 0; turn < proxies.length; turn++) {
      const proxy = proxies[(turn + round) % proxies.length];
      if (!proxy) continue;
      const report = await measured(load, proxy, plan);
      reports.get(proxy.name)?.push(report);
      rates.push(`${proxy.name} ${Math.round(rate(report))}/s`);
    }
    note(`${plan.connections} connections, round ${round + 1}: ${rates.join(", ")}`);
  }
  return reports;
}

export async function measured(load: LoadGenerator, proxy: Proxy, plan: Plan): Promise<LoadReport> {
  const report = await load.run({ ...plan, port: proxy.port, request: proxy.request }, proxy.pid);
  if (report.bad > 0 || report.checked === 0)
    throw new Error(
      `${proxy.name}: ${report.bad} answers are no success, e.g.\n${report.firstBad}`,
    );
  return report;
}

function rowsOf(reports: Reports): Row[] {
  const rows: Row[] = [];
  for (const [name, list] of reports) {
    rows.push({ name, value: median(list.map(rate)), unit: "calls/s", better: "higher" });
    const us = median(list.map(cpu));
    if (Number.isFinite(us))
      rows.push({ name: `${name}, CPU`, value: us, unit: "µs/call", better: "lower" });
  }
  const ours = reports.get(OURS) ?? [];
  const against = (peer: string): number => ratioOf(reports, OURS, peer, rate);
  rows.push(
    {
      name: `${OURS} / bare proxy`,
      value: against(BARE),
      unit: "ratio",
      better: "higher",
      target: 0.6,
    },
    {
      name: `${OURS} / ${MCP_PROXY}`,
      value: against(MCP_PROXY),
      unit: "ratio",
      better: "higher",
      target: 6,
    },
    {
      name: `${OURS} / ${SUPERGATEWAY}`,
      value: against(SUPERGATEWAY),
      unit: "ratio",
      better: "higher",
      target: 6,
    },
    {
      name: `${OURS}, CPU of its main thread`,
      value: median(ours.map(mainCpu)),
      unit: "µs/call",
      better: "lower",
    },
    // Steadier than calls/s when others use the machine.
    {
      name: `bare proxy CPU / our CPU`,
      value: ratioOf(reports, BARE, OURS, cpu),
      unit: "ratio",
      better: "higher",
    },
    {
      name: `${OURS}, p99`,
      value: median(ours.map(({ p99Ms }) => p99Ms)),
      unit: "ms",
      better: "lower",
    },
  );
  return rows;
}

/** Resident memory after every so many calls: the second half must not grow over the first. */
async function memory(
  load: LoadGenerator,
  proxy: Proxy,
  calls: number,
  { note }: BenchOptions,
): Promise<Row[]> {
  const seen: number[] = [];
  let done = 0;
  for (let next = STEP; done < calls;) {
    done += (
      await measured(load, proxy, { connections: 64, rounds: 1, warmMs: 100, measureMs: 1_000 })
    ).answered;
    if (done < next) continue;
    const rss = rssOf(proxy.pid) ?? Number.NaN;
    note(`${done} calls: ${Math.round(rss)} MB`);
    seen.push(rss);
    next = done + STEP;
  }
  const half = Math.ceil(seen.length / 2);
  const growth = median(seen.slice(half)) / median(seen.slice(0, half));
  return [
    {
      name: `memory after ${done} proxied calls`,
      value: seen.at(-1) ?? Number.NaN,
      unit: "MB",
      better: "lower",
    },
    {
      name: "memory of the second half to that of the first",
      value: growth,
      unit: "ratio",
      better: "lower",
      target: 1.1,
    },
  ];
}

const CLIENT_INFO = { name: "bench", version: "1.0.0" };

export function modernCall(port: number, key: string | null, name: string): string {
  const prefix = "io.modelcontextprotocol/";
  const _meta = {
    [`${prefix}protocolVersion`]: "2026-07-28",
    [`${prefix}clientCapabilities`]: {},
    [`${prefix}clientInfo`]: CLIENT_INFO,
  };
  const headers = [
    "MCP-Protocol-Version: 2026-07-28",
    "Mcp-Method: tools/call",
    `Mcp-Name: ${name}`,
    ...(key === null ? [] : [`Authorization: Bearer ${key}`]),
  ];
  return posted(port, headers, { name, arguments: { text: ECHO_TEXT }, _meta });
}

function sessionCall(port: number, session: string): string {
  const headers = ["MCP-Protocol-Version: 2025-11-25", `Mcp-Session-Id: ${session}`];
  return posted(port, headers, { name: "echo", arguments: { text: ECHO_TEXT } });
}

function posted(port: number, headers: readonly string[], params: object): string {
  const body = JSON.stringify({ jsonrpc: "2.0", id: 100, method: "tools/call", params });
  const lines = [
    "POST /mcp HTTP/1.1",
    `Host: 127.0.0.1:${port}`,
    "Content-Type: application/json",
    "Accept: application/json, text/event-stream",
    ...headers,
    `Content-Length: ${Buffer.byteLength(body)}`,
  ];
  return [...lines, "", body].join("\r\n");
}
