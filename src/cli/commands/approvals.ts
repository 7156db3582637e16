// The inbox: calls that wait for a person, and the standing rules drafted from them.
import type { Command } from "commander";
import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { visible } from "../../util/text/visible.ts";
import {
  printPreview,
  printReach,
  printSimilar,
  type Previewed,
  type RuleReach,
  type Similar,
} from "../approval-preview.ts";
import { parseArgs } from "../arguments.ts";
import type { Cli } from "../cli.ts";
import type { Api } from "../client/client.ts";
import { usage } from "../client/fail.ts";
import { parseDuration } from "../duration.ts";
import { given, showRow, type TableRow } from "../nouns.ts";
import { duration, fields, row, short } from "../output/render.ts";
import { needsVerb } from "../subcommands.ts";
import { printTable } from "../output/table.ts";

interface Approval extends TableRow {
  requester: string;
  toolName: string;
  risk: string;
  arguments: Record<string, unknown>;
  argumentsCut?: { size: number };
  editedArguments: Record<string, unknown> | null;
  editedArgumentsCut?: { size: number };
  reasons: { message: string; rule?: string }[];
  state: string;
  needed: number;
  votes: { userId: string; decision: string; comment: string | null }[];
  selfApproved: boolean;
  version: string;
  executionId: string;
  url: string;
  expiresAt: string;
  mayDecide: boolean;
  mayNot?: string;
}

interface Approvals {
  items: Approval[];
  next: string | null;
}

interface VoteOptions {
  reason?: string;
  args?: string;
  expires?: number;
}

interface ShowOptions {
  args?: string;
  rule?: string | true;
}

const LOOK_EVERY_MS = 1_000;

export function define(command: Command, cli: Cli): void {
  command
    .command("list")
    .description("those you may decide, newest first")
    .option(
      "--state <state>",
      "pending, approved, declined, expired, not_presented, cancelled, consumed or all",
      "pending",
    )
    .option("--mine", "those that the command line asked for")
    .option("--limit <n>", "at most this many (1 to 100)", "50")
    .option("--after <cursor>", "the page after this one")
    .action((options: { state: string; mine?: boolean; limit: string; after?: string }) =>
      list(cli, options),
    );
  command
    .command("show <id>")
    .description("who asks for what, why, and what it would do")
    .option("--args <json>", "what it would do with these arguments: JSON, @file, or - for stdin")
    .option(
      "--rule [matches]",
      "also what a standing rule would have covered: a JSON list of matches",
    )
    .action((id: string, options: ShowOptions) => show(cli, id, options));
  command
    .command("approve <id>")
    .description("agree to this one call; it is then resumed by itself")
    .option("--reason <text>", "a comment, shown to the caller")
    .option("--args <json>", "run it with these arguments instead: JSON, @file, or - for stdin")
    .option(
      "--expires <duration>",
      "also let the same call run unasked for this long, e.g. 1h or 7d",
      (text) => parseDuration(text, "s"),
    )
    .action((id: string, options: VoteOptions) => approve(cli, id, options));
  command
    .command("deny <id>")
    .description("say no to this call")
    .option("--reason <text>", "a comment, shown to the caller")
    .action((id: string, options: VoteOptions) => decline(cli, id, options));
  command
    .command("watch")
    .description("new ones and what became of them, until Ctrl-C")
    .action(() => watch(cli));
  command
    .command("rules")
    .description("standing rules in force")
    .action(async () => {
      const api = await cli.connect("admin");
      const answer = await api.get<{ items: TableRow[]; next: string | null }>("approval-rules", {
        limit: 100,
      });
      if (cli.flags.json) return cli.term.printJson(answer);
      const rows = answer.items.map((item) =>
        ["id", "userId", "toolName", "expiresAt", "createdBy", "matches"].map((name) =>
          shown(item[name]),
        ),
      );
      printTable(cli, ["id", "user", "tool", "expires", "made by", "matches"], rows);
    });
  command
    .command("revoke-rule <id>")
    .description("end a standing rule; the next call asks again")
    .action(async (id: string) => {
      const api = await cli.connect("admin");
      const path = `approval-rules/${encodeURIComponent(id)}`;
      showRow(cli, (await api.request<TableRow>("DELETE", path)).body);
    });
  needsVerb(command);
}

const pathOf = (id: string): string => `approvals/${encodeURIComponent(id)}`;
const one = (api: Api, id: string): Promise<Approval> => api.get<Approval>(pathOf(id));
const shown = (value: unknown): string =>
  visible(typeof value === "string" ? value : JSON.stringify(value));

async function list(
  cli: Cli,
  options: { state: string; mine?: boolean; limit: string; after?: string },
): Promise<void> {
  const { state, mine, limit, after } = options;
  const api = await cli.connect(mine ? "caller" : "admin");
  const answer = await api.get<Approvals>("approvals", {
    limit,
    after,
    mine,
    state: state === "all" ? undefined : state,
  });
  if (cli.flags.json) return cli.term.printJson(answer);
  const now = Date.now();
  const rows = answer.items.map((item) => columns(item, now));
  printTable(cli, ["id", "state", "time", "votes", "user", "tool", "risk", "arguments"], rows);
  if (answer.items.length === 0) cli.term.note("none");
  if (answer.next !== null) cli.term.note(`more: --after ${answer.next}`);
}

function columns(item: Approval, now: number): string[] {
  const left = Date.parse(item.expiresAt) - now;
  const time = item.state === "pending" ? `${duration(Math.max(0, left))} left` : "";
  const votes = item.needed > 1 ? `${item.votes.length} of ${item.needed}` : "";
  const cut = item.editedArguments === null ? item.argumentsCut : item.editedArgumentsCut;
  const size = cut ? ` (${cut.size} bytes)` : "";
  return [
    item.id,
    item.state,
    time,
    votes,
    item.requester,
    item.toolName,
    item.risk,
    short(shown(item.editedArguments ?? item.arguments), 80) + size,
  ];
}

