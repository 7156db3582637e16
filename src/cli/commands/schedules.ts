// Schedules of workflows: list, pause, resume, change, remove, and the results of their due times.
import { Option, type Command } from "commander";
import type { Cli } from "../cli.ts";
import { given, rowsOf, showRow, type TableColumns, type TableRow } from "../nouns.ts";
import { needsVerb } from "../subcommands.ts";
import { printTable } from "../output/table.ts";

const SCHEDULE: TableColumns = {
  id: "id",
  workflow: "workflowId",
  cron: "cron",
  timezone: "timezone",
  enabled: "enabled",
  next: "nextAt",
  last: "lastAt",
  error: "lastError",
};
const TIME: TableColumns = { due: "dueAt", state: "state", execution: "executionId", note: "note" };

const pathOf = (id: string): string => `schedules/${encodeURIComponent(id)}`;

export function define(command: Command, cli: Cli): void {
  const list = async (
    path: string,
    columns: TableColumns,
    options: Record<string, string | undefined>,
  ): Promise<void> => {
    const api = await cli.connect("admin");
    const answer = await api.get<{ items: TableRow[] }>(path, options);
    if (cli.flags.json) return cli.term.printJson(answer);
    printTable(cli, Object.keys(columns), rowsOf(answer.items, columns));
  };
  const change = async (id: string, edit: Record<string, unknown>): Promise<void> => {
    const api = await cli.connect("admin");
    showRow(cli, (await api.request<TableRow>("PATCH", pathOf(id), edit)).body);
  };
  command
    .command("list")
    .description("your schedules, those that are due first")
    .option("--user <id>", "of another user, or * for everybody (administrators)")
    .option("--workflow <id>", "of this workflow")
    .option("--limit <n>", "at most this many (1 to 100)", "50")
    .action(({ user, workflow, limit }: Record<string, string>) =>
      list("schedules", SCHEDULE, { userId: user, workflowId: workflow, limit }),
    );
  command
    .command("times <id>")
    .description("what became of its due times, newest first")
    .option("--limit <n>", "at most this many (1 to 100)", "50")
    .action((id: string, { limit }: Record<string, string>) =>
      list(`${pathOf(id)}/times`, TIME, { limit }),
    );
  command
    .command("pause <id>")
    .description("run it no more until it is resumed")
    .action((id: string) => change(id, { enabled: false }));
  command
    .command("resume <id>")
    .description("go on with its next time; what was due meanwhile is left out")
    .action((id: string) => change(id, { enabled: true }));
  command
    .command("edit <id>")
    .description("change what becomes of missed and overlapping times")
    .addOption(
      new Option("--catch-up <rule>", "times missed while nothing ran").choices([
        "skip",
        "once",
        "all",
      ]),
    )
    .addOption(
      new Option("--overlap <rule>", "a time at which the run before it is under way").choices([
        "skip",
        "queue",
        "allow",
      ]),
    )
    .action((id: string, edit: Record<string, string>) => change(id, given({ ...edit })));
  command
    .command("remove <id>")
    .description("remove it; runs that it started stay")
    .action(async (id: string) => {
      if (!(await cli.term.confirm(`Remove schedule ${id}?`))) {
        cli.exitCode = 1;
        return cli.term.note("not removed");
      }
      const api = await cli.connect("admin");
      showRow(cli, (await api.request<TableRow>("DELETE", pathOf(id))).body);
    });
  needsVerb(command);
}
