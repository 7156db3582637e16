import type { Command } from "commander";
import type { Cli } from "../cli.ts";
import { usage } from "../client/fail.ts";
import { given, listVerb, rowsOf, showRow, showVerb, type TableRow } from "../nouns.ts";
import { printTable } from "../output/table.ts";
import { needsVerb } from "../subcommands.ts";

interface Options {
  id?: string;
  name?: string;
  tools?: string[];
  add?: string[];
  remove?: string[];
  default?: boolean;
  status?: string;
  listing?: string;
}

export function define(command: Command, cli: Cli): void {
  command
    .command("create <name>")
    .description("a new capsule")
    .option("--id <id>", "choose the id instead of getting one")
    .option(
      "--tools <names...>",
      "the tools it holds; server/tool@pin at one definition; * every native one",
    )
    .option("--default", "callers without a capsule of their own hold this one")
    .option("--status <status>", "draft, active or archived")
    .option("--listing <listing>", "what MCP clients are shown: full, or search")
    .action(async (name: string, options: Options) => {
      const { tools, ...rest } = options;
      const api = await cli.connect("admin");
      showRow(
        cli,
        await api.post<TableRow>("capsules", given({ name, capabilities: tools ?? [], ...rest })),
      );
    });
  listVerb(command, cli, "capsules", {
    id: "id",
    name: "name",
    status: "status",
    version: "version",
    default: "default",
    listing: "listing",
    tools: "capabilities",
  });
  showVerb(command, cli, "capsules");
  command
    .command("edit <id>")
    .description("change a capsule; what is not named stays")
    .option("--name <name>", "new name")
    .option("--tools <names...>", "exactly these tools")
    .option("--add <names...>", "these tools too")
    .option("--remove <names...>", "not these tools")
    .option("--default", "make it the tenant's default")
    .option("--status <status>", "draft, active or archived")
    .option("--listing <listing>", "what MCP clients are shown: full, or search")
    .action((id: string, options: Options) => edit(cli, id, options));
  versionVerbs(command, cli);
  needsVerb(command);
}

function versionVerbs(command: Command, cli: Cli): void {
  const pathOf = (id: string): string => `capsules/${encodeURIComponent(id)}/versions`;
  command
    .command("versions <id>")
    .description("its versions, newest first")
    .action(async (id: string) => {
      const api = await cli.connect("admin");
      const answer = await api.get<{ items: TableRow[] }>(pathOf(id));
      if (cli.flags.json) return cli.term.printJson(answer);
      const columns = {
        version: "version",
        status: "status",
        parent: "parent",
        author: "author",
        created: "createdAt",
      };
      printTable(cli, Object.keys(columns), rowsOf(answer.items, columns));
    });
  command
    .command("diff <id> <from> <to>")
    .description("what differs between two versions")
    .action(async (id: string, from: string, to: string) => {
      const api = await cli.connect("admin");
      const path = `${pathOf(id)}/${encodeURIComponent(from)}/changes/${encodeURIComponent(to)}`;
      const answer = await api.get<{ differences: TableRow[] }>(path);
      if (cli.flags.json) return cli.term.printJson(answer);
      const columns = { field: "path", from: "from", to: "to" };
      printTable(cli, Object.keys(columns), rowsOf(answer.differences, columns));
    });
  command
    .command("activate <id> <version>")
    .description("let a draft act, or bring an older version back as a new one")
    .action(async (id: string, version: string) => {
      const api = await cli.connect("admin");
      showRow(
        cli,
        await api.post<TableRow>(`${pathOf(id)}/${encodeURIComponent(version)}/activate`, {}),
      );
    });
}

async function edit(cli: Cli, id: string, { tools, add, remove, ...rest }: Options): Promise<void> {
  if (tools && (add ?? remove))
    throw usage("--tools replaces the list; it does not go with --add or --remove");
  if (!tools && !add && !remove && Object.keys(rest).length === 0)
    throw usage(
      "nothing to change",
      "name --name, --tools, --add, --remove, --default, --status or --listing",
    );
  const api = await cli.connect("admin");
  const path = `capsules/${encodeURIComponent(id)}`;
  let capabilities = tools;
  if (add ?? remove) {
    const now = (await api.get<{ capabilities: string[] }>(path)).capabilities;
    capabilities = [...new Set([...now, ...(add ?? [])])].filter((tool) => !remove?.includes(tool));
  }
  const body = given({ ...rest, capabilities });
  showRow(cli, (await api.request<TableRow>("PATCH", path, { body })).body);
}
