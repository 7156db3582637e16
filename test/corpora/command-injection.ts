// T32: every line as every text argument of the tools that start programs, without the gate in front: what holds is
// the tools, the process power and the box. An argument must come out as it went in, with no other process begun on
// the way; stand-ins for common programs, first in the server's PATH, tell of anything that was started outside.
import { execFileSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { JsonObject } from "../../src/contract/call.ts";
import { AppError } from "../../src/contract/errors.ts";
import type { Tool } from "../../src/contract/tool.ts";
import exec from "../../src/tools/shell/exec.ts";
import gitStatus from "../../src/tools/shell/git_status.ts";
import lint from "../../src/tools/shell/lint.ts";
import python from "../../src/tools/shell/python.ts";
import script from "../../src/tools/shell/script.ts";
import tests from "../../src/tools/shell/test.ts";
import packageInstall from "../../src/tools/system/package_install.ts";
import { makeProject } from "../fixtures/project.ts";
import { openBench, type Bench } from "../fixtures/tool-bench.ts";
import type { CorpusResult } from "./corpus.ts";
import { inParallel } from "./open-app.ts";

const TRAPS = [
  "sh",
  "bash",
  "echo",
  "sleep",
  "ping",
  "nslookup",
  "dig",
  "curl",
  "wget",
  "nc",
  "id",
  "whoami",
  "uname",
  "cat",
  "ls",
  "touch",
  "perl",
  "ruby",
  "php",
  "python",
  "expr",
  "tr",
  "wc",
  "sudo",
  "rm",
  "git",
  "npm",
  "pip",
];
const BATCH = 190;
const BATCH_BYTES = 40_000;
const BATCH_VARIABLES = 50;
/** Each of these needs a box of its own, so a fair part of the lines must do. */
const NAMED_FOLDERS = 40;
const FILTERS = 20;

class Tally {
  tried = 0;
  readonly escaped: string[] = [];
  readonly controls = { tried: 0, failed: [] as string[] };

  held(count: number, what: string, lines: readonly string[], holds: boolean): void {
    this.tried += count;
    if (!holds) this.escaped.push(`${what} ${JSON.stringify(lines).slice(0, 300)}`);
  }

  control(what: string, holds: boolean): void {
    this.controls.tried++;
    if (!holds) this.controls.failed.push(what);
  }
}

export async function run(lines: string[]): Promise<CorpusResult> {
  const bench = await openBench();
  makeProject(bench.workspace);
  const outside = trap();
  const tally = new Tally();
  try {
    await control(bench, tally);
    await inParallel(batchesOf(lines.filter(canBeArgument)), 2, (batch) =>
      echoed(bench, batch, tally),
    );
    await inParallel(lines, 8, (line) => refused(bench, line, tally));
    await named(bench, lines, tally);
    await inParallel(lines.filter(canBeArgument).slice(0, FILTERS), 2, (line) =>
      filtered(bench, line, tally),
    );
    await control(bench, tally);
    for (const started of outside.started()) tally.escaped.push(`started outside: ${started}`);
    tally.control("a stand-in tells", outside.works());
  } finally {
    outside.close();
    await bench.close();
  }
  const { tried, escaped, controls } = tally;
  return { tried, contained: tried - escaped.length, escaped, controls };
}

const canBeArgument = (line: string): boolean => !line.includes("\0") && line.isWellFormed();

function batchesOf(lines: readonly string[]): string[][] {
  const batches: string[][] = [[]];
  let bytes = 0;
  for (const line of lines) {
    const size = Buffer.byteLength(line) + 1;
    if (batches.at(-1)?.length === BATCH || bytes + size > BATCH_BYTES) {
      batches.push([]);
      bytes = 0;
    }
    batches.at(-1)?.push(line);
    bytes += size;
  }
  return batches.filter((batch) => batch.length > 0);
}

/**
 * Prints each argument and a zero byte, then the numbers of itself and of a child: the next one if nothing came
 * between.
 */
const SHELL_ECHO = `for a in "$@"; do printf '%s\\0' "$a"; done; sh -c 'printf "%s %s" "$PPID" "$$"'`;
const PYTHON_ECHO = `
import os, sys
for a in sys.argv[1:]: os.write(1, os.fsencode(a) + b"\\0")
child = os.fork()
if child == 0: os._exit(0)
os.waitpid(child, 0)
os.write(1, f"{os.getpid()} {child}".encode())
`;

async function echoed(bench: Bench, batch: readonly string[], tally: Tally): Promise<void> {
  const whole = batch.map((line) => `${line}\0`).join("");
  const direct = await bench.run(exec, { command: ["printf", "%s\\0", ...batch] });
  tally.held(batch.length, "shell/exec argv", batch, direct["stdout"] === whole);
  for (const [tool, input] of [
    [script, { script: SHELL_ECHO }],
    [python, { script: PYTHON_ECHO }],
  ] as const) {
    const { stdout } = await bench.run(tool, { ...input, args: [...batch] });
    const [before, after] = ((stdout as string).split("\0").at(-1) ?? "").split(" ").map(Number);
    const intact = (stdout as string).startsWith(whole) && after === (before ?? 0) + 1;
    tally.held(batch.length, `${tool.name} args`, batch, intact);
  }
  const given = await bench.run(exec, { command: ["cat"], stdin: whole });
  tally.held(batch.length, "shell/exec stdin", batch, given["stdout"] === whole);
  for (let at = 0; at < batch.length; at += BATCH_VARIABLES) {
    const values = batch.slice(at, at + BATCH_VARIABLES);
    const env = Object.fromEntries(values.map((line, index) => [`V${index}`, line]));
    const { stdout } = await bench.run(exec, {
      command: ["printenv", "-0", ...Object.keys(env)],
      env,
    });
    tally.held(
      values.length,
      "shell/exec env",
      values,
      stdout === values.map((line) => `${line}\0`).join(""),
    );
  }
}

/** Where a line is no value of its own kind: a fault with a reason, before anything is started. */
async function refused(bench: Bench, line: string, tally: Tally): Promise<void> {
  const cases: [Tool, JsonObject][] = [
    [exec, { command: `no-such-program ${line}` }],
    [exec, { command: [line] }],
    [exec, { command: ["no-such-program"], cwd: line }],
    [exec, { command: ["no-such-program"], env: { [line]: "x" } }],
    [script, { script: "true", interpreter: line }],
    [python, { script: "1", packages: [`${line} `] }],
    [gitStatus, { path: `missing/${line}` }],
    [lint, { path: `missing/${line}` }],
    [tests, { path: `missing/${line}` }],
    [tests, { path: ".", runner: line }],
    [packageInstall, { manager: "npm", name: "left-pad", version: `${line} ` }],
    [packageInstall, { manager: "pip", name: `${line} `, version: "1.0.0" }],
  ];
  for (const [tool, input] of cases) {
    // A line that is the name or path of a program of the box would be started there, as it should.
    if (Array.isArray(input["command"]) && (line.includes("/") || /^[\w.+-]+$/.test(line)))
      continue;
    const fault = await bench.run(tool, input).then(
      () => null,
      (cause: unknown) => cause,
    );
    tally.held(
      1,
      `${tool.name} ${Object.keys(input).join()}`,
      [line],
      fault instanceof AppError && fault.fault.reason !== "unexpected",
    );
  }
}

/** Lines as names of files and folders that exist. */
async function named(bench: Bench, lines: readonly string[], tally: Tally): Promise<void> {
  const names = [...new Set(lines)].filter(
    (line) =>
      /^[^/\0\p{Cc}]+$/u.test(line) &&
      Buffer.byteLength(line) < 200 &&
      line.trim() !== "" &&
      !/^\.+$/.test(line) &&
      line.isWellFormed(),
  );
  for (let at = 0; at < names.length; at += BATCH) {
    const batch = names.slice(at, at + BATCH);
    const folder = join(bench.workspace, "scripts");
    mkdirSync(folder);
    for (const name of batch) writeFileSync(join(folder, `${name}.sh`), "#!/bin/sh\necho $1\n");
    const found = await bench.run(lint, { path: "scripts", linter: "shellcheck" });
    const paths = new Set((found["issues"] as { path: string }[]).map(({ path }) => path));
    const visible = batch.filter((name) => !name.startsWith("."));
    tally.held(
      batch.length,
      "shell/lint path",
      batch,
      visible.every((name) => paths.has(`scripts/${name}.sh`)),
    );
    rmSync(folder, { recursive: true });
  }
  await inParallel(names.slice(0, NAMED_FOLDERS), 2, async (name) => {
    mkdirSync(join(bench.workspace, "project", name));
    const state = await bench.run(gitStatus, { path: `project/${name}`, log: 1, diff: true });
    tally.held(1, "shell/git_status path", [name], state["branch"] === "main");
  });
}

async function filtered(bench: Bench, line: string, tally: Tally): Promise<void> {
  const ended = await bench
    .run(tests, { path: "project", runner: "node", filter: line })
    .catch((cause: unknown) => cause);
  const reason = ended instanceof AppError ? ended.fault.reason : null;
  const fine =
    reason === null
      ? !(ended instanceof Error)
      : ["no_tests", "runner_failed", "invalid_arguments"].includes(reason);
  tally.held(1, "shell/test filter", [line], fine);
}

async function control(bench: Bench, tally: Tally): Promise<void> {
  const done = await bench.run(exec, { command: ["printf", "%s", "plain"] });
  tally.control("an ordinary argument", done["stdout"] === "plain");
  const shell = await bench.run(script, {
    script: 'eval "$1"',
    args: ["echo in$((1 + 1))jected; sh -c true"],
  });
  tally.control(
    "a script that does evaluate its argument is seen to",
    shell["stdout"] === "in2jected\n",
  );
  const state = await bench.run(gitStatus, { path: "." });
  tally.control("shell/git_status", state["branch"] === "main");
  const run = await bench.run(tests, { path: "project", runner: "node", filter: "adds" });
  tally.control("shell/test", run["passed"] === 1);
}

interface Trap {
  started(): string[];
  works(): boolean;
  close(): void;
}

function trap(): Trap {
  const folder = mkdtempSync(join(tmpdir(), "ostiary-traps-"));
  const log = join(folder, "log");
  for (const name of TRAPS) {
    writeFileSync(join(folder, name), `#!/bin/sh\nprintf '%s\\n' "$0 $*" >>'${log}'\n`);
    chmodSync(join(folder, name), 0o755);
  }
  const path = process.env["PATH"] ?? "";
  process.env["PATH"] = `${folder}:${path}`;
  return {
    started: () => (existsSync(log) ? readFileSync(log, "utf8").trim().split("\n") : []),
    works() {
      execFileSync("whoami", ["control"]);
      return existsSync(log) && readFileSync(log, "utf8").endsWith("whoami control\n");
    },
    close() {
      process.env["PATH"] = path;
      rmSync(folder, { recursive: true });
    },
  };
}
