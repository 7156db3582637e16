import type { Command } from "commander";
import type { Cli } from "../cli.ts";
import { usage } from "../client/fail.ts";
import { fields } from "../output/render.ts";

interface Answer {
  preferences: Record<string, unknown>;
}

export function define(command: Command, cli: Cli): void {
  const show = (answer: Answer): void => {
    if (cli.flags.json) return cli.term.printJson(answer);
    for (const line of fields(answer.preferences)) cli.term.print(line);
  };
  command
    .command("show", { isDefault: true })
    .description("your own preferences")
    .action(async () => {
      show(await (await cli.connect("caller")).get<Answer>("account/preferences"));
    });
  command
    .command("set <name> <value>")
    .description("set one; the value is JSON, or else a text; null takes it away")
    .action(async (name: string, value: string) => {
      if (name === "") throw usage("name the preference");
      const body = { preferences: { [name]: valueOf(value) } };
      const api = await cli.connect("caller");
      show((await api.request<Answer>("PATCH", "account/preferences", { body })).body);
    });
}

function valueOf(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}
