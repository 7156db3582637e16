import type { Command } from "commander";
import type { Cli } from "../cli.ts";
import { usage } from "../client/fail.ts";
import { given, rowsOf, showRow, showVerb, type TableRow } from "../nouns.ts";
import { printTable } from "../output/table.ts";
import { needsVerb } from "../subcommands.ts";

interface Options {
  provider?: string;
  url?: string;
  model?: string;
  abilities?: string[];
  keyEnv?: string;
  enable?: boolean;
  disable?: boolean;
}

const pathOf = (name: string): string => `models/${encodeURIComponent(name)}`;

export function define(command: Command, cli: Cli): void {
  command
    .command("list")
    .description("models of the settings, and those that were added")
    .action(async () => {
      const api = await cli.connect("admin");
      const answer = await api.get<{ items: TableRow[] }>("models");
      if (cli.flags.json) return cli.term.printJson(answer);
      const columns = { name: "name", source: "source", enabled: "enabled", settings: "settings" };
      printTable(cli, Object.keys(columns), rowsOf(answer.items, columns));
    });
  showVerb(command, cli, "models", "name");
  const described = (verb: Command) =>
    verb
      .option("--url <url>", "where it is, if not at the provider")
      .option("--model <model>", "the provider's name for it")
      .option("--abilities <names...>", "generate, embed, image, look, transcribe, speak")
      .option("--key-env <NAME>", "the variable of the server that holds the key");
  described(command.command("add <name>"))
    .description("add a model; its key stays in a variable of the server")
    .requiredOption("--provider <provider>", "openai (any compatible server) or anthropic")
    .action(async (name: string, options: Options) => {
      const api = await cli.connect("admin");
      showRow(cli, await api.post<TableRow>("models", { name, settings: {}, ...bodyOf(options) }));
    });
  described(command.command("update <name>"))
    .description("change a model that was added; what is not named stays")
    .option("--provider <provider>", "openai (any compatible server) or anthropic")
    .option("--enable", "let it be asked")
    .option("--disable", "let nobody ask it")
    .action(async (name: string, options: Options) => {
      const body = bodyOf(options);
      if (Object.keys(body).length === 0)
        throw usage(
          "nothing to change",
          "name --url, --model, --abilities, --key-env or --disable",
        );
      const api = await cli.connect("admin");
      showRow(cli, (await api.request<TableRow>("PATCH", pathOf(name), { body })).body);
    });
  command
    .command("test <name>")
    .description("send it a short test request")
    .action(async (name: string) => {
      const api = await cli.connect("admin");
      showRow(cli, await api.post<TableRow>(`${pathOf(name)}/test`, {}));
    });
  command
    .command("remove <name>")
    .description("remove a model that was added")
    .action(async (name: string) => {
      const api = await cli.connect("admin");
      const { body } = await api.request("DELETE", pathOf(name));
      if (cli.flags.json) return cli.term.printJson(body);
      cli.term.note(`model ${name} is removed`);
    });
  needsVerb(command);
}

function bodyOf({ keyEnv, enable, disable, ...settings }: Options): Record<string, unknown> {
  if (enable && disable) throw usage("--enable does not go with --disable");
  const changes = given({ ...settings });
  return given({
    settings: Object.keys(changes).length === 0 ? undefined : changes,
    keyReference: keyEnv === undefined ? undefined : `env:${keyEnv}`,
    enabled: enable ? true : disable ? false : undefined,
  });
}
