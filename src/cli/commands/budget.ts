import type { Command } from "commander";
import type { Cli } from "../cli.ts";
import { numberText } from "../output/render.ts";
import { needsVerb } from "../subcommands.ts";
import { printTable } from "../output/table.ts";

interface Usage {
  plan: string | null;
  period: string;
  resetsAt: string;
  items: {
    owner: string;
    ownerId: string;
    plan: string | null;
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
    .description(
      "what your tenant, and you and your key where they have a plan, have used this month",
    )
    .option("--period <month>", "another month, e.g. 2026-11")
    .action(async (options: { period?: string }) => {
      const api = await cli.connect();
      const usage = await api.get<Usage>("usage", { period: options.period });
      if (cli.flags.json) return cli.term.printJson(usage);
      const head = ["whose", "plan", "metric", "used", "reserved", "limit", "left"];
      const rows = usage.items.map(({ owner, ownerId, plan, metric, ...item }) => [
        `${owner} ${ownerId}`,
        plan ?? "none",
        metric,
        ...[item.used, item.reserved, item.limit, item.left].map(numberText),
      ]);
      printTable(cli, head, rows);
      cli.term.note(`${usage.period}; starts anew ${usage.resetsAt}`);
    });
  needsVerb(command);
}
