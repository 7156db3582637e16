// Conversations with agents: your sessions and their messages.
import { Option, type Command } from "commander";
import {
  exported,
  findMessages,
  foundRow,
  messageLines,
  sessionRow,
  stateOf,
  writeNew,
} from "../chat/records.ts";
import { sessionPath, type Message, type Session } from "../chat/turn.ts";
import type { Cli } from "../cli.ts";
import { plainText } from "../output/plain.ts";
import { fields } from "../output/render.ts";
import { printTable } from "../output/table.ts";
import { needsVerb } from "../subcommands.ts";

interface ListOptions {
  search?: string;
  all?: boolean;
  limit: string;
  after?: string;
}

export function define(command: Command, cli: Cli): void {
  command
    .command("list")
    .description("your sessions, last used first")
    .option("--search <text>", "with this in the title or in a message")
    .option("--all", "those that were ended too")
    .option("--limit <n>", "at most this many (1 to 100)", "20")
    .option("--after <cursor>", "the page after this one")
    .action((options: ListOptions) => list(cli, options));
  command
    .command("show <id>")
    .description("one of them in full")
    .action(async (id: string) =>
      showSession(cli, await (await cli.connect()).get<Session>(sessionPath(id))),
    );
  command
    .command("messages <id>")
    .description("its messages, oldest first")
    .option("--branches", "every branch, not only the one in use")
    .action((id: string, { branches }: { branches?: true }) => messages(cli, id, branches));
  command
    .command("search <text...>")
    .description("messages of your sessions that hold these words, newest first")
    .option("--limit <n>", "at most this many (1 to 100)", "20")
    .action((words: string[], { limit }: { limit: string }) => search(cli, words.join(" "), limit));
  command
    .command("export <id>")
    .description("the conversation as a file")
    .addOption(
      new Option("--format <format>", "json has every branch")
        .choices(["markdown", "json"])
        .default("markdown"),
    )
    .option("--out <file>", "write to this new file instead of stdout")
    .action((id: string, options: { format: string; out?: string }) => save(cli, id, options));
  changeVerbs(command, cli);
  needsVerb(command);
}

function changeVerbs(command: Command, cli: Cli): void {
  const change = (verb: "stop" | "end" | "reopen", about: string): void =>
    void command
      .command(`${verb} <id>`)
      .description(about)
      .action(async (id: string) => {
        const api = await cli.connect();
        const answer = await api.post<Session>(`${sessionPath(id)}/${verb}`, {});
        if (verb !== "stop") return showSession(cli, answer);
        const { stopped } = answer as unknown as { stopped: boolean };
        if (cli.flags.json) return cli.term.printJson(answer);
        cli.term.print(stopped ? `${id}  stopped` : `${id}  nothing runs`);
      });
  change("stop", "stop the turn that runs or waits in it");
  change("end", "end it; the conversation stays");
  change("reopen", "open it again");
  command
    .command("rename <id> <title...>")
    .description("give it another title")
    .action(async (id: string, words: string[]) => {
      const body = { title: words.join(" ") };
      const api = await cli.connect();
      showSession(cli, (await api.request<Session>("PATCH", sessionPath(id), { body })).body);
    });
  command
    .command("remove <id>")
    .description("remove it with its conversation; the ledger keeps what it recorded")
    .action(async (id: string) => {
      const api = await cli.connect();
      if (!(await cli.term.confirm(`Remove session ${id} with its conversation?`))) return;
      const { body } = await api.request("DELETE", sessionPath(id));
      if (cli.flags.json) return cli.term.printJson(body);
      cli.term.print(`${id}  removed`);
    });
}

async function list(cli: Cli, { all, ...query }: ListOptions): Promise<void> {
  const api = await cli.connect();
  const answer = await api.get<{ items: Session[]; next: string | null }>("sessions", {
    ...query,
    ...(all ? { includeEnded: true } : {}),
  });
  if (cli.flags.json) return cli.term.printJson(answer);
  printTable(cli, ["id", "last used", "state", "title"], answer.items.map(sessionRow));
  if (answer.items.length === 0) cli.term.note("no sessions; begin one: ostiary chat <text>");
  if (answer.next !== null) cli.term.note(`more: --after ${answer.next}`);
}

function showSession(cli: Cli, session: Session): void {
  if (cli.flags.json) return cli.term.printJson(session);
  for (const line of fields({ ...session, state: stateOf(session) }))
    cli.term.print(plainText(line));
}

async function messages(cli: Cli, id: string, branches?: true): Promise<void> {
  const api = await cli.connect();
  const query = branches ? { branches } : {};
  const answer = await api.get<{ items: Message[] }>(`${sessionPath(id)}/messages`, query);
  if (cli.flags.json) return cli.term.printJson(answer);
  for (const message of answer.items) {
    const place = branches ? `   ${message.id}, after ${message.parentId ?? "nothing"}` : "";
    cli.term.note(cli.term.err.dim(`${message.createdAt}${place}`));
    for (const line of messageLines(message)) cli.term.print(line);
  }
}

async function search(cli: Cli, text: string, limit: string): Promise<void> {
  const api = await cli.connect();
  const answer = await findMessages(api, text, limit);
  if (cli.flags.json) return cli.term.printJson(answer);
  printTable(cli, ["session", "at", "who", "title", "text"], answer.items.map(foundRow));
  if (answer.items.length === 0) cli.term.note("nothing found");
}

async function save(
  cli: Cli,
  id: string,
  { format, out }: { format: string; out?: string },
): Promise<void> {
  const text = await exported(await cli.connect(), id, cli.flags.json ? "json" : format);
  if (out === undefined) return void cli.stdout.write(cli.stdout.isTTY ? plainText(text) : text);
  writeNew(out, text);
  cli.term.note(`wrote ${out}`);
}
