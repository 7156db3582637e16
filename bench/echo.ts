// One governed echo beside the same echo with nothing around it. All servers live at once, each in its own process;
// the rounds go round them, so that noise of the machine meets all alike, and ratios are taken inside a round.
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { startGoverned, type Governed } from "./governed.ts";
import { ROOT, startLoad, startServer, type BenchServer, type LoadGenerator } from "./process.ts";
import { cpu, mainCpu, measure, rate, ratioOf, rounds, type Plan, type Reports } from "./rounds.ts";
import { median, type BenchOptions, type Row } from "./row.ts";

const BARE = "bare node:http echo";
const RPC = "bare JSON-RPC echo";
const SDK = "ungoverned MCP SDK v2 echo";
const SDK_TOOLS = "ungoverned MCP SDK v2 McpServer echo";
const GOVERNED = "governed echo";

/** Many short rounds: the machine may change its mind within seconds, and a ratio is taken inside a round. */
const PLANS: readonly Plan[] = [
  { connections: 64, rounds: 25, warmMs: 100, measureMs: 400 },
  { connections: 16, rounds: 9, warmMs: 100, measureMs: 400 },
  { connections: 1, rounds: 9, warmMs: 100, measureMs: 400 },
];
const QUICK: readonly Plan[] = [
  { connections: 64, rounds: 7, warmMs: 100, measureMs: 400 },
  { connections: 1, rounds: 1, warmMs: 200, measureMs: 800 },
];

export async function run(options: BenchOptions): Promise<Row[]> {
  const load = startLoad();
  const script = (name: string): string[] => [join(ROOT, "bench", "servers", `${name}.ts`)];
  const servers: BenchServer[] = [];
  try {
    servers.push(await startServer(BARE, script("bare")));
    servers.push(await startServer(RPC, script("rpc")));
    servers.push(await startServer(SDK, script("sdk")));
    servers.push(await startServer(SDK_TOOLS, script("sdk-tools")));
    const governed = await startGoverned(options);
    options.note(`${governed.name}, durable record on`);
    servers.push({ ...governed, name: GOVERNED, stop: () => governed.remove() });
    const answered = await warmUp(load, servers, options);
    const rows: Row[] = [];
    for (const plan of options.quick ? QUICK : PLANS) {
      const reports = await rounds(load, servers, plan, options);
      rows.push(...rowsOf(plan, reports));
      for (const report of reports.get(GOVERNED) ?? []) answered.count += report.answered;
    }
    await control(governed, answered.count, options);
    return rows;
  } finally {
    load.stop();
    for (const server of servers) await server.stop();
  }
}

/** The compiler needs some ten thousand calls of each before figures stand still. */
async function warmUp(
  load: LoadGenerator,
  servers: readonly BenchServer[],
  { quick }: BenchOptions,
): Promise<{ count: number }> {
  const answered = { count: 0 };
  for (const server of servers) {
    const report = await measure(load, server, {
      connections: 64,
      rounds: 1,
      warmMs: 100,
      measureMs: quick ? 3_000 : 10_000,
    });
    if (server.name === GOVERNED) answered.count += report.answered;
  }
  return answered;
}

function rowsOf({ connections }: Plan, reports: Reports): Row[] {
  const at = `${connections} connection${connections === 1 ? "" : "s"}`;
  const governed = reports.get(GOVERNED) ?? [];
  const rows: Row[] = [];
  for (const [name, list] of reports) {
    rows.push({
      name: `${name}, ${at}`,
      value: median(list.map(rate)),
      unit: "calls/s",
      better: "higher",
    });
    const us = median(list.map(cpu));
    if (Number.isFinite(us))
      rows.push({
        name: `${name}, ${at}, server CPU`,
        value: us,
        unit: "µs/call",
        better: "lower",
      });
  }
  const against = (peer: string): number => ratioOf(reports, GOVERNED, peer, rate);
  // Steadier than calls/s when others use the machine; counts all threads of each server.
  const cpuRatio = ratioOf(reports, RPC, GOVERNED, cpu);
  const sdkCpu = ratioOf(reports, SDK, GOVERNED, cpu);
  const mainUs = median(governed.map(mainCpu));
  const goal = (target: number): object => (connections === 64 ? { target } : {});
  rows.push(
    {
      name: `governed echo / bare JSON-RPC echo, ${at}`,
      value: against(RPC),
      unit: "ratio",
      better: "higher",
      ...goal(0.4),
    },
    {
      name: `governed echo / SDK v2, ${at}`,
      value: against(SDK),
      unit: "ratio",
      better: "higher",
      ...goal(5),
    },
    ...(Number.isFinite(mainUs)
      ? [
          {
            name: `governed echo, ${at}, CPU of its main thread`,
            value: mainUs,
            unit: "µs/call",
            better: "lower",
          } as const,
        ]
      : []),
    {
      name: `governed echo / SDK v2 McpServer, ${at}`,
      value: against(SDK_TOOLS),
      unit: "ratio",
      better: "higher",
    },
    ...(Number.isFinite(sdkCpu)
      ? [
          {
            name: `SDK v2 CPU / governed CPU, ${at}`,
            value: sdkCpu,
            unit: "ratio",
            better: "higher",
          } as const,
        ]
      : []),
    ...(Number.isFinite(cpuRatio)
      ? [
          {
            name: `bare JSON-RPC CPU / governed CPU, ${at}`,
            value: cpuRatio,
            unit: "ratio",
            better: "higher",
          } as const,
        ]
      : []),
    {
      name: `governed echo p50, ${at}`,
      value: median(governed.map((r) => r.p50Ms)),
      unit: "ms",
      better: "lower",
      ...(connections === 1 ? { target: 2 } : {}),
    },
    {
      name: `governed echo p99, ${at}`,
      value: median(governed.map((r) => r.p99Ms)),
      unit: "ms",
      better: "lower",
    },
  );
  return rows;
}

/** What was measured is what was meant: the fast path answered, and every answered call is in the record. */
async function control(governed: Governed, answered: number, options: BenchOptions): Promise<void> {
  const page = await fetch(`http://127.0.0.1:${governed.port}/metrics`, {
    headers: { authorization: `Bearer ${governed.key}` },
  });
  const fast = /ostiary_mcp_requests_total\{path="fast"\} (\d+)/.exec(await page.text())?.[1];
  if (Number(fast) !== answered)
    throw new Error(`the fast path answered ${fast} of ${answered} calls`);
  const stored = successRows(governed.dataDir);
  if (stored !== answered) throw new Error(`history holds ${stored} of ${answered} calls`);
  options.note(`control: ${answered} calls, ${fast} on the fast path, ${stored} rows in history`);
}

function successRows(dataDir: string): number {
  const database = new DatabaseSync(join(dataDir, "ostiary.db"), { readOnly: true });
  try {
    const row = database
      .prepare("SELECT count(*) AS n FROM executions WHERE status = 'success'")
      .get();
    return Number(row?.["n"]);
  } finally {
    database.close();
  }
}
