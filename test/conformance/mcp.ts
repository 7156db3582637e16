// `npm run conformance:mcp`: the official referee against our server, both requirement sets, fast path on and off;
// with `--gateway` against a server upstream, through ours; with `--client` against our side of a connection.
import { startApp, type StartedApp } from "../fixtures/app.ts";
import { judgeClient } from "./mcp-client.ts";
import { judgeGateway } from "./mcp-gateway.ts";
import { judge, unknownEntries, type Judgement } from "./mcp-judge.ts";
import type { RequirementSet } from "./mcp-left-out.ts";
import { startKeyProxy } from "./mcp-proxy.ts";
import { runReferee, scored, SETS } from "./mcp-referee.ts";
import { conformanceTools } from "./mcp-tools.ts";

async function judgeAll(url: string, set: RequirementSet): Promise<Judgement[]> {
  const found = await runReferee(url, set);
  const missing = (await scored(set)).filter((scenario) => !found.has(scenario));
  return [
    ...[...found].map(([scenario, checks]) => judge(set, scenario, checks)),
    ...missing.map((scenario) => ({ scenario, verdict: "failed" as const, note: "did not run" })),
    ...unknownEntries(set, [...found.keys()]),
  ];
}

const SIGNS = { passed: "✓", failed: "✗", skipped: "–" };
const count = (all: readonly Judgement[], verdict: Judgement["verdict"]): number =>
  all.filter((one) => one.verdict === verdict).length;
const totals = (all: readonly Judgement[]): string =>
  `${count(all, "passed")} passed, ${count(all, "failed")} failed, ${count(all, "skipped")} skipped`;

/** Proof beyond the referee's word: its tools really ran, and on the path that was meant. */
async function judgePath(app: StartedApp, ran: ReadonlySet<string>, fastPath: boolean) {
  const expected = ["test_simple_text", "test_error_handling", "test_tool_with_progress"];
  const idle = expected.filter((name) => !ran.has(name));
  const [, fast = "0"] = /path="fast"\} (\d+)/.exec(await app.doors.metrics.text()) ?? [];
  const results: Judgement[] = [];
  const add = (scenario: string, good: boolean, note: string) =>
    results.push({ scenario, verdict: good ? "passed" : "failed", note });
  add("fixtures-ran", idle.length === 0, idle.length === 0 ? "all" : `never: ${idle.join(", ")}`);
  add("path-as-meant", Number(fast) > 0 === fastPath, `${fast} on the fast path`);
  return results;
}

const print = (all: readonly Judgement[]): void => {
  for (const { scenario, verdict, note } of all) {
    console.log(`  ${SIGNS[verdict]} ${scenario}: ${note}`);
  }
  console.log(`  ${totals(all)}`);
};

async function judgeOurselves(): Promise<number> {
  const everything: Judgement[] = [];
  for (const fastPath of [true, false]) {
    const ran = new Set<string>();
    let spare = true;
    const tools = conformanceTools({
      ran: (name) => void ran.add(name),
      async change() {
        spare = !spare;
        await app.doors.registry.setEnabled("test_spare", spare);
      },
    });
    const app = await startApp({ tools, fastPath });
    const proxy = await startKeyProxy(app.url, app.adminKey);
    for (const set of SETS) {
      console.log(`\n${set}, fast path ${fastPath ? "on" : "off"}`);
      ran.clear();
      const all = await judgeAll(`${proxy.url}/mcp`, set);
      const path = await judgePath(app, ran, fastPath && set === "2026-07-28");
      print([...all, ...path]);
      everything.push(...all, ...path);
    }
    proxy.close();
    await app.close();
  }
  console.log(`\n${totals(everything)}`);
  return count(everything, "failed");
}

const asked = process.argv.includes("--client")
  ? judgeClient
  : process.argv.includes("--gateway")
    ? judgeGateway
    : judgeOurselves;
const failed = await asked();
if (failed > 0) process.exitCode = 1;
