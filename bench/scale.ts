// Does a call cost more when there is more around it? The same governed echo with few and many tools, with an empty
// history and with a million rows.
import { rmSync } from "node:fs";
import { join } from "node:path";
import { LOCAL_TENANT, OWNER } from "../src/core/identity/bootstrap.ts";
import { fillHistory } from "./fill.ts";
import { tempDir } from "./governed.ts";
import { ROOT, startLoad, startServer, type BenchServer } from "./process.ts";
import { rate, ratioOf, rounds, type Plan } from "./rounds.ts";
import { median, type BenchOptions, type Row } from "./row.ts";

const TOOL_COUNTS = [10, 100, 1000] as const;
const SMALLEST = caseName(10, 0);
const PLAN: Plan = { connections: 64, rounds: 5, warmMs: 300, measureMs: 1200 };
const QUICK: Plan = { connections: 64, rounds: 3, warmMs: 200, measureMs: 600 };
const WARM: Plan = { connections: 64, rounds: 1, warmMs: 100, measureMs: 1500 };

function caseName(tools: number, rows: number): string {
  return `governed echo, ${tools.toLocaleString("en-US")} tools, ${rows.toLocaleString("en-US")} rows`;
}

export async function run(options: BenchOptions): Promise<Row[]> {
  const rows = options.quick ? 100_000 : 1_000_000;
  const folders: string[] = [];
  const servers: BenchServer[] = [];
  const load = startLoad();
  const folder = (): string => {
    folders.push(tempDir());
    return folders.at(-1) ?? "";
  };
  try {
    for (const tools of TOOL_COUNTS) servers.push(await start(caseName(tools, 0), folder(), tools));
    const full = caseName(10, rows);
    servers.push(await start(full, await filled(folder(), rows, options), 10));
    await rounds(load, servers, WARM, options);
    const reports = await rounds(load, servers, options.quick ? QUICK : PLAN, options);
    const rates = servers.map(({ name }): Row => ({
      name,
      value: median((reports.get(name) ?? []).map(rate)),
      unit: "calls/s",
      better: "higher",
    }));
    const ratios = servers.slice(1).map(({ name }): Row => ({
      name: `${name} / ${SMALLEST}`,
      value: ratioOf(reports, name, SMALLEST, rate),
      unit: "ratio",
      target: 0.9,
      better: "higher",
    }));
    return [...rates, ...ratios];
  } finally {
    load.stop();
    for (const server of servers) await server.stop();
    for (const path of folders) rmSync(path, { recursive: true, force: true });
  }
}

const start = (name: string, dataDir: string, tools: number): Promise<BenchServer> =>
  startServer(name, [join(ROOT, "bench", "servers", "governed.ts"), dataDir, String(tools)]);

/** A data directory that has been used before: started once, stopped, and its history filled. */
async function filled(dataDir: string, rows: number, options: BenchOptions): Promise<string> {
  await (await start("first start", dataDir, 10)).stop();
  const began = performance.now();
  fillHistory(join(dataDir, "ostiary.db"), {
    rows,
    tenantId: LOCAL_TENANT,
    userId: OWNER,
    instanceId: "inst_bench",
    until: Date.now(),
  });
  options.note(`${rows} rows of history in ${Math.round((performance.now() - began) / 1000)} s`);
  return dataDir;
}
