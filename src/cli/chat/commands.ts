// Commands inside a conversation, e.g. `/history`.
import type { Cli } from "../cli.ts";
import type { Api } from "../client/client.ts";
import { usage } from "../client/fail.ts";
import { exported, findMessages, foundRow, messageLines, sessionRow, writeNew } from "./records.ts";
import { plainText } from "../output/plain.ts";
import { short, table } from "../output/render.ts";
import { nearest } from "../../util/text/nearest.ts";
import { sessionPath, type Message, type SendBody, type Session } from "./turn.ts";

/** The conversation as its commands see it. */
export interface Talk {
  readonly cli: Cli;
  readonly api: Api;
  /** Null until the first message. */
  sessionId: string | null;
  model: string | null;
  say(body: SendBody): Promise<void>;
  /** Answers the newest message once more. */
  again(): Promise<void>;
  quit(): void;
}

interface ChatCommand {
  readonly takes: string;
  readonly about: string;
  run(talk: Talk, rest: string): void | Promise<void>;
}

const LISTED = 10;

const COMMANDS: Readonly<Record<string, ChatCommand>> = {
  stop: {
    takes: "",
    about: "stop the turn that runs (also Ctrl-C)",
    run: ({ cli }) => cli.term.note("   nothing runs"),
  },
  new: {
    takes: "",
    about: "begin a new session with the next message",
    run(talk) {
      talk.sessionId = null;
      talk.cli.term.note("   a new session");
    },
  },
  sessions: { takes: "[number]", about: "your latest sessions, or go to one", run: sessions },
  history: { takes: "", about: "the messages of this session", run: history },
  search: { takes: "<text>", about: "find messages in all your sessions", run: search },
  branch: { takes: "[number]", about: "the branches of this session, or go to one", run: branch },
  regenerate: {
    takes: "",
    about: "answer the newest message once more, in a branch of its own",
    run: (talk) => talk.again(),
  },
  edit: { takes: "<text>", about: "say this instead of your last message", run: edit },
  model: { takes: "[name]", about: "the model to ask from now on; - for the usual", run: model },
  export: { takes: "[file]", about: "write the conversation to a new file", run: save },
  title: { takes: "<text>", about: "rename this session", run: title },
  tools: { takes: "[words]", about: "list your tools, without a model", run: () => undefined },
  tool: { takes: "<name> {…}", about: "call a tool, without a model", run: () => undefined },
  explain: {
    takes: "<name> {…}",
    about: "what would be decided about a call, and why",
    run: () => undefined,
  },
  help: { takes: "", about: "this list", run: help },
  quit: { takes: "", about: "leave (also Ctrl-D)", run: (talk) => talk.quit() },
};

export async function runCommand(talk: Talk, line: string): Promise<void> {
  const [, name = "", rest = ""] = /^\/(\S*)\s*([^]*)$/.exec(line) ?? [];
  const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  if (!command) {
    const guess = nearest(name, Object.keys(COMMANDS));
    throw usage(
      `unknown command /${name}`,
      guess === null ? "/help lists the commands" : `did you mean /${guess}?`,
    );
  }
  if (command.takes.startsWith("<") && rest === "")
    throw usage(`/${name} needs something after it`, `/${name} ${command.takes}`);
  await command.run(talk, rest.trim());
}

function help({ cli }: Talk): void {
  const rows = Object.entries(COMMANDS).map(([name, { takes, about }]) => [
    `/${name} ${takes}`.trimEnd(),
    about,
  ]);
  for (const line of table(rows)) cli.term.print(line);
}

async function sessions(talk: Talk, rest: string): Promise<void> {
  const { cli, api } = talk;
  const { items } = await api.get<{ items: Session[] }>("sessions", { limit: LISTED });
  if (rest !== "") {
    const chosen = chosenOf(items, rest, "/sessions");
    talk.sessionId = chosen.id;
    return cli.term.note(`   session ${short(plainText(chosen.title), 60) || chosen.id}`);
  }
  if (items.length === 0) return cli.term.note("   no sessions yet");
  const rows = items.map((one, at) => [
    `${one.id === talk.sessionId ? "*" : " "} ${at + 1}`,
    ...sessionRow(one),
  ]);
  for (const line of table(rows)) cli.term.print(line);
}

async function messagesOf({ api, sessionId }: Talk, branches: boolean): Promise<Message[]> {
  if (sessionId === null) throw nothingYet();
  const path = `${sessionPath(sessionId)}/messages`;
  return (await api.get<{ items: Message[] }>(path, { branches })).items;
}

async function history(talk: Talk): Promise<void> {
  for (const message of await messagesOf(talk, false))
    for (const line of messageLines(message)) talk.cli.term.print(line);
}

async function search({ cli, api }: Talk, rest: string): Promise<void> {
  const { items } = await findMessages(api, rest, String(LISTED));
  if (items.length === 0) return cli.term.note("   nothing found");
  for (const line of table(items.map(foundRow))) cli.term.print(line);
}

/** A branch is named by its newest message. */
async function branch(talk: Talk, rest: string): Promise<void> {
  const { cli, api } = talk;
  const all = await messagesOf(talk, true);
  const parents = new Set(all.map(({ parentId }) => parentId));
  const ends = all.filter(({ id }) => !parents.has(id));
  const path = sessionPath(talk.sessionId ?? "");
  if (rest !== "") {
    const { id, text } = chosenOf(ends, rest, "/branch");
    await api.request("PATCH", path, { body: { headId: id } });
    return cli.term.note(`   going on after: ${short(plainText(text), 60)}`);
  }
  const { headId } = await api.get<Session>(path);
  const rows = ends.map(({ id, text, createdAt }, at) => [
    `${id === headId ? "*" : " "} ${at + 1}`,
    createdAt,
    short(plainText(text), 80),
  ]);
  for (const line of table(rows)) cli.term.print(line);
}

/** By its number in the list, or by its id. */
function chosenOf<T extends { readonly id: string }>(
  items: readonly T[],
  word: string,
  command: string,
): T {
  const found = items.find(({ id }, at) => id === word || String(at + 1) === word);
  if (found) return found;
  throw usage(`there is no ${word} in the list`, `${command} shows it`);
}

async function edit(talk: Talk, rest: string): Promise<void> {
  const last = (await messagesOf(talk, false)).findLast(({ role }) => role === "user");
  if (!last) throw nothingYet();
  await talk.say({ message: rest, editOf: last.id });
}

function model(talk: Talk, rest: string): void {
  if (rest !== "") talk.model = rest === "-" ? null : rest;
  talk.cli.term.note(`   model: ${talk.model ?? "the usual"}`);
}

async function save(talk: Talk, rest: string): Promise<void> {
  const { cli, api, sessionId } = talk;
  if (sessionId === null) throw nothingYet();
  const file = rest === "" ? `${sessionId}.md` : rest;
  writeNew(file, await exported(api, sessionId, file.endsWith(".json") ? "json" : "markdown"));
  cli.term.note(`   wrote ${file}`);
}

async function title({ cli, api, sessionId }: Talk, rest: string): Promise<void> {
  if (sessionId === null) throw nothingYet();
  await api.request("PATCH", sessionPath(sessionId), { body: { title: rest } });
  cli.term.note("   renamed");
}

export const nothingYet = (): Error => usage("there are no messages yet", "send one first");
