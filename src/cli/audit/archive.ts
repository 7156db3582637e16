import type { Command } from "commander";
import type { Cli } from "../cli.ts";
import { parseMoment } from "../duration.ts";
import { usage } from "../client/fail.ts";

interface Answer {
  from: number | null;
  to: number | null;
  events: number;
  files: string[];
  reason: string;
}

interface Options {
  before?: string;
  keepDays?: string;
  dryRun?: true;
}

export function archiveVerb(command: Command, cli: Cli): void {
  command
    .command("archive")
    .description(
      "move the beginning of the ledger out of the database, into files that prove themselves",
    )
    .option("--before <moment>", "only what is older: 2026-01-31, or 90d", (text) =>
      parseMoment(text, -1),
    )
    .option("--keep-days <n>", "instead: keep so many days")
    .option("--dry-run", "only say what would be moved")
    .action((options: Options) => archive(cli, options));
}

async function archive(
  cli: Cli,
  { before, keepDays, dryRun = false as true }: Options,
): Promise<void> {
  if ((before === undefined) === (keepDays === undefined))
    throw usage("give --before or --keep-days, one of them");
  if (keepDays !== undefined && !/^\d{1,5}$/.test(keepDays))
    throw usage(`--keep-days: expected a number of days, got ${JSON.stringify(keepDays)}`);
  const api = await cli.connect("admin");
  const question = before === undefined ? { keepDays: Number(keepDays) } : { before };
  if (!dryRun) {
    const plan = await api.post<Answer>("audit/archive", { ...question, dryRun: true });
    if (
      plan.to !== null &&
      !(await cli.term.confirm(`Move events ${plan.from} to ${plan.to} into the archive?`))
    )
      throw usage("nothing was moved");
  }
  const answer = await api.post<Answer>("audit/archive", { ...question, dryRun });
  if (cli.flags.json) return cli.term.printJson(answer);
  if (answer.to === null) return cli.term.print(`nothing to archive: ${answer.reason}`);
  cli.term.print(
    `events ${answer.from} to ${answer.to} (${answer.events}) ${dryRun ? "would be" : "were"} archived; it ends there because ${answer.reason}`,
  );
  for (const file of answer.files) cli.term.print(`   archive/${file}`);
}
