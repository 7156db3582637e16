import { load, explanationText, type CoverageReport } from "@ostiary/rego";
import { runTests, type TestResult, type TestStatus } from "@ostiary/rego/test-runner";
import type { Cli } from "../cli.ts";
import { failed, usage } from "../client/fail.ts";
import { milliseconds, table } from "../output/render.ts";
import { readSources } from "./files.ts";
import { powers, type ReadOptions } from "./reading.ts";
import { placeText, plain, showLoadErrors } from "./show.ts";

export interface TestOptions {
  readonly coverage?: boolean;
  readonly run?: string;
  readonly deadlineMs: number;
  readonly strictBuiltinErrors?: boolean;
}

const WORDS: Record<TestStatus, string> = {
  passed: "PASS",
  failed: "FAIL",
  errored: "ERROR",
  skipped: "SKIPPED",
};

export async function test(
  cli: Cli,
  paths: readonly string[],
  options: TestOptions & ReadOptions,
): Promise<void> {
  const pattern = options.run === undefined ? undefined : regExp(options.run);
  const { modules, data } = readSources(paths);
  const compiled = await load(modules, options);
  if (!compiled.ok) return showLoadErrors(cli, compiled.errors, modules);
  const results = runTests(compiled.policy.withData(data), {
    powers: powers(() => undefined), // the runner keeps what is printed with its test
    deadlineMs: options.deadlineMs,
    strictBuiltinErrors: options.strictBuiltinErrors === true,
    coverage: options.coverage === true,
    ...(pattern && { run: pattern }),
  });
  if (results.length === 0)
    throw failed(
      "no_tests",
      `there is no test in ${paths.join(", ")}`,
      "a test is a rule whose name starts with test_",
    );
  const coverage = options.coverage ? joined(results) : undefined;
  const count = (status: TestStatus) => results.filter((each) => each.status === status).length;
  if (count("failed") + count("errored") > 0) cli.exitCode = 1;
  if (cli.flags.json) {
    return cli.term.printJson({
      passed: count("passed"),
      failed: count("failed"),
      errored: count("errored"),
      skipped: count("skipped"),
      tests: results.map(testJson),
      ...(coverage && { coverage }),
    });
  }
  for (const result of results) showTest(cli, result);
  cli.term.print("-".repeat(80));
  for (const status of ["passed", "failed", "errored", "skipped"] as const)
    if (count(status) > 0) cli.term.print(`${WORDS[status]}: ${count(status)}/${results.length}`);
  if (coverage) showCoverage(cli, coverage);
}

function regExp(source: string): RegExp {
  try {
    return new RegExp(source);
  } catch (cause) {
    throw usage(`--run: ${(cause as Error).message}`);
  }
}

function showTest(cli: Cli, { explanation, error, output, ...result }: TestResult): void {
  const { out } = cli.term;
  const paint =
    result.status === "passed" ? out.green : result.status === "skipped" ? out.yellow : out.red;
  const took = result.status === "skipped" ? "" : ` (${milliseconds(result.durationMs)})`;
  cli.term.print(`${result.package}.${result.name}: ${paint(WORDS[result.status])}${took}`);
  if (result.status === "passed" || result.status === "skipped") return;
  cli.term.print(`  ${placeText(result.location)}`);
  const trace = explanation ? explanationText(explanation).split("\n") : [];
  for (const line of [...(error ? [error.message] : []), ...trace, ...output])
    cli.term.print(`  ${plain(line)}`);
}

function testJson({ explanation, coverage: _, ...result }: TestResult): unknown {
  return {
    ...result,
    ...(explanation && { trace: explanationText(explanation).split("\n") }),
  };
}

/** A line counts when any of the tests reached it. */
function joined(results: readonly TestResult[]): CoverageReport {
  const files: Record<string, { covered: number[]; notCovered: number[] }> = {};
  let hit = 0;
  let all = 0;
  for (const file of new Set(
    results.flatMap(({ coverage }) => Object.keys(coverage?.files ?? {})),
  )) {
    const parts = results.flatMap(({ coverage }) => coverage?.files[file] ?? []);
    const covered = new Set(parts.flatMap((part) => part.covered));
    const missing = new Set(
      parts.flatMap((part) => part.notCovered).filter((line) => !covered.has(line)),
    );
    files[file] = { covered: ascending(covered), notCovered: ascending(missing) };
    hit += covered.size;
    all += covered.size + missing.size;
  }
  return { files, percent: all === 0 ? 100 : (hit / all) * 100 };
}

const ascending = (lines: ReadonlySet<number>): number[] => [...lines].sort((a, b) => a - b);

function showCoverage(cli: Cli, { files, percent }: CoverageReport): void {
  cli.term.print(`coverage: ${percent.toFixed(1)} %`);
  const rows = Object.entries(files)
    .filter(([, { notCovered }]) => notCovered.length > 0)
    .map(([file, { notCovered }]) => [`  ${file}`, `not covered: ${ranges(notCovered)}`]);
  for (const line of table(rows)) cli.term.print(line);
}

/** 3, 5-8 */
function ranges(lines: readonly number[]): string {
  const found: [number, number][] = [];
  for (const line of lines) {
    const last = found.at(-1);
    if (last?.[1] === line - 1) last[1] = line;
    else found.push([line, line]);
  }
  return found.map(([from, to]) => (from === to ? `${from}` : `${from}-${to}`)).join(", ");
}
