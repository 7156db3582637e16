import type { Command } from "commander";
import type { Cli } from "./cli.ts";
import { table } from "./render.ts";
import { needsVerb } from "./subcommands.ts";

interface Usage {
  plan: string | null;
  period: string;
  resetsAt: string;
  items: {
    metric: string;
    used: number;
    reserved: number;
    limit: number | null;
    left: number | null;
  }[];
}

export function define(command: Command, cli: Cli): void {
  command
    .command("show")
    .description("what your tenant has used of its budgets this month")
    .option("--period <month>", "another month, e.g. 2026-11")
    .action(async (options: { period?: string }) => {
      const api = await cli.connect();
      const usage = await api.get<Usage>("usage", { period: options.period });
      if (cli.flags.json) return cli.term.printJson(usage);
      const head = ["metric", "used", "reserved", "limit", "left"];
      const rows = usage.items.map(({ metric, used, reserved, limit, left }) => [
        metric,
        ...[used, reserved, limit, left].map(numberText),
      ]);
      for (const line of table([head, ...rows])) cli.term.print(line);
      cli.term.note(`${usage.period}, plan ${usage.plan ?? "none"}; starts anew ${usage.resetsAt}`);
    });
  needsVerb(command);
}

const numberText = (value: number | null): string =>
  value === null ? "none" : value.toLocaleString("en-GB").replaceAll(",", " ");
