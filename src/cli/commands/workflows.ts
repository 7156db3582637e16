// Workflows as files, and their runs.
import type { Command } from "commander";
import type { Cli } from "../cli.ts";
import { needsVerb } from "../subcommands.ts";
import type { RunOptions } from "../workflows/run.ts";

export function define(command: Command, cli: Cli): void {
  defineFiles(command, cli);
  defineRuns(command, cli);
  needsVerb(command);
}

function defineFiles(command: Command, cli: Cli): void {
  command
    .command("apply <files...>")
    .description("make a new version of each workflow that differs; all files are checked first")
    .option("--dry-run", "only say what would change, and what the gate would say to each step")
    .option("--force", "a new version also where nothing differs, e.g. when its author is gone")
    .action(async (files: string[], options: { dryRun?: boolean; force?: boolean }) =>
      (await import("../workflows/apply.ts")).apply(cli, files, options),
    );
  command
    .command("validate <files...>")
    .description("every fault with file, line and column; nothing is stored")
    .option("--offline", "without a server: tools and other workflows are not looked up")
    .action(async (files: string[], options: { offline?: boolean }) =>
      (await import("../workflows/apply.ts")).validate(cli, files, options),
    );
  command
    .command("list")
    .description("your workflows in their newest version")
    .option("--user <id>", "of another user, or * for everybody (administrators)")
    .action(async (options: { user?: string }) =>
      (await import("../workflows/show.ts")).list(cli, options),
    );
  command
    .command("show <name>")
    .description("one of them: its steps, in order")
    .option("--yaml", "as the file that apply takes")
    .action(async (name: string, options: { yaml?: boolean }) =>
      (await import("../workflows/show.ts")).show(cli, name, options),
    );
  command
    .command("export <name>")
    .description("the file that apply takes, or a picture of the steps")
    .option("--mermaid", "a flowchart in the language of Mermaid")
    .option("--out <file>", "write it there instead of printing it")
    .action(async (name: string, options: { mermaid?: boolean; out?: string }) =>
      (await import("../workflows/show.ts")).exportOne(cli, name, options),
    );
}

function followed(command: Command): Command {
  return command
    .option("--input <json>", "the input as JSON, @file, or - for stdin")
    .option("--watch", "a line for each change of a step")
    .option("--no-wait", "answer with the execution id at once");
}

function defineRuns(command: Command, cli: Cli): void {
  followed(
    command
      .command("run <name> [pairs...]")
      .usage("<name> [key=value…] [options]")
      .description("start a run and wait for its end"),
  ).action(async (name: string, pairs: string[], options: RunOptions) =>
    (await import("../workflows/run.ts")).run(cli, name, pairs, options),
  );
  command
    .command("runs <name>")
    .description("its runs, newest first")
    .option("--limit <n>", "at most this many (1 to 100)", "50")
    .action(async (name: string, options: { limit: string }) =>
      (await import("../workflows/show.ts")).listRuns(cli, name, options),
    );
  command
    .command("logs <run>")
    .description("what happened in a run, oldest first")
    .option("--follow", "and go on until it has ended")
    .option("--after <n>", "only entries after this number", "0")
    .action(async (run: string, options: { follow?: boolean; after: string }) =>
      (await import("../workflows/runs.ts")).logs(cli, run, options),
    );
  const asks = {
    cancel: "end a run: what is at work is cancelled",
    pause: "begin no further step of a run",
    resume: "let a paused run go on",
  };
  for (const [verb, about] of Object.entries(asks))
    command
      .command(`${verb} <run>`)
      .description(about)
      .action(async (run: string) => (await import("../workflows/runs.ts")).ask(cli, run, verb));
  followed(
    command
      .command("rerun <run>")
      .description("run it again from one of its steps; earlier outputs are taken over")
      .option("--from <step>", "the step to begin with (default: the one that failed)"),
  ).action(async (run: string, options: RunOptions & { from?: string }) =>
    (await import("../workflows/run.ts")).rerun(cli, run, options),
  );
}
