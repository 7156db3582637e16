// What servers are reached with, by name; values go in and never come out.
import type { Command } from "commander";
import type { Cli } from "../cli.ts";
import { credentialValues } from "./secret.ts";
import { pathOf } from "./shapes.ts";
import { printTable } from "../output/table.ts";

interface Options {
  mine?: boolean;
  remove?: boolean;
}

interface Listed {
  readonly shared: readonly { readonly name: string; readonly updatedAt: string }[];
  readonly own: readonly { readonly name: string; readonly updatedAt: string }[];
}

export function defineCredentials(command: Command, cli: Cli): void {
  command
    .command("credential <name> [credential]")
    .description(
      "store a secret (asked for, from stdin, or NAME=env:VARIABLE); without one list names",
    )
    .option("--mine", "your own, where each user has one")
    .option("--remove", "forget it")
    .action((name: string, credential: string | undefined, options: Options) =>
      credential === undefined ? list(cli, name) : change(cli, name, credential, options),
    );
}

async function list(cli: Cli, name: string): Promise<void> {
  const api = await cli.connect("admin");
  const answer = await api.get<Listed>(pathOf(name, "/credentials"));
  if (cli.flags.json) return cli.term.printJson(answer);
  const rows = [
    ...answer.shared.map((one) => [one.name, "shared", one.updatedAt]),
    ...answer.own.map((one) => [one.name, "yours", one.updatedAt]),
  ];
  printTable(cli, ["name", "whose", "changed"], rows);
  if (rows.length === 0) cli.term.note("nothing is stored for it");
}

async function change(
  cli: Cli,
  name: string,
  given: string,
  { mine = false, remove }: Options,
): Promise<void> {
  const credential = given.split("=", 1)[0] ?? given;
  const api = await cli.connect(mine ? "caller" : "admin");
  if (remove) {
    const { body } = await api.request<{ removed: boolean }>(
      "DELETE",
      pathOf(name, `/credentials/${encodeURIComponent(credential)}`),
      { query: { own: mine } },
    );
    if (cli.flags.json) return cli.term.printJson(body);
    return cli.term.note(
      body.removed ? `${credential} is forgotten` : `${credential} was not there`,
    );
  }
  const value = (await credentialValues(cli, [given]))?.[credential];
  const answer = await api.post(pathOf(name, "/credentials"), { credential, value, own: mine });
  if (cli.flags.json) return cli.term.printJson(answer);
  cli.term.note(`${cli.term.err.green("✓")} ${credential} of ${name} is stored, sealed`);
}
