// Rego policies: in local files, where no server is asked, and their versions on the server.
import { InvalidArgumentError, type Command } from "commander";
import { readFolder } from "../../governance/rules/files/folder.ts";
import type { Cli } from "../cli.ts";
import { documentVerbs, orUsage } from "../documents.ts";
import { parseDuration } from "../duration.ts";
import { usage } from "../client/fail.ts";
import { needsVerb } from "../subcommands.ts";
import type { EvalOptions } from "../policy/eval.ts";
import type { FmtOptions } from "../policy/fmt.ts";
import type { ReplayOptions } from "../policy/replay.ts";
import type { TestOptions } from "../policy/test.ts";

interface Common {
  readonly v0?: boolean;
}

interface Timed {
  readonly timeout: number;
  readonly strictBuiltinErrors?: boolean;
}

const version = ({ v0 }: Common) => (v0 ? "v0" : "v1");

export function define(command: Command, cli: Cli): void {
  const verb = (usage: string, about: string): Command =>
    command
      .command(usage)
      .description(about)
      .option("--v0", "read modules that do not name a version as Rego v0");
  const timed = (to: Command): Command =>
    to
      .option("--timeout <duration>", "longest evaluation", duration, 10_000)
      .option("--strict-builtin-errors", "a function that fails ends the evaluation");

  verb("check <paths...>", "do these files and folders compile? Every error with its line").action(
    async (paths: string[], options: Common) => {
      const { check } = await import("../policy/check.ts");
      await check(cli, paths, { version: version(options) });
    },
  );
  timed(verb("test <paths...>", "run the rules named test_…, as opa test does"))
    .option("--coverage", "which lines the tests reached")
    .option("--run <pattern>", "only tests whose full name matches this regular expression")
    .action(async (paths: string[], options: Common & Timed & TestOptions) => {
      const { test } = await import("../policy/test.ts");
      await test(cli, paths, {
        ...options,
        deadlineMs: options.timeout,
        version: version(options),
      });
    });
  timed(verb("eval <query>", "the value of a query"))
    .option("-d, --data <path>", "modules, JSON and YAML: a file or folder; repeatable", append, [])
    .option("-i, --input <file>", "input document, JSON or YAML; - for stdin")
    .option("--explain", "which rules contributed, and where each other one failed")
    .action(async (query: string, options: Common & Timed & EvalOptions) => {
      const { evaluate } = await import("../policy/eval.ts");
      await evaluate(cli, query, {
        ...options,
        deadlineMs: options.timeout,
        version: version(options),
      });
    });
  verb("fmt <paths...>", "print modules in the canonical layout")
    .option("--check", "only name the files that differ; exit 1 when there are any")
    .option("--write", "rewrite the files that differ, and name them")
    .action(async (paths: string[], options: Common & FmtOptions) => {
      const { fmt } = await import("../policy/fmt.ts");
      fmt(cli, paths, { ...options, version: version(options) });
    });
  command
    .command("replay")
    .description("recorded calls that a draft would decide otherwise; nothing runs")
    .option("--policy <path>", "modules to try out: a file or a folder")
    .option("--schema <file>", "a relation schema to try out")
    .option(
      "--governance <path>",
      "tools.yaml, modes.yaml, plans.yaml to try out: a file or a folder",
    )
    .option("--since <time>", "calls from then on, e.g. 7d (the default) or 2026-01-31")
    .option("--last <n>", "at most so many, the newest (1 to 10000, default 1000)")
    .action(async (options: ReplayOptions) => {
      const { replay } = await import("../policy/replay.ts");
      await replay(cli, options);
    });
  documentVerbs(command, cli, { path: "policies", trial: true, read: readPolicies });
  needsVerb(command);
}

function readPolicies(folder: string): Readonly<Record<string, string>> {
  const files = orUsage(() => readFolder(folder));
  if (Object.keys(files).length === 0) throw usage(`there is no file in ${folder}`);
  return files;
}

const append = (path: string, earlier: string[]): string[] => [...earlier, path];

function duration(text: string): number {
  const ms = parseDuration(text);
  if (ms > 0) return ms;
  throw new InvalidArgumentError("it must be longer than zero");
}
