// `npm run scoreboard [-- --only 1,4,33] [-- --from folder] [-- --long] [-- --json file]`: every check with what was
// tried, what held and its positive control, or why it was not run. With --from nothing is run: results of commands
// that already ran are read, `<command>.json` and `<command>.log`.
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { createWriteStream, existsSync, mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import type { Check } from "./check.ts";
import { attacksOf, CHECKS } from "./checks.ts";
import { meetsTarget, type Figure } from "./figure.ts";
import { NotRun, Results } from "./results.ts";
import { commandOf, SOURCES, type Source, type SourceName } from "./sources.ts";

const ROOT = join(import.meta.dirname, "../..");
const SOURCE_LIMIT_MS = 45 * 60_000;

const { values } = parseArgs({
  options: {
    only: { type: "string" },
    from: { type: "string" },
    long: { type: "boolean", default: false },
    json: { type: "string" },
    seed: { type: "string", default: "1" },
  },
});
if (values.from !== undefined && !existsSync(values.from)) {
  console.error(`--from: there is no folder ${values.from}`);
  process.exit(2);
}
const only = values.only?.split(",").map(Number);
const checks = CHECKS.filter(({ number }) => only?.includes(number) ?? true);
if (checks.length === 0 || checks.length < (only?.length ?? 0)) {
  console.error("--only: expected numbers from 1 to 48, with commas between");
  process.exit(2);
}

const folder = values.from ?? mkdtempSync(join(tmpdir(), "ostiary-scoreboard-"));
if (values.from === undefined) await runAll();
const results = new Results(resolve(folder));

const git = spawnSync("git", ["describe", "--always", "--dirty", "--abbrev=12"], { cwd: ROOT });
console.log(
  `commit ${String(git.stdout).trim()}, Node ${process.version}, ${availableParallelism()} cores, seed ${values.seed}`,
);
console.log(`results in ${resolve(folder)}\n`);

interface Line {
  readonly check: Check;
  readonly verdict: "held" | "partly" | "MISSED" | "not run";
  readonly figure: Figure | null;
  readonly why: string | null;
}

const lines = checks.map(lineOf);
for (const line of lines) print(line);
if (results.has("attack")) console.log(`\n${attacksOf(results.json("attack"))}`);
const count = (verdict: Line["verdict"]): number =>
  lines.filter((line) => line.verdict === verdict).length;
if (values.json !== undefined)
  writeFileSync(
    values.json,
    `${JSON.stringify(
      lines.map(({ check: { number, name, target }, ...rest }) => ({
        number,
        name,
        target,
        ...rest,
      })),
      null,
      2,
    )}\n`,
  );
console.log(
  `\n${lines.length} checks: ${count("held")} held, ${count("partly")} held in part, ${count("MISSED")} missed, ${count("not run")} not run`,
);
console.log(
  `${count("held") + count("partly")} passed, ${count("MISSED")} failed, ${count("not run")} skipped`,
);
process.exitCode = count("MISSED") > 0 ? 1 : 0;

function lineOf(check: Check): Line {
  try {
    const figure = check.read(results);
    return { check, verdict: verdictOf(figure), figure, why: null };
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    if (error instanceof NotRun) return { check, verdict: "not run", figure: null, why };
    return { check, verdict: "MISSED", figure: null, why };
  }
}

/** Partly: everything tried was held, and less was tried than the check asks for. */
function verdictOf(figure: Figure): Line["verdict"] {
  if (!meetsTarget(figure)) return "MISSED";
  return figure.lacks === undefined ? "held" : "partly";
}

function print({ check, verdict, figure, why }: Line): void {
  console.log(`${String(check.number).padStart(2)}  ${verdict.padEnd(7)}  ${check.name}`);
  const say = (label: string, text: string): void =>
    console.log(`               ${label.padEnd(8)} ${text}`);
  say("target", check.target);
  if (why !== null) say(verdict === "not run" ? "why" : "broke", why);
  if (!figure) return;
  const { tried, held, unit, control, figures, lacks, note, faults } = figure;
  say("tried", `${tried} ${unit}, held ${held}${figures ? `; ${figures}` : ""}`);
  say("control", `${control.held} of ${control.tried} work`);
  if (lacks !== undefined) say("lacks", lacks);
  if (note !== undefined) say("note", note);
  for (const fault of faults.slice(0, 5)) say("✗", fault);
}

async function runAll(): Promise<void> {
  mkdirSync(folder, { recursive: true });
  const wanted = new Set(checks.flatMap(({ sources }) => sources));
  if (only === undefined) wanted.add("attack");
  for (const name of Object.keys(SOURCES) as SourceName[]) if (wanted.has(name)) await run(name);
}

async function run(name: SourceName): Promise<void> {
  const source: Source = SOURCES[name];
  const tests = checks
    .filter((check) => check.sources.includes(name))
    .flatMap((check) => check.tests ?? []);
  const argv = commandOf(source, join(folder, `${name}.json`), tests);
  if (name === "probes" && only)
    argv.push(
      ...only
        .filter((number) =>
          checks.some((check) => check.number === number && check.sources.includes("probes")),
        )
        .map(String),
    );
  console.log(`== ${name}: ${argv.join(" ")}`);
  const began = performance.now();
  const log = createWriteStream(join(folder, `${name}.log`));
  const env = { ...process.env, ...((values.long ? source.longEnv : undefined) ?? source.env) };
  const [program = "", ...args] = argv;
  const child = spawn(program, args, {
    cwd: ROOT,
    env,
    stdio: ["ignore", "pipe", "pipe"],
    timeout: SOURCE_LIMIT_MS,
  });
  child.stdout.pipe(log, { end: false });
  child.stderr.pipe(log, { end: false });
  const code = await once(child, "close").then(
    ([ended]) => String(ended),
    (error: unknown) => String(error),
  );
  log.end();
  console.log(
    `== ${name}: ended with ${code} after ${Math.round((performance.now() - began) / 1000)} s`,
  );
}
