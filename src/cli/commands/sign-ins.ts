// Sign-ins to the console: list, end.
import type { Command } from "commander";
import type { Cli } from "../cli.ts";
import { showRow, type TableRow } from "../nouns.ts";
import { needsVerb } from "../subcommands.ts";
import { printTable } from "../output/table.ts";

interface SignIn extends TableRow {
  userId: string;
  keyId: string | null;
  createdAt: string;
  seenAt: string;
}

export function define(command: Command, cli: Cli): void {
  command
    .command("list")
    .description("open ones, newest first: user, the key that made the link, since when, last seen")
    .option("--user <id>", "only those of this user")
    .option("--limit <n>", "at most this many (1 to 100)", "50")
    .action(async ({ user, limit }: { user?: string; limit: string }) => {
      const api = await cli.connect("admin");
      const answer = await api.get<{ items: SignIn[] }>("sign-ins", {
        limit,
        ...(user === undefined ? {} : { userId: user }),
      });
      if (cli.flags.json) return cli.term.printJson(answer);
      const rows = answer.items.map((one) => [
        one.id,
        one.userId,
        one.keyId ?? "the server's own link",
        one.createdAt,
        one.seenAt,
      ]);
      printTable(cli, ["id", "user", "key", "since", "seen"], rows);
      if (rows.length === 0) cli.term.note("nobody is signed in");
    });
  command
    .command("end <id>")
    .description("end it, and all that it holds open, on every instance")
    .action(async (id: string) => {
      const api = await cli.connect("admin");
      showRow(
        cli,
        (await api.request<TableRow>("DELETE", `sign-ins/${encodeURIComponent(id)}`)).body,
      );
    });
  needsVerb(command);
}
