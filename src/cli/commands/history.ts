import { setTimeout as sleep } from "node:timers/promises";
import type { Command } from "commander";
import type { Cli } from "../cli.ts";
import type { Api } from "../client/client.ts";
import { failed } from "../client/fail.ts";
import {
  durationsLine,
  figuresLine,
  filterOptions,
  filterQuery,
  listVerb,
  type Durations,
  type Figures,
  type FilterOptions,
} from "../history-list.ts";
import { milliseconds } from "../output/render.ts";
import { needsVerb } from "../subcommands.ts";
import { printTable } from "../output/table.ts";

type Part = Figures & { name: string; lastStart: string };

interface StatsAnswer {
  stats: Figures;
  durations: Durations | null;
  tools: Part[];
  categories: Part[];
  users?: Part[];
}

interface RebuildAnswer {
  state: "idle" | "running" | "done" | "failed";
  events: number;
  seq: number;
  head: number;
  eventsPerSecond: number | null;
  error: string | null;
}

const LOOK_EVERY_MS = 500;
const TOP = 10;

export function define(command: Command, cli: Cli): void {
  listVerb(command, cli);
  filterOptions(
    command
      .command("stats")
      .description("how many, how they ended, how long they took; by category, tool and user"),
  ).action((options: FilterOptions) => stats(cli, options));
  command
    .command("rebuild")
    .description("make history anew from the log alone, while calls go on")
    .option("--status", "only say how far the last one is")
    .action((options: { status?: true }) => rebuild(cli, options.status === true));
  needsVerb(command);
}

async function stats(cli: Cli, options: FilterOptions): Promise<void> {
  const api = await cli.connect(options.user === undefined ? "caller" : "admin");
  const answer = await api.get<StatsAnswer>("history/stats", filterQuery(options));
  if (cli.flags.json) return cli.term.printJson(answer);
  cli.term.print(figuresLine(answer.stats));
  if (answer.durations) cli.term.print(durationsLine(answer.durations));
  const parts = [
    ["category", answer.categories],
    ["tool", answer.tools.slice(0, TOP)],
    ["user", answer.users ?? []],
  ] as const;
  const rows = parts.flatMap(([kind, list]) =>
    list.map((part) => [kind, part.name, ...cells(part)]),
  );
  printTable(
    cli,
    ["by", "name", "calls", "success", "failed", "cancelled", "average", "last"],
    rows,
  );
}

const cells = (part: Part): string[] => [
  `${part.total}`,
  `${part.success}`,
  `${part.failed}`,
  `${part.cancelled}`,
  milliseconds(part.averageExecutionTime),
  part.lastStart,
];

async function rebuild(cli: Cli, onlyStatus: boolean): Promise<void> {
  const api = await cli.connect("admin");
  const look = (): Promise<RebuildAnswer> => api.get<RebuildAnswer>("history/rebuild");
  const answer = onlyStatus ? await look() : await followed(cli, api, look);
  if (answer.state === "failed")
    throw failed(
      "rebuild_failed",
      `history was not rebuilt: ${answer.error ?? ""}`,
      "what was there still serves; see the server's log, then try again",
    );
  if (cli.flags.json) return cli.term.printJson(answer);
  cli.term.print(`${answer.state}: ${told(answer)}`);
}

async function followed(
  cli: Cli,
  api: Api,
  look: () => Promise<RebuildAnswer>,
): Promise<RebuildAnswer> {
  let answer = await api.post<RebuildAnswer>("history/rebuild", {});
  while (answer.state === "running") {
    await sleep(LOOK_EVERY_MS);
    answer = await look();
    if (answer.state === "running") cli.term.note(told(answer));
  }
  return answer;
}

function told({ events, seq, head, eventsPerSecond }: RebuildAnswer): string {
  const share = head === 0 ? 100 : Math.floor((100 * seq) / head);
  return `${events} events, ${share} % of the log${eventsPerSecond === null ? "" : `, ${eventsPerSecond} events/s`}`;
}
