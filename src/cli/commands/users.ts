import type { Command } from "commander";
import type { Cli } from "../cli.ts";
import { usage } from "../client/fail.ts";
import { given, listVerb, showRow, showVerb, type TableRow } from "../nouns.ts";
import { needsVerb } from "../subcommands.ts";

interface Options {
  id?: string;
  name?: string;
  role?: string;
  roles?: string[];
  plan?: string;
}

export function define(command: Command, cli: Cli): void {
  const attributes = (verb: Command) =>
    verb
      .option("--role <role>", "admin or user")
      .option("--roles <names...>", "roles that policies read, e.g. tool_user")
      .option("--plan <plan>", "free, starter, team, enterprise or none");
  attributes(command.command("create <name>"))
    .description("a new user")
    .option("--id <id>", "choose the id instead of getting one")
    .action(async (name: string, options: Options) => {
      const api = await cli.connect("admin");
      showRow(cli, await api.post<TableRow>("users", { name, ...attributesOf(options) }));
    });
  listVerb(command, cli, "users", {
    id: "id",
    name: "name",
    role: "role",
    plan: "plan",
    level: "level",
    roles: "roles",
  });
  showVerb(command, cli, "users");
  attributes(command.command("edit <id>"))
    .description("change a user; what is not named stays")
    .option("--name <name>", "new name")
    .action(async (id: string, options: Options) => {
      const body = attributesOf(options);
      if (Object.keys(body).length === 0)
        throw usage("nothing to change", "name --name, --role, --roles or --plan");
      const api = await cli.connect("admin");
      showRow(
        cli,
        (await api.request<TableRow>("PATCH", `users/${encodeURIComponent(id)}`, { body })).body,
      );
    });
  needsVerb(command);
}

function attributesOf({ plan, ...rest }: Options): Record<string, unknown> {
  return given({ ...rest, plan: plan === "none" ? null : plan });
}