async function show(cli: Cli, id: string, { args, rule }: ShowOptions): Promise<void> {
  const api = await cli.connect("admin");
  const item = await one(api, id);
  const wanted = args === undefined ? {} : { arguments: jsonOf(args) };
  const matches = typeof rule === "string" ? { matches: jsonListOf(rule) } : {};
  // Shown only to those who may decide; on a decided approval it has no effect.
  const preview =
    item.mayDecide || args !== undefined
      ? await api.post<Previewed>(`${pathOf(id)}/preview`, wanted)
      : null;
  const like = await api.get<Similar>(`${pathOf(id)}/similar`);
  const reach =
    rule === undefined ? null : await api.post<RuleReach>(`${pathOf(id)}/rule/preview`, matches);
  if (cli.flags.json)
    return cli.term.printJson({ ...item, preview, ...like, ...(reach ? { rule: reach } : {}) });
  describe(cli, item);
  if (preview) printPreview(cli, preview);
  printSimilar(cli, item.editedArguments ?? item.arguments, like);
  if (reach) printReach(cli, reach);
}

const jsonOf = (text: string) => parseArgs(text, () => readFileSync(0, "utf8"));

function jsonListOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw usage(
      "--rule: expected a JSON list of matches",
      `e.g. --rule '[{"pointer": "/path", "glob": "notes/*.md"}]'`,
    );
  }
}

function describe(cli: Cli, item: Approval): void {
  const { arguments: args, editedArguments, reasons, votes, version: _version, ...all } = item;
  // The reasons contain the same in readable form.
  const { taintSources: _sources, ...rest } = all;
  const { selfApproved, ...others } = rest;
  const facts = selfApproved ? rest : others;
  for (const line of fields(facts)) cli.term.print(visible(line));
  for (const { message, rule } of reasons)
    cli.term.print(`because  ${visible(message)}${rule === undefined ? "" : ` (${rule})`}`);
  for (const { userId, decision, comment } of votes)
    cli.term.print(
      `vote  ${userId}: ${decision}${comment === null ? "" : ` – ${visible(comment)}`}`,
    );
  cli.term.print(`arguments\n${visible(JSON.stringify(args, null, 2))}`);
  if (editedArguments)
    cli.term.print(`edited arguments\n${visible(JSON.stringify(editedArguments, null, 2))}`);
}

async function approve(cli: Cli, id: string, options: VoteOptions): Promise<void> {
  const api = await cli.connect("admin");
  const args = options.args === undefined ? undefined : jsonOf(options.args);
  // A yes is to what is read now: an edit in between is refused by its version.
  const { version } = await one(api, id);
  const body = given({ comment: options.reason, arguments: args, version });
  const voted = await api.post<Approval>(`${pathOf(id)}/approve`, body);
  const rule =
    options.expires === undefined || voted.state === "pending"
      ? null
      : await api.post<TableRow>(`${pathOf(id)}/rule`, {
          expiresInSeconds: Math.round(options.expires / 1000),
        });
  if (cli.flags.json) return cli.term.printJson(rule ? { ...voted, rule } : voted);
  const more = voted.needed - voted.votes.length;
  const self = voted.selfApproved ? ", self-approved: it was your own call" : "";
  cli.term.print(`${id}  ${voted.state}${self}`);
  cli.term.note(
    voted.state === "pending"
      ? `   ${more} more must agree`
      : `   the call continues: ostiary runs show ${voted.executionId}`,
  );
  if (rule)
    cli.term.note(
      `   standing rule ${rule.id}; end it with: ostiary approvals revoke-rule ${rule.id}`,
    );
}

async function decline(cli: Cli, id: string, options: VoteOptions): Promise<void> {
  const api = await cli.connect("admin");
  const denied = await api.post<Approval>(`${pathOf(id)}/deny`, given({ comment: options.reason }));
  if (cli.flags.json) return cli.term.printJson(denied);
  cli.term.print(`${id}  ${denied.state}`);
}

/** Looks each second: being listed is also what makes an approval count as presented. */
async function watch(cli: Cli): Promise<void> {
  const api = await cli.connect("admin");
  const stop = new AbortController();
  const interrupt = () => stop.abort();
  process.once("SIGINT", interrupt).once("SIGTERM", interrupt);
  let open = new Set<string>();
  cli.term.note("watching; Ctrl-C ends it");
  try {
    for (;;) {
      const { body } = await api.request<Approvals>("GET", "approvals", {
        query: { state: "pending", limit: 100 },
        signal: stop.signal,
      });
      const now = new Set(body.items.map((item) => item.id));
      for (const item of body.items.toReversed())
        if (!open.has(item.id)) tell(cli, "requested", item);
      for (const id of open) {
        if (now.has(id)) continue;
        const item = await one(api, id);
        // Newer ones may have moved it to a later page.
        if (item.state === "pending") now.add(id);
        else tell(cli, "decided", item);
      }
      open = now;
      await sleep(LOOK_EVERY_MS, undefined, { signal: stop.signal });
    }
  } catch (cause) {
    if (!stop.signal.aborted) throw cause;
  } finally {
    process.removeListener("SIGINT", interrupt).removeListener("SIGTERM", interrupt);
  }
}

function tell(cli: Cli, event: "requested" | "decided", item: Approval): void {
  if (cli.flags.json) return cli.term.printJson({ event, approval: item }, "line");
  cli.term.print(columns(item, Date.now()).filter(Boolean).join("  "));
  if (event === "requested") for (const line of row("decide", item.url)) cli.term.note(line);
}
