// What tracing costs: the governed echo without a collector, with one that gets every trace, and with one that gets a
// tenth. Two equal servers differ by as much as tracing costs (the controls show it), so both kinds are there twice.
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { haveBundle, tempDir } from "./governed.ts";
import { ROOT, startLoad, startServer, type BenchServer, type LoadReport } from "./process.ts";
import { cpu, mainCpu, measure, rate, ratioOf, rounds, type Plan, type Reports } from "./rounds.ts";
import { median, type BenchOptions, type Row } from "./row.ts";
import type { Collected } from "./servers/collector.ts";

const OFF = "tracing off";
const CONTROL = "tracing off, control";
const ON = "tracing on";
const ON_CONTROL = "tracing on, control";
const TENTH = "tracing on, one trace in ten";

const SPANS_OF_A_CALL = 3;

/** Many short rounds: the difference is small, and a median over few of them is the noise of the machine. */
const FULL: Plan = { connections: 64, rounds: 15, warmMs: 100, measureMs: 600 };
const QUICK: Plan = { connections: 64, rounds: 7, warmMs: 100, measureMs: 300 };

export async function run(options: BenchOptions): Promise<Row[]> {
  const bundled = haveBundle(options);
  const load = startLoad();
  const servers: BenchServer[] = [];
  const collector = await startServer("collector", [
    join(ROOT, "bench", "servers", "collector.ts"),
  ]);
  try {
    const traced = { OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${collector.port}` };
    servers.push(await startTraced(OFF, bundled, {}));
    servers.push(await startTraced(ON, bundled, traced));
    servers.push(await startTraced(CONTROL, bundled, {}));
    servers.push(await startTraced(ON_CONTROL, bundled, traced));
    servers.push(
      await startTraced(TENTH, bundled, {
        ...traced,
        OTEL_TRACES_SAMPLER: "parentbased_traceidratio",
        OTEL_TRACES_SAMPLER_ARG: "0.1",
      }),
    );
    const warm = { ...FULL, measureMs: options.quick ? 3_000 : 10_000 };
    const before: Reports = new Map();
    for (const server of servers) before.set(server.name, [await measure(load, server, warm)]);
    const reports = await rounds(load, servers, options.quick ? QUICK : FULL, options);
    await control(
      collector,
      [before, reports].flatMap((all) => [ON, ON_CONTROL].flatMap((name) => all.get(name) ?? [])),
    );
    const rows: Row[] = [];
    for (const [name, list] of reports) {
      rows.push({ name, value: median(list.map(rate)), unit: "calls/s", better: "higher" });
      const main = median(list.map(mainCpu));
      if (Number.isFinite(main))
        rows.push({
          name: `${name}, CPU of its main thread`,
          value: main,
          unit: "µs/call",
          better: "lower",
        });
    }
    const ratio = (one: string, other: string): Row => ({
      name: `${one} / ${other}`,
      value: ratioOf(reports, one, other, rate),
      unit: "ratio",
      better: "higher",
    });
    rows.push(ratio(CONTROL, OFF), ratio(ON_CONTROL, ON), ratio(TENTH, OFF));
    rows.push({
      name: `${ON} / ${OFF}`,
      value: onToOff(reports, rate),
      unit: "ratio",
      better: "higher",
      target: 0.85,
    });
    const more = onToOff(reports, cpu);
    if (Number.isFinite(more))
      rows.push({
        name: `CPU of all threads, ${ON} / ${OFF}`,
        value: more,
        unit: "ratio",
        better: "lower",
      });
    return rows;
  } finally {
    load.stop();
    for (const server of servers) await server.stop();
    await collector.stop();
  }
}

/** Median over the rounds of both servers that trace to both that do not. */
function onToOff(reports: Reports, figure: (report: LoadReport) => number): number {
  const both = (one: string, other: string): number[] =>
    (reports.get(one) ?? []).map((report, round) => {
      const peer = reports.get(other)?.[round];
      return peer ? figure(report) + figure(peer) : Number.NaN;
    });
  const off = both(OFF, CONTROL);
  return median(both(ON, ON_CONTROL).map((on, round) => on / (off[round] ?? Number.NaN)));
}

/** As a user starts it; settings come from variables. */
async function startTraced(
  name: string,
  bundled: boolean,
  env: Record<string, string>,
): Promise<BenchServer> {
  const dataDir = tempDir();
  const program = bundled ? join(ROOT, "bin", "ostiary.js") : join(ROOT, "src", "main.ts");
  const server = await startServer(name, [program, "serve", "--data-dir", dataDir, "--port", "0"], {
    env,
    ready(line) {
      const port = /^ready http:\/\/127\.0\.0\.1:(\d+)/.exec(line)?.[1];
      return port === undefined ? null : { port: Number(port) };
    },
  });
  return {
    ...server,
    key: readFileSync(join(dataDir, "admin.key"), "utf8").trim(),
    async stop() {
      await server.stop();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

/** What was measured is what was meant: the spans of all calls did arrive, but for the last that still wait. */
async function control({ hello }: BenchServer, reports: readonly LoadReport[]): Promise<void> {
  const answer = await fetch(`http://127.0.0.1:${Number(hello["asked"])}/`);
  const { bytes, kept } = (await answer.json()) as Collected;
  const expected = reports.reduce((sum, { answered }) => sum + answered * SPANS_OF_A_CALL, 0);
  const spans = Math.round((bytes * kept.spans) / kept.bytes);
  if (!(spans > expected * 0.95))
    throw new Error(`the collector got ${spans} spans of ${expected}`);
}
