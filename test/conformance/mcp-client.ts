// The referee against our side of a connection: `client.ts` is the program it starts, once per scenario.
import { spawn } from "node:child_process";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parse } from "yaml";
import type { Check } from "./mcp-judge.ts";
import type { RequirementSet } from "./mcp-left-out.ts";
import { SETS } from "./mcp-referee.ts";

const SCENARIO_LIMIT_MS = "120000";
const PACKAGE = join(import.meta.dirname, "../../node_modules/@modelcontextprotocol/conformance");
const PROGRAM = join(import.meta.dirname, "client.ts");
const LOOPBACK = join(import.meta.dirname, "loopback.ts");

/** Two programs start for each scenario, and read the same sources. */
const COMPILED_ONCE = {
  ...process.env,
  NODE_COMPILE_CACHE: join(import.meta.dirname, "../../node_modules/.cache/node"),
};

interface Requirements {
  readonly client: readonly string[];
  readonly not_scored: readonly { readonly scenario: string; readonly leg: string }[];
}

/** Of every scored scenario all checks must pass, and there must be some; resolves with the number of failures. */
export async function judgeClient(): Promise<number> {
  let failed = 0;
  let passed = 0;
  let unscored = 0;
  for (const set of SETS) {
    const { client: scored, not_scored } = parse(
      await readFile(join(PACKAGE, "requirements", `${set}.yaml`), "utf8"),
    ) as Requirements;
    const found = await runClient(set, [
      ...scored,
      ...not_scored.filter(({ leg }) => leg === "client").map(({ scenario }) => scenario),
    ]);
    console.log(`\n${set}, our client`);
    for (const scenario of scored) if (!found.has(scenario)) found.set(scenario, []);
    const sums = { scored: [0, 0], unscored: [0, 0] };
    for (const [scenario, checks] of [...found].sort(([a], [b]) => (a < b ? -1 : 1))) {
      const kind = scored.includes(scenario) ? "scored" : "unscored";
      const good = checks.filter(({ status }) => status === "SUCCESS").length;
      const faults = checks.filter(({ status }) => status === "FAILURE" || status === "WARNING");
      sums[kind][0] = (sums[kind][0] ?? 0) + good;
      sums[kind][1] = (sums[kind][1] ?? 0) + faults.length;
      const isFailed = faults.length > 0 || good === 0;
      if (kind === "unscored") unscored++;
      else if (isFailed) failed++;
      else passed++;
      const sign = !isFailed ? "✓" : kind === "scored" ? "✗" : "–";
      const words = faults.map(({ id, errorMessage }) => `${id}: ${errorMessage ?? "failed"}`);
      console.log(
        `  ${sign} ${scenario}${kind === "scored" ? "" : " (not scored)"}: ${good} checks${words.length > 0 ? `; ${words.join("; ")}` : ""}`,
      );
    }
    console.log(
      `  scored: ${sums.scored[0]} checks passed, ${sums.scored[1]} failed, in ${scored.length} scenarios; not scored: ${sums.unscored[0]} passed, ${sums.unscored[1]} failed`,
    );
  }
  console.log(`\n${passed} passed, ${failed} failed, ${unscored} skipped`);
  return failed;
}

/** One after the other: the referee would start all at once, and then only the machine would be judged. */
async function runClient(
  set: RequirementSet,
  scenarios: readonly string[],
): Promise<Map<string, Check[]>> {
  const output = await mkdtemp(join(tmpdir(), "ostiary-conformance-"));
  try {
    const command = `${process.execPath} --no-warnings ${PROGRAM}`;
    for (const scenario of scenarios) {
      const args = [
        "--no-warnings",
        "--import",
        LOOPBACK,
        join(PACKAGE, "dist/index.js"),
        "client",
        "--command",
        command,
        "--scenario",
        scenario,
        "--spec-version",
        set,
        "--force",
        "--timeout",
        SCENARIO_LIMIT_MS,
        "-o",
        output,
      ];
      const child = spawn(process.execPath, args, { stdio: "ignore", env: COMPILED_ONCE });
      await new Promise((resolve, reject) => child.on("error", reject).on("exit", resolve));
    }
    return await checksIn(output);
  } finally {
    await rm(output, { recursive: true, force: true });
  }
}

/** The referee writes a folder per scenario, those with a slash in folders of their own. */
async function checksIn(output: string): Promise<Map<string, Check[]>> {
  const found = new Map<string, Check[]>();
  for (const path of await readdir(output, { recursive: true })) {
    const [, scenario] = /^(.+)-\d{4}-\d\d-\d\dT[\d-]+Z\/checks\.json$/.exec(path) ?? [];
    if (scenario === undefined) continue;
    found.set(
      scenario.replace(/^client-/, ""),
      JSON.parse(await readFile(join(output, path), "utf8")) as Check[],
    );
  }
  return found;
}
