// Rounds that go over all servers of a comparison in turn: noise of the machine meets all alike, and a ratio is taken
// inside a round before the median over rounds.
import type { BenchServer, LoadGenerator, LoadReport } from "./process.ts";
import { echoRequest } from "./requests.ts";
import { median, type BenchOptions } from "./row.ts";

export interface Plan {
  readonly connections: number;
  readonly rounds: number;
  readonly warmMs: number;
  readonly measureMs: number;
}

/** Reports by server name, one per round. */
export type Reports = Map<string, LoadReport[]>;

export async function rounds(
  load: LoadGenerator,
  servers: readonly BenchServer[],
  plan: Plan,
  options: BenchOptions,
): Promise<Reports> {
  const reports: Reports = new Map(servers.map(({ name }) => [name, []]));
  for (let round = 0; round < plan.rounds; round++) {
    const rates: string[] = [];
    // Each round begins with another server: none is always the one after the heaviest.
    for (let turn = 0; turn < servers.length; turn++) {
      const server = servers[(turn + round) % servers.length];
      if (!server) continue;
      const report = await measure(load, server, plan);
      reports.get(server.name)?.push(report);
      rates.push(`${server.name} ${Math.round(rate(report))}/s`);
    }
    options.note(`${plan.connections} connections, round ${round + 1}: ${rates.join(", ")}`);
  }
  return reports;
}

/** One server, one load; any answer that is no success ends the benchmark. */
export async function measure(
  load: LoadGenerator,
  server: BenchServer,
  plan: Plan,
): Promise<LoadReport> {
  const request = echoRequest(server.port, server.key);
  const report = await load.run({ ...plan, port: server.port, request }, server.pid);
  if (report.bad > 0 || report.checked === 0) {
    throw new Error(
      `${server.name}: ${report.bad} answers are no success, e.g.\n${report.firstBad}`,
    );
  }
  return report;
}

export const rate = ({ measured, seconds }: LoadReport): number => measured / seconds;

/** Server CPU per call, µs; NaN where the system does not report it. */
export const cpu = ({ cpuUs, measured }: LoadReport): number => (cpuUs ?? Number.NaN) / measured;

export const mainCpu = ({ mainCpuUs, measured }: LoadReport): number =>
  (mainCpuUs ?? Number.NaN) / measured;

/** Median over the rounds of one server's figure to another's. */
export function ratioOf(
  reports: Reports,
  one: string,
  other: string,
  figure: (report: LoadReport) => number,
): number {
  const others = reports.get(other) ?? [];
  return median(
    (reports.get(one) ?? []).map((report, round) => {
      const peer = others[round];
      return peer ? figure(report) / figure(peer) : Number.NaN;
    }),
  );
}
