import { z } from "zod";
import { cutToBytes } from "../../util/text/lines.ts";
import { quote } from "../../util/text/quote.ts";
import type { RunnerName } from "../../util/computations/test-report.ts";
import type { ToolPowers } from "../../contract/powers.ts";
import { defineTool, toolError } from "../../contract/tool.ts";

type Powers = Pick<ToolPowers, "files" | "process">;

interface TestRunner {
  /** Files by which it is recognised. */
  readonly marks: readonly string[];
  /** Its name among the dependencies in package.json. */
  readonly dependency?: string;
  /** Its test files, where nothing else identifies it. */
  readonly tests?: RegExp;
  readonly installed?: string;
  readonly program?: string;
  /** A Python distribution that must be installed. */
  readonly python?: string;
  argv(filter: string | undefined): string[];
  /** Where it writes its report; null: to stdout. */
  readonly report: string | null;
}

const REPORT = "/job/report";

const RUNNERS: Record<RunnerName, TestRunner> = {
  vitest: {
    marks: ["vitest.config.ts", "vitest.config.js", "vitest.config.mts", "vitest.config.mjs"],
    dependency: "vitest",
    installed: "vitest/vitest.mjs",
    report: REPORT,
    argv: (filter) => [
      "run",
      "--reporter=json",
      `--outputFile=${REPORT}`,
      ...(filter === undefined ? [] : [`--testNamePattern=${filter}`]),
    ],
  },
  jest: {
    marks: [
      "jest.config.js",
      "jest.config.ts",
      "jest.config.cjs",
      "jest.config.mjs",
      "jest.config.json",
    ],
    dependency: "jest",
    installed: "jest/bin/jest.js",
    report: REPORT,
    argv: (filter) => [
      "--ci",
      "--json",
      `--outputFile=${REPORT}`,
      ...(filter === undefined ? [] : [`--testNamePattern=${filter}`]),
    ],
  },
  pytest: {
    marks: ["pytest.ini", "conftest.py", "tox.ini", "pyproject.toml"],
    tests: /(?:^|\/)(?:test_[^/]*|[^/]*_test)\.py$/,
    program: "python3",
    python: "pytest",
    report: REPORT,
    argv: (filter) => [
      "-m",
      "pytest",
      "-q",
      "-p",
      "no:cacheprovider",
      `--junitxml=${REPORT}`,
      ...(filter === undefined ? [] : [`-k${filter}`]),
    ],
  },
  go: {
    marks: ["go.mod"],
    program: "go",
    report: null,
    argv: (filter) => [
      "test",
      "-json",
      ...(filter === undefined ? [] : [`-run=${filter}`]),
      "./...",
    ],
  },
  cargo: {
    marks: ["Cargo.toml"],
    program: "cargo",
    report: null,
    argv: (filter) => [
      "test",
      "--offline",
      "--no-fail-fast",
      ...(filter === undefined ? [] : ["--", filter]),
    ],
  },
  node: {
    marks: [],
    tests: /(?:\.|_|-)test\.[cm]?[jt]s$|(?:^|\/)test-[^/]*\.[cm]?[jt]s$/,
    program: "node",
    report: REPORT,
    argv: (filter) => [
      "--test",
      "--test-reporter=junit",
      `--test-reporter-destination=${REPORT}`,
      ...(filter === undefined ? [] : [`--test-name-pattern=${filter}`]),
    ],
  },
};
const NAMES = Object.keys(RUNNERS) as [RunnerName, ...RunnerName[]];

/** Runs the rest of its arguments; their report comes on stdout, everything else on stderr. */
const WITH_REPORT = `report=$1; shift; "$@" >&2; code=$?; [ -f "$report" ] && cat "$report"; exit "$code"`;
const MAX_FAILURES = 100;

