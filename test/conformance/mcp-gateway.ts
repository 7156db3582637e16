// `npm run conformance:mcp -- --gateway`: the fixture server directly, and behind Ostiary at its own face. What passes
// directly must pass through us, fast path on and off.
import { startApp } from "../fixtures/app.ts";
import { startFixtureServer } from "./fixture-server.ts";
import type { Check } from "./mcp-judge.ts";
import { TASK_SCENARIOS, type RequirementSet } from "./mcp-left-out.ts";
import { startKeyProxy } from "./mcp-proxy.ts";
import { runReferee, scored, SETS } from "./mcp-referee.ts";

/** The referee does not score these, but a gateway that rewrites names and follows tasks must hold them. */
const REQUIRED: readonly string[] = [
  "http-header-validation",
  "http-custom-header-server-validation",
  ...TASK_SCENARIOS,
];
/** Added by the referee to every scenario; alone it proves nothing. */
const COMMON_CHECK = "wire-schema-valid";

interface Score {
  readonly passed: number;
  readonly failed: readonly Check[];
  /** Successful checks of the scenario's own. */
  readonly proofs: number;
}

type Column = ReadonlyMap<string, Score>;

const scoreOf = (checks: readonly Check[]): Score => ({
  passed: checks.filter(({ status }) => status === "SUCCESS").length,
  failed: checks.filter(({ status }) => status === "FAILURE" || status === "WARNING"),
  proofs: checks.filter(({ id, status }) => status === "SUCCESS" && id !== COMMON_CHECK).length,
});

async function column(url: string, set: RequirementSet): Promise<Column> {
  const found = await runReferee(url, set);
  return new Map([...found].map(([scenario, checks]) => [scenario, scoreOf(checks)]));
}

/** Adds the fixture as an administrator would, and agrees to all that it offers. */
async function behindOstiary(upstream: string, fastPath: boolean) {
  const app = await startApp({ fastPath });
  const done = async (path: string, body: object): Promise<void> => {
    const { status, body: answer } = await app.api("POST", path, { body });
    if (status >= 300) throw new Error(`${path}: HTTP ${status} ${JSON.stringify(answer)}`);
  };
  await done("/servers", { name: "fixture", transport: { kind: "http", url: upstream } });
  // Nobody sits here who could be asked before each call.
  const terms = { risk: "safe", effects: "read_only" };
  await done("/servers/fixture/approve", { evenWithFindings: true, terms });
  const proxy = await startKeyProxy(app.url, app.adminKey);
  const fastCalls = async (): Promise<number> =>
    Number(/path="fast"\} (\d+)/.exec(await app.doors.metrics.text())?.[1] ?? 0);
  const close = async (): Promise<void> => {
    proxy.close();
    await app.close();
  };
  return { url: `${proxy.url}/mcp/fixture`, fastCalls, close };
}

const good = (score: Score | undefined): boolean => score?.failed.length === 0 && score.proofs > 0;
const told = (score: Score | undefined): string =>
  score === undefined ? "did not run" : `${score.passed}/${score.failed.length}`;

interface Comparison {
  readonly faults: readonly string[];
  readonly passed: number;
  /** Scenarios that nobody demands. */
  readonly skipped: number;
}

/** Prints both columns; resolves with what is not carried through. */
async function compare(set: RequirementSet, direct: Column, through: Column): Promise<Comparison> {
  const demanded = new Set([
    ...(await scored(set)),
    ...REQUIRED.filter((name) => direct.has(name)),
  ]);
  const faults: string[] = [];
  let passed = 0;
  let skipped = 0;
  for (const scenario of new Set([...demanded, ...direct.keys()])) {
    const [one, other] = [direct.get(scenario), through.get(scenario)];
    const isDemanded = demanded.has(scenario);
    const fault = isDemanded && !good(other);
    if (isDemanded && !good(one)) faults.push(`${set} ${scenario}: the fixture itself fails`);
    if (fault)
      faults.push(
        `${set} ${scenario}: ${other?.failed.map(({ id, errorMessage }) => `${id}: ${errorMessage ?? "failed"}`).join("; ") || "no check of its own was made"}`,
      );
    if (!isDemanded) skipped++;
    else if (!fault) passed++;
    const sign = fault ? "✗" : isDemanded ? "✓" : "–";
    console.log(
      `  ${sign} ${scenario.padEnd(48)} direct ${told(one).padEnd(8)} through ${told(other)}`,
    );
  }
  return { faults, passed, skipped };
}

export async function judgeGateway(): Promise<number> {
  const faults: string[] = [];
  let passed = 0;
  let skipped = 0;
  for (const set of SETS) {
    const alone = await startFixtureServer();
    const direct = await column(alone.url, set);
    await alone.close();
    for (const fastPath of [true, false]) {
      const fixture = await startFixtureServer();
      const gateway = await behindOstiary(fixture.url, fastPath);
      console.log(`\n${set}, through Ostiary, fast path ${fastPath ? "on" : "off"}`);
      const compared = await compare(set, direct, await column(gateway.url, set));
      faults.push(...compared.faults);
      passed += compared.passed;
      skipped += compared.skipped;
      const fast = await gateway.fastCalls();
      const meant = fastPath && set === "2026-07-28";
      console.log(`  ${fast > 0 === meant ? "✓" : "✗"} ${fast} calls on the fast path`);
      if (fast > 0 === meant) passed++;
      else
        faults.push(
          `${set}: ${fast} calls on the fast path, ${meant ? "some" : "none"} were meant`,
        );
      await gateway.close();
      await fixture.close();
    }
  }
  for (const fault of faults) console.log(`✗ ${fault}`);
  console.log(
    faults.length === 0 ? "\nall that passes directly passes through" : `\n${faults.length} faults`,
  );
  console.log(`${passed} passed, ${faults.length} failed, ${skipped} skipped`);
  return faults.length;
}
