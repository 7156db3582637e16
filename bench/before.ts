// What a change costs: this checkout beside another one (`--base <folder>`), by turns in one run. Two servers of
// each, because equal servers differ from start to start. A ratio above 1 means that this checkout needs more.
import { execFileSync } from "node:child_process";
import { rmSync } from "node:fs";
import { join, resolve } from "node:path";
import { startBundle, tempDir } from "./governed.ts";
import { ROOT, startLoad, startServer, type BenchServer, type LoadReport } from "./process.ts";
import { approved, measured, modernCall, roundsOver, type Proxy } from "./proxied.ts";
import { echoRequest } from "./requests.ts";
import { cpu, mainCpu, rate, type Plan, type Reports } from "./rounds.ts";
import { median, Skipped, type BenchOptions, type Row } from "./row.ts";

const PLAN: Plan = { connections: 64, rounds: 25, warmMs: 100, measureMs: 400 };
const QUICK: Plan = { connections: 64, rounds: 7, warmMs: 100, measureMs: 400 };
/** No more than this much more CPU a call. */
const ALLOWED = 1.05;

type Side = "base" | "this";

export async function run(options: BenchOptions): Promise<Row[]> {
  if (options.base === null)
    throw new Skipped("needs another checkout to compare with: --base <folder>");
  const roots: Record<Side, string> = { base: resolve(options.base), this: ROOT };
  const load = startLoad();
  const running: { stop(): Promise<void> }[] = [];
  try {
    const upstream = await startServer("upstream", [join(ROOT, "bench/servers/echo-upstream.ts")]);
    running.push(upstream);
    for (const root of Object.values(roots)) build(root, options);
    const servers: (BenchServer & { side: Side; label: string })[] = [];
    for (const [label, side] of [
      ["base 1", "base"],
      ["this 1", "this"],
      ["this 2", "this"],
      ["base 2", "base"],
    ] as const) {
      const dataDir = tempDir();
      const server = await startBundle(dataDir, [], roots[side]);
      running.push({
        async stop() {
          await server.stop();
          rmSync(dataDir, { recursive: true, force: true });
        },
      });
      await approved(server, upstream.port);
      servers.push({ ...server, side, label });
    }
    const rows: Row[] = [];
    for (const [what, requestOf] of [
      ["governed echo", ({ port, key }: BenchServer) => echoRequest(port, key)],
      ["proxied call", ({ port, key }: BenchServer) => modernCall(port, key, "up_echo")],
    ] as const) {
      const proxies: Proxy[] = servers.map((one) => ({
        ...one,
        name: one.label,
        request: requestOf(one),
      }));
      for (const proxy of proxies) {
        options.note(`warming up: ${what}, ${proxy.name}`);
        await measured(load, proxy, { ...QUICK, measureMs: options.quick ? 3_000 : 10_000 });
      }
      const reports = await roundsOver(load, proxies, options.quick ? QUICK : PLAN, options);
      rows.push(...rowsOf(what, reports));
    }
    return rows;
  } finally {
    load.stop();
    for (const one of running.reverse()) await one.stop();
  }
}

function build(root: string, { note }: BenchOptions): void {
  note(`building ${root === ROOT ? "this checkout" : "the other checkout"}`);
  execFileSync(process.execPath, [join(root, "scripts", "build.ts")], {
    cwd: root,
    stdio: "ignore",
  });
}

function rowsOf(what: string, reports: Reports): Row[] {
  const ratio = (figure: (report: LoadReport) => number): number =>
    median(
      perRound(reports, "this", figure).map(
        (value, round) => value / (perRound(reports, "base", figure)[round] ?? Number.NaN),
      ),
    );
  const us = (side: Side): number => median(perRound(reports, side, cpu));
  return [
    { name: `${what}, CPU of the base`, value: us("base"), unit: "µs/call", better: "lower" },
    { name: `${what}, CPU of this`, value: us("this"), unit: "µs/call", better: "lower" },
    {
      name: `${what}, CPU, this / base`,
      value: ratio(cpu),
      unit: "ratio",
      better: "lower",
      target: ALLOWED,
    },
    {
      name: `${what}, CPU of the main thread, this / base`,
      value: ratio(mainCpu),
      unit: "ratio",
      better: "lower",
    },
    { name: `${what}, calls/s, this / base`, value: ratio(rate), unit: "ratio", better: "higher" },
  ];
}

/** Each round's figure of one side: the mean of its two servers. */
function perRound(reports: Reports, side: Side, figure: (report: LoadReport) => number): number[] {
  const [one = [], two = []] = [reports.get(`${side} 1`), reports.get(`${side} 2`)];
  return one.map((report, round) => {
    const other = two[round];
    return other ? (figure(report) + figure(other)) / 2 : figure(report);
  });
}
