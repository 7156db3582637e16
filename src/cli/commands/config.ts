import type { Command } from "commander";
import type { LoadedConfig } from "../../config/config.ts";
import type { ShownSetting } from "../../config/shown.ts";
import type { Cli } from "../cli.ts";
import { needsVerb } from "../subcommands.ts";
import { printTable } from "../output/table.ts";

export function define(command: Command, cli: Cli): void {
  const load = async (options: { config?: string }): Promise<LoadedConfig> => {
    const { loadConfig } = await import("../../config/config.ts");
    return loadConfig({
      file: options.config,
      env: cli.env,
      flags: { dataDir: cli.flags.dataDir },
    });
  };
  const file = (verb: Command) => verb.option("--config <file>", "the configuration file");

  file(command.command("print"))
    .description("every setting as it is in effect; secrets are not shown")
    .option("--origin", "where each value came from")
    .action(async (options: { config?: string; origin?: boolean }) => {
      const loaded = await load(options);
      const shown = await settings(loaded);
      if (cli.flags.json) return cli.term.printJson(options.origin ? shown : nested(shown));
      const rows = Object.entries(shown).map(([key, { value, source, where }]) => [
        key,
        value === null ? "–" : typeof value === "string" ? value : JSON.stringify(value),
        ...(options.origin ? [source === where ? source : `${source} ${where}`] : []),
      ]);
      printTable(cli, ["setting", "value", ...(options.origin ? ["from"] : [])], rows);
    });
  file(command.command("check"))
    .description("exit 0 when the configuration is valid; else every fault with its place")
    .action(async (options: { config?: string }) => {
      const { file: path } = await load(options);
      if (cli.flags.json) return cli.term.printJson({ valid: true, file: path });
      cli.term.print(`✓ valid${path === null ? " (no file)" : `  ${path}`}`);
    });
  command
    .command("schema")
    .description("the JSON Schema of the file, for editors")
    .action(async () => {
      const { configJsonSchema } = await import("../../config/config.ts");
      cli.term.printJson(configJsonSchema());
    });
  needsVerb(command);
}

type Shown = Pick<ShownSetting, "value" | "source" | "where">;

async function settings(loaded: LoadedConfig): Promise<Record<string, Shown>> {
  const { shownSettings } = await import("../../config/shown.ts");
  return Object.fromEntries(
    shownSettings(loaded).map(({ key, value, source, where }) => [key, { value, source, where }]),
  );
}

function nested(shown: Record<string, Shown>): Record<string, unknown> {
  const top: Record<string, unknown> = {};
  for (const [key, { value }] of Object.entries(shown)) {
    const [section = "", name] = key.split(".");
    if (name === undefined) top[section] = value;
    else ((top[section] ??= {}) as Record<string, unknown>)[name] = value;
  }
  return top;
}
