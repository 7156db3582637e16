import { setTimeout as sleep } from "node:timers/promises";
import type { Command } from "commander";
import type { Cli } from "../cli.ts";
import type { Api } from "../client/client.ts";
import { parseMoment } from "../duration.ts";
import { oneLine, short, table } from "../output/render.ts";
import { printTable } from "../output/table.ts";

interface Event {
  seq: number;
  at: string;
  action: string;
  actor: string;
  executionId: string | null;
  body: unknown;
  hash: string | null;
}

interface Answer {
  events: Event[];
  searched: number;
  next: number | null;
  archivedTo: number;
}

const POLL_MS = 1_000;
const BODY_WIDTH = 80;

export function tailVerb(command: Command, cli: Cli): void {
  command
    .command("tail")
    .description("the newest events, oldest of them first")
    .option("-f, --follow", "then print new ones as they come, until Ctrl-C")
    .option("--limit <n>", "at most this many (1 to 100)", "20")
    .action((options: { follow?: true; limit: string }) => tail(cli, options));
}

export function searchVerb(command: Command, cli: Cli): void {
  command
    .command("search")
    .description("events by what they say, newest first")
    .option("--action <name>", "tool.execution.denied, or tool.*")
    .option("--actor <user>", "who did it")
    .option("--tool <name>", "only this tool")
    .option("--execution <id>", "only this execution")
    .option("--trace <id>", "events that name this trace")
    .option("--since <moment>", "2026-01-31, or 2h, 7d", (text) => parseMoment(text, -1))
    .option("--until <moment>", "as --since", (text) => parseMoment(text, -1))
    .option("--text <words>", "anywhere in the event")
    .option("--limit <n>", "at most this many (1 to 100)", "50")
    .option("--after <seq>", "the page after this one")
    .action((options: Record<string, string>) => search(cli, options));
}

async function search(cli: Cli, query: Record<string, string>): Promise<void> {
  const api = await cli.connect("admin");
  const answer = await api.get<Answer>("audit", query);
  if (cli.flags.json) return cli.term.printJson(answer);
  show(cli, answer.events);
  const archived =
    answer.archivedTo > 0
      ? `; events up to ${answer.archivedTo} are archived: ostiary audit export`
      : "";
  cli.term.note(
    `${answer.events.length === 0 ? "nothing found" : `${answer.events.length} found`} in ${answer.searched} events${archived}`,
  );
  if (answer.next !== null) cli.term.note(`more: --after ${answer.next}`);
}

async function tail(cli: Cli, { follow, limit }: { follow?: true; limit: string }): Promise<void> {
  const api = await cli.connect("admin");
  const { events } = await api.get<Answer>("audit", { limit });
  events.reverse();
  print(cli, events);
  if (follow) await goOn(cli, api, events.at(-1)?.seq ?? 0);
}

async function goOn(cli: Cli, api: Api, from: number): Promise<void> {
  const stop = new AbortController();
  const interrupt = () => stop.abort();
  process.once("SIGINT", interrupt).once("SIGTERM", interrupt);
  try {
    for (let last = from; ;) {
      const { body } = await api.request<Answer>("GET", "audit", {
        query: { order: "oldest", after: last, limit: 100 },
        signal: stop.signal,
      });
      print(cli, body.events, "rows only");
      last = body.events.at(-1)?.seq ?? last;
      if (body.next === null) await sleep(POLL_MS, undefined, { signal: stop.signal });
      else last = Math.max(last, body.next);
    }
  } catch (cause) {
    if (!stop.signal.aborted) throw cause;
  } finally {
    process.removeListener("SIGINT", interrupt).removeListener("SIGTERM", interrupt);
  }
}

/** `rows only`: they continue the table above them, under its headers. */
function print(cli: Cli, events: readonly Event[], part?: "rows only"): void {
  if (!cli.flags.json) return show(cli, events, part);
  for (const event of events) cli.term.printJson(event, "line");
}

function show(cli: Cli, events: readonly Event[], part?: "rows only"): void {
  const rows = events.map(({ seq, at, action, actor, executionId, body }) => [
    String(seq),
    at,
    action,
    actor,
    executionId ?? "",
    short(oneLine(body), BODY_WIDTH),
  ]);
  if (part === undefined)
    printTable(cli, ["seq", "at", "action", "by", "execution", "details"], rows);
  else for (const line of table(rows)) cli.term.print(line);
}
