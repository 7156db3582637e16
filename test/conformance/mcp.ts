// `npm run conformance:mcp`: the official referee against our server, both requirement sets, fast path on and off.
import { spawn } from "node:child_process";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parse } from "yaml";
import { startApp, type StartedApp } from "../fixtures/app.ts";
import { judge, unknownEntries, type Check, type Judgement } from "./mcp-judge.ts";
import type { RequirementSet } from "./mcp-left-out.ts";
import { startKeyProxy } from "./mcp-proxy.ts";
import { conformanceTools } from "./mcp-tools.ts";

const SETS: readonly RequirementSet[] = ["2025-11-25", "2026-07-28"];
const RUN_LIMIT_MS = 300_000;
const PACKAGE = join(import.meta.dirname, "../../node_modules/@modelcontextprotocol/conformance");
const referee = join(PACKAGE, "dist/index.js");

/** Runs one requirement set; resolves with the checks of each scenario. */
async function run(url: string, set: RequirementSet): Promise<Map<string, Check[]>> {
  const output = await mkdtemp(join(tmpdir(), "ostiary-conformance-"));
  try {
    const args = [referee, "server", "--url", url, "--requirements", set, "-o", output];
    const child = spawn(process.execPath, args, {
      stdio: ["ignore", "ignore", "inherit"],
      timeout: RUN_LIMIT_MS,
    });
    await new Promise((resolve, reject) => child.on("error", reject).on("exit", resolve));
    const found = new Map<string, Check[]>();
    for (const folder of await readdir(output)) {
      const [, scenario] = /^server-(.+)-\d{4}-\d\d-\d\dT[\d-]+Z$/.exec(folder) ?? [];
      if (scenario === undefined) continue;
      const text = await readFile(join(output, folder, "checks.json"), "utf8");
      found.set(scenario, JSON.parse(text) as Check[]);
    }
    return found;
  } finally {
    await rm(output, { recursive: true, force: true });
  }
}

/** The scenarios a set demands, from the referee's own listing, so that one that never ran is noticed. */
async function demanded(set: RequirementSet): Promise<string[]> {
  const file = join(PACKAGE, "requirements", `${set}.yaml`);
  const { server } = parse(await readFile(file, "utf8")) as { server: string[] };
  return server;
}

async function judgeAll(url: string, set: RequirementSet): Promise<Judgement[]> {
  const found = await run(url, set);
  const missing = (await demanded(set)).filter((scenario) => !found.has(scenario));
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
if (count(everything, "failed") > 0) process.exitCode = 1;
