// The governance files on the server: tools, modes, plans and whatever else lies beside them as YAML.
import type { Command } from "commander";
import { readGovernanceFolder } from "../../governance/rules/files/folder.ts";
import type { Cli } from "../cli.ts";
import { checkOnServer, documentVerbs, orUsage, type DocumentVerbs } from "../documents.ts";
import { usage } from "../client/fail.ts";
import { needsVerb } from "../subcommands.ts";

export function define(command: Command, cli: Cli): void {
  const noun: DocumentVerbs = {
    path: "governance",
    trial: false,
    read(folder) {
      const { governance } = orUsage(() => readGovernanceFolder(folder));
      if (Object.keys(governance).length === 0) throw usage(`there is no .yaml file in ${folder}`);
      return governance;
    },
  };
  command
    .command("check <folder>")
    .description("could the YAML files of this folder be published? Every fault with its line")
    .action((folder: string) => checkOnServer(cli, noun, folder));
  documentVerbs(command, cli, noun);
  needsVerb(command);
}
