// The list of executions with its filters, which `runs` and `history` share.
import type { Command } from "commander";
import type { Cli } from "./cli.ts";
import { parseMoment } from "./duration.ts";
import type { Execution } from "./client/follow.ts";
import { milliseconds } from "./output/render.ts";
import { statusOf } from "./status.ts";
import { printTable } from "./output/table.ts";

export interface HistoryFilterOptions {
  tool?: string;
  category?: string;
  status?: string;
  since?: string;
  until?: string;
  session?: string;
  errorCode?: string;
  user?: string;
}

interface ListOptions extends HistoryFilterOptions {
  trace?: string;
  error?: string;
  limit?: string;
  after?: string;
}

export interface HistoryDurations {
  p50: number;
  p90: number;
  p95: number;
  p99: number;
}

export interface HistoryFigures {
  total: number;
  success: number;
  failed: number;
  cancelled: number;
  averageExecutionTime: number;
}

interface HistoryAnswer {
  executions: Execution[];
  totalCount: number;
  next: string | null;
  stats: HistoryFigures;
  durations: HistoryDurations | null;
  search?: { searched: number; of: number };
}

/** What the list and the figures are narrowed by. */
export function filterOptions(command: Command): Command {
  const moment = (text: string): string => parseMoment(text, -1);
  return command
    .option("--tool <name>", "only this tool")
    .option("--category <name>", "only this category")
    .option("--status <status>", "pending, running, success, failed or cancelled")
    .option("--since <moment>", "started since: 2026-01-31, or 2h, 7d", moment)
    .option("--until <moment>", "started until", moment)
    .option("--session <id>", "only of this session")
    .option("--error-code <code>", "ended with this code: TIMEOUT, NOT_FOUND …")
    .option("--user <id>", "whose, for administrators; * for all users");
}

export const filterQuery = (options: HistoryFilterOptions): Record<string, string | undefined> => ({
  toolName: options.tool,
  category: options.category,
  status: options.status,
  startDate: options.since,
  endDate: options.until,
  sessionId: options.session,
  errorCode: options.errorCode,
  userId: options.user,
});

export function listVerb(command: Command, cli: Cli): void {
  filterOptions(command.command("list").description("your executions, newest first"))
    .option("--trace <id>", "only of this trace")
    .option("--error <text>", "with this text in its error, in any case of letters")
    .option("--limit <n>", "at most this many (1 to 100)", "20")
    .option("--after <cursor>", "the page after this one")
    .action((options: ListOptions) => list(cli, options));
}

async function list(cli: Cli, options: ListOptions): Promise<void> {
  const api = await cli.connect(options.user === undefined ? "caller" : "admin");
  const answer = await api.get<HistoryAnswer>("executions", {
    ...filterQuery(options),
    traceId: options.trace,
    errorText: options.error,
    limit: options.limit,
    after: options.after,
  });
  if (cli.flags.json) return cli.term.printJson(answer);
  const rows = answer.executions.map((e) => [
    e.id,
    e.startTime,
    e.userId,
    statusOf(e),
    e.executionTime === undefined ? "" : milliseconds(e.executionTime),
    e.toolName,
    [e.errorCode, e.errorReason].filter(Boolean).join(" / "),
  ]);
  printTable(cli, ["id", "started", "user", "status", "took", "tool", "ended with"], rows);
  cli.term.note(
    `${answer.executions.length} of ${answer.totalCount}   ${figuresLine(answer.stats)}`,
  );
  if (answer.durations) cli.term.note(durationsLine(answer.durations));
  if (answer.search) cli.term.note(`searched ${answer.search.searched} of ${answer.search.of}`);
  if (answer.next !== null) cli.term.note(`more: --after ${answer.next}`);
}

export const figuresLine = ({ total, success, failed, cancelled }: HistoryFigures): string =>
  `finished ${total}: ${success} success, ${failed} failed or denied, ${cancelled} cancelled`;

export const durationsLine = ({ p50, p90, p95, p99 }: HistoryDurations): string =>
  `took (50, 90, 95, 99 of 100 at most): ${[p50, p90, p95, p99].map(milliseconds).join(", ")}`;
