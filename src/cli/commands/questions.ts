// Questions that tools ask: list, answer, decline.
import type { Command } from "commander";
import type { Cli } from "../cli.ts";
import { showRow, type TableRow } from "../nouns.ts";
import { oneLine } from "../output/render.ts";
import { needsVerb } from "../subcommands.ts";
import { printTable } from "../output/table.ts";

interface Question extends TableRow {
  question: string;
  options: string[] | null;
  state: string;
  userId: string;
  expiresAt: string;
}

export function define(command: Command, cli: Cli): void {
  command
    .command("list")
    .description("those that wait for an answer, newest first")
    .option(
      "--state <state>",
      "pending, answered, declined, expired, not_presented or all",
      "pending",
    )
    .option("--limit <n>", "at most this many (1 to 100)", "50")
    .action(async ({ state, limit }: { state: string; limit: string }) => {
      const api = await cli.connect("admin");
      const answer = await api.get<{ items: Question[] }>("questions", {
        limit,
        ...(state === "all" ? {} : { state }),
      });
      if (cli.flags.json) return cli.term.printJson(answer);
      const rows = answer.items.map((one) => [
        one.id,
        one.state,
        one.userId,
        oneLine(one.question),
        one.options === null ? "" : oneLine(one.options.join(" | ")),
      ]);
      printTable(cli, ["id", "state", "user", "question", "options"], rows);
      if (rows.length === 0) cli.term.note("nobody asks anything");
    });
  command
    .command("answer <id> <text>")
    .description("answer it; the call that asked continues with your answer")
    .action(async (id: string, text: string) => decide(cli, id, { answer: text }));
  command
    .command("decline <id>")
    .description("give no answer")
    .action(async (id: string) => decide(cli, id, { decline: true }));
  needsVerb(command);
}

async function decide(cli: Cli, id: string, body: object): Promise<void> {
  const api = await cli.connect("admin");
  showRow(cli, await api.post<TableRow>(`questions/${encodeURIComponent(id)}/answer`, body));
}