export default defineTool({
  name: "shell/test",
  displayName: "Run tests",
  description:
    "Run the tests of a project in the workspace with its own runner (vitest, jest, node, pytest, go or cargo; auto " +
    "finds it) and report how many passed, with the failures. Tests run on a copy: nothing they write stays. There is " +
    "no network. Failing tests are an answer, not an error.",
  input: z.strictObject({
    path: z.string().min(1).max(4_096).default(".").describe("Folder of the project."),
    runner: z
      .enum(["auto", ...NAMES])
      .default("auto")
      .describe("Which runner; auto finds the project's own."),
    filter: z
      .string()
      .min(1)
      .max(1_000)
      .optional()
      .describe("Only tests whose name matches, in the runner's own way."),
    timeoutSeconds: z
      .int()
      .min(5)
      .max(300)
      .default(300)
      .describe("Stop them after this long; cannot exceed the call's own limit."),
  }),
  output: z.strictObject({
    runner: z.string(),
    passed: z.int(),
    failed: z.int(),
    skipped: z.int(),
    durationMs: z.int(),
    failures: z.array(
      z.strictObject({ name: z.string(), file: z.string().optional(), message: z.string() }),
    ),
    exitCode: z.int().describe("-1 when the runner did not end by itself."),
    truncated: z
      .boolean()
      .describe("There are more failures than were listed, or the report was cut off."),
  }),
  risk: "moderate",
  effects: "read_only",
  needs: ["process", "files", "compute"],
  sandbox: "rw",
  timeoutMs: 300_000,
  idempotent: false,
  tags: ["code"],
  aliases: ["run_tests"],
  touches: [{ argument: "/path", kind: "path", access: "read" }],
  examples: [{ path: "project", runner: "node" }],
  async run({ path, runner, filter, timeoutSeconds }, powers, context) {
    const found = await powers.files.stat(path);
    if (found === null)
      throw toolError("path_not_found", `path ${quote(path)}: does not exist`, {
        remedy: "list the directory to see what is there",
      });
    if (found.type !== "dir")
      throw toolError("not_a_directory", `path ${quote(path)}: is not a directory`, {
        remedy: "name the folder of the project and use filter",
      });
    const name = runner === "auto" ? await choose(found.path, powers) : runner;
    if (name === "cargo" && filter?.startsWith("-"))
      throw toolError("invalid_arguments", "filter: expected a name, got an option", {
        code: "BAD_REQUEST",
        remedy: "leave out the leading -",
      });
    const command = [...(await commandOf(name, found.path, powers)), ...RUNNERS[name].argv(filter)];
    const { report } = RUNNERS[name];
    context.progress({ progress: 0, message: `running ${name}` });
    const ended = await powers.process.run({
      argv: report === null ? command : ["sh", "-c", WITH_REPORT, "sh", report, ...command],
      workspace: "copy",
      cwd: found.path,
      timeoutMs: timeoutSeconds * 1_000,
      packages: "read",
      ownEnv: {
        CI: "1",
        NO_COLOR: "1",
        PYTHONDONTWRITEBYTECODE: "1",
        GOFLAGS: "-mod=mod",
        GOPATH: "/tmp/go",
        GOCACHE: "/tmp/go-cache",
        GOPROXY: "off",
        GOTOOLCHAIN: "local",
      },
      inlineBytes: 10_485_760,
    });
    const { timedOut, limitMs } = ended;
    if (timedOut) context.note({ timedOut, ...(limitMs === null ? {} : { limitMs }) });
    const tests = await powers.compute.run("testReport", name, ended.stdout, MAX_FAILURES);
    if (tests === null && ended.exitCode !== -1 && !saysNoTests(ended.stderr + ended.stdout))
      throw toolError(
        "runner_failed",
        `${name} ended with ${ended.exitCode}: ${cutToBytes(ended.stderr.trim() || ended.stdout.trim(), 1_500)}`,
        { remedy: "mend the project's configuration; the text is the runner's own" },
      );
    const { passed, failed, skipped, failures } = tests ?? {
      passed: 0,
      failed: 0,
      skipped: 0,
      failures: [],
    };
    if (passed + failed + skipped === 0 && ended.exitCode !== -1)
      throw toolError(
        "no_tests",
        filter === undefined
          ? `${name} found no tests in ${quote(path)}`
          : `no test in ${quote(path)} matches ${quote(filter)}`,
        { remedy: "name the folder that holds the tests, or another filter" },
      );
    return {
      runner: name,
      passed,
      failed,
      skipped,
      durationMs: ended.durationMs,
      failures: failures.map((one) => ({
        ...one,
        ...(one.file === undefined ? {} : { file: one.file.replace(/^\/workspace\//, "") }),
      })),
      exitCode: ended.exitCode,
      truncated: (tests?.cut ?? false) || ended.truncated,
    };
  },
});

const saysNoTests = (text: string): boolean =>
  /no tests? (?:found|ran|files)|No test files found/i.test(text);

/** By the files of the project, then by its dependencies, then by the names of its tests. */
async function choose(folder: string, powers: Powers): Promise<RunnerName> {
  const { files } = powers;
  const at = (name: string): string => (folder === "." ? name : `${folder}/${name}`);
  const has = async (name: string): Promise<boolean> =>
    (await files.stat(at(name)).catch(() => null))?.type === "file";
  const manifest = await files.read(at("package.json"), { maxBytes: 1_048_576 }).then(
    ({ bytes }) => new TextDecoder().decode(bytes),
    () => "",
  );
  for (const name of NAMES) {
    const { marks, dependency, tests } = RUNNERS[name];
    for (const mark of marks) if (mark !== "pyproject.toml" && (await has(mark))) return name;
    if (dependency !== undefined && new RegExp(`"${dependency}"\\s*:`).test(manifest)) return name;
    if (
      tests &&
      (
        await files.list(folder, {
          depth: 5,
          includeHidden: false,
          maxEntries: 1,
          accept: (entry, within) =>
            entry.type === "file" && tests.test(within) && !within.includes("node_modules/"),
        })
      ).total > 0
    )
      return name;
  }
  throw toolError("no_tests", `no tests were found in ${quote(folder)}`, {
    remedy: "name the folder of the project, or the runner",
  });
}

async function commandOf(
  name: RunnerName,
  folder: string,
  { files, process: programs }: Powers,
): Promise<string[]> {
  const { installed, program, python } = RUNNERS[name];
  if (installed !== undefined) {
    for (const base of folder === "." ? [""] : [`${folder}/`, ""]) {
      const main = `${base}node_modules/${installed}`;
      if (await files.stat(main).catch(() => null)) return ["node", `/workspace/${main}`];
    }
    throw missing(name, `install it in the workspace: npm install --save-dev ${name}`);
  }
  const path = await programs.find(program ?? name);
  if (path === null) throw missing(name, `install ${program} on the server`);
  if (python !== undefined) {
    const tried = await programs.run({
      argv: [path, "-c", `import ${python}`],
      workspace: "none",
      packages: "read",
    });
    if (tried.exitCode !== 0) throw missing(name, `install ${python} with system/package_install`);
  }
  return [path];
}

function missing(name: string, remedy: string): Error {
  return toolError("runner_missing", `${name} is not installed`, { remedy });
}
