// What users, keys and capsules have in common on the command line: pages, one record, only the fields that were given.
import type { Command } from "commander";
import type { Cli } from "./cli.ts";
import { fields, oneLine } from "./output/render.ts";
import { printTable } from "./output/table.ts";

export type TableRow = Record<string, unknown> & { id: string };

export interface ListPage {
  items: TableRow[];
  next: string | null;
}

/** Header of a column, and the field it shows. */
export type TableColumns = Readonly<Record<string, string>>;

export function listVerb(command: Command, cli: Cli, noun: string, columns: TableColumns): Command {
  return command
    .command("list")
    .description(`${noun} of this installation`)
    .option("--limit <n>", "at most this many (1 to 100)", "50")
    .option("--after <cursor>", "the page after this one")
    .action(async (options: Record<string, string>) => {
      const api = await cli.connect("admin");
      const { user, ...page } = options;
      const answer = await api.get<ListPage>(noun, {
        ...page,
        ...(user === undefined ? {} : { userId: user }),
      });
      if (cli.flags.json) return cli.term.printJson(answer);
      printTable(cli, Object.keys(columns), rowsOf(answer.items, columns));
      if (answer.next !== null) cli.term.note(`more: --after ${answer.next}`);
    });
}

export function rowsOf(items: readonly TableRow[], columns: TableColumns): string[][] {
  return items.map((item) => Object.values(columns).map((name) => oneLine(item[name])));
}

export function showVerb(command: Command, cli: Cli, noun: string, key = "id"): void {
  command
    .command(`show <${key}>`)
    .description("one of them in full")
    .action(async (id: string) => {
      const api = await cli.connect("admin");
      showRow(cli, await api.get<TableRow>(`${noun}/${encodeURIComponent(id)}`));
    });
}

export function showRow(cli: Cli, item: TableRow): void {
  if (cli.flags.json) return cli.term.printJson(item);
  for (const line of fields(item)) cli.term.print(line);
}

/** A record with its secret, which is never shown again. */
export function showSecret(cli: Cli, item: TableRow): void {
  if (cli.flags.json) return cli.term.printJson(item);
  const { secret, ...rest } = item;
  for (const line of fields(rest)) cli.term.note(line);
  cli.term.print(oneLine(secret));
  cli.term.note("   shown once; keep it where only its user can read it");
}

/** Without what was not given: absent means unchanged. */
export function given(record: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(record).filter(([, value]) => value !== undefined));
}
