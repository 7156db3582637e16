import { setTimeout as sleep } from "node:timers/promises";
import type { Command } from "commander";
import type { Cli } from "../cli.ts";
import type { Api } from "../client/client.ts";
import { failed } from "../client/fail.ts";
import { parseMoment } from "../duration.ts";
import {
  durationsLine,
  figuresLine,
  filterOptions,
  filterQuery,
  listVerb,
  type HistoryDurations,
  type HistoryFigures,
  type HistoryFilterOptions,
} from "../history-list.ts";
import { milliseconds } from "../output/render.ts";
import { needsVerb } from "../subcommands.ts";
import { printTable } from "../output/table.ts";

type Part = HistoryFigures & { name: string; lastStart: string };

interface StatsAnswer {
  stats: HistoryFigures;
  durations: HistoryDurations | null;
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
  ).action((options: HistoryFilterOptions) => stats(cli, options));
  command
    .command("series")
    .description("figures by the minute, hour or day in which calls began")
    .option("--unit <unit>", "minute, hour or day", "hour")
    .option("--tool <name>", "only this tool")
    .option("--category <name>", "only this category")
    .option("--since <moment>", "from then on: 2026-01-31, or 2h, 7d", (text) =>
      parseMoment(text, -1),
    )
    .option("--until <moment>", "until then", (text) => parseMoment(text, -1))
    .option("--user <id>", "whose, for administrators; * for all users")
    .action((options: SeriesOptions) => series(cli, options));
  command
    .command("rebuild")
    .description("rebuild history from the log alone, while calls continue")
    .option("--status", "only say how far the last one is")
    .action((options: { status?: true }) => rebuild(cli, options.status === true));
  needsVerb(command);
}

async function stats(cli: Cli, options: HistoryFilterOptions): Promise<void> {
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

interface SeriesOptions extends Pick<
  HistoryFilterOptions,
  "tool" | "category" | "since" | "until" | "user"
> {
  unit: string;
}

interface SeriesAnswer {
  readonly buckets: readonly (HistoryFigures & {
    readonly at: string;
    readonly timeout: number;
    readonly durations: HistoryDurations | null;
  })[];
  readonly total: HistoryFigures;
  readonly countedFrom: string;
  readonly errors: { readonly codes: readonly { code: string; count: number }[] };
}

async function series(cli: Cli, { unit, ...options }: SeriesOptions): Promise<void> {
  const api = await cli.connect(options.user === undefined ? "caller" : "admin");
  const answer = await api.get<SeriesAnswer>("metrics/series", { unit, ...filterQuery(options) });
  if (cli.flags.json) return cli.term.printJson(answer);
  const rows = answer.buckets.map((bucket) => [
    bucket.at,
    `${bucket.total}`,
    `${bucket.success}`,
    `${bucket.failed}`,
    `${bucket.timeout}`,
    bucket.durations ? milliseconds(bucket.durations.p50) : "",
    bucket.durations ? milliseconds(bucket.durations.p95) : "",
  ]);
  printTable(cli, [unit, "calls", "success", "failed", "timeout", "p50", "p95"], rows);
  cli.term.note(figuresLine(answer.total));
  const codes = answer.errors.codes.map(({ code, count }) => `${count} ${code}`);
  if (codes.length > 0) cli.term.note(`ended with: ${codes.join(", ")}`);
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
  cli.term.print(`${answer.state}: ${progressText(answer)}`);
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
    if (answer.state === "running") cli.term.note(progressText(answer));
  }
  return answer;
}

function progressText({ events, seq, head, eventsPerSecond }: RebuildAnswer): string {
  const share = head === 0 ? 100 : Math.floor((100 * seq) / head);
  return `${events} events, ${share} % of the log${eventsPerSecond === null ? "" : `, ${eventsPerSecond} events/s`}`;
}
