import type { Command } from "commander";
import type { Cli } from "../cli.ts";
import { usage } from "../client/fail.ts";
import { given, listVerb, showRow, showVerb, type TableRow } from "../nouns.ts";
import { needsVerb } from "../subcommands.ts";

interface Options {
  id?: string;
  name?: string;
  prompt?: string;
  tools?: string[];
  anyTools?: boolean;
  intelligence?: string;
  resource?: string;
  trait?: string[];
}

export function define(command: Command, cli: Cli): void {
  const attributes = (verb: Command) =>
    verb
      .option("--prompt <text>", "comes after the capsule's system prompt")
      .option("--tools <names...>", "works with these tools only, of those its caller holds")
      .option("--any-tools", "narrows nothing")
      .option("--intelligence <1-10>", "how much thought a turn gets")
      .option("--resource <dollars>", "what a turn may cost")
      .option("--trait <name=text...>", "such as tone=dry");
  attributes(command.command("create <name>"))
    .description("a new persona")
    .option("--id <id>", "choose the id instead of getting one")
    .action(async (name: string, options: Options) => {
      const api = await cli.connect("admin");
      showRow(cli, await api.post<TableRow>("personas", { name, ...bodyOf(options) }));
    });
  listVerb(command, cli, "personas", { id: "id", name: "name", tools: "capabilities" });
  showVerb(command, cli, "personas");
  attributes(command.command("update <id>"))
    .description("change a persona; what is not named stays")
    .option("--name <name>", "new name")
    .action(async (id: string, options: Options) => {
      const body = bodyOf(options);
      if (Object.keys(body).length === 0)
        throw usage("nothing to change", "name --name, --prompt, --tools, --trait or a knob");
      const api = await cli.connect("admin");
      showRow(cli, (await api.request<TableRow>("PATCH", pathOf(id), { body })).body);
    });
  command
    .command("remove <id>")
    .description("remove a persona")
    .action(async (id: string) => {
      const api = await cli.connect("admin");
      const { body } = await api.request("DELETE", pathOf(id));
      if (cli.flags.json) return cli.term.printJson(body);
      cli.term.note(`persona ${id} is removed`);
    });
  needsVerb(command);
}

const pathOf = (id: string): string => `personas/${encodeURIComponent(id)}`;

function bodyOf({ tools, anyTools, intelligence, resource, trait, ...rest }: Options) {
  const knobs = given({
    intelligence: intelligence === undefined ? undefined : Number(intelligence),
    resource: resource === undefined ? undefined : Number(resource),
  });
  return given({
    ...rest,
    capabilities: anyTools ? null : tools,
    knobs: Object.keys(knobs).length > 0 ? knobs : undefined,
    traits: trait && Object.fromEntries(trait.map(traitOf)),
  });
}

function traitOf(text: string): [string, string] {
  const at = text.indexOf("=");
  if (at < 1) throw usage(`--trait ${text}: expected name=text`);
  return [text.slice(0, at), text.slice(at + 1)];
}
