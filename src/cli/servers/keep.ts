// Looking at servers, changing and removing them.
import type { Command } from "commander";
import type { Cli } from "../cli.ts";
import { usage } from "../client/fail.ts";
import { given } from "../nouns.ts";
import { fields, short } from "../output/render.ts";
import {
  countsOf,
  pathOf,
  placeOf,
  tellTried,
  printTools,
  type ServerItem,
  type ToolItem,
  type TriedItem,
} from "./shapes.ts";
import { printTable } from "../output/table.ts";

interface SetOptions {
  description?: string;
  enable?: boolean;
  disable?: boolean;
  timeout?: number;
  maxConcurrent?: number;
  maxQueued?: number;
  recheck?: number;
  breakerFailures?: number;
  breakerReset?: number;
  maxResultBytes?: number;
  credentials?: string;
}

export function defineKeeping(command: Command, cli: Cli): void {
  command
    .command("list")
    .description("servers, their health, and how many tools are in which state")
    .action(() => list(cli));
  command
    .command("show <name> [tool]")
    .description("one server in full, or one of its tools with its whole text")
    .action((name: string, tool?: string) => show(cli, name, tool));
  command
    .command("tools <name>")
    .description("what it offers and offered: state, risk, category, pin, findings")
    .option("--state <state>", "pending, approved, changed, removed, rejected or refused")
    .option("--look", "read what it offers now first")
    .action(async (name: string, { state, look }: { state?: string; look?: boolean }) => {
      const api = await cli.connect("admin");
      if (look)
        tellTried(cli, await api.post<TriedItem>(pathOf(name, "/look"), {}), "was looked at");
      const answer = await api.get<{ items: ToolItem[] }>(
        pathOf(name, "/tools"),
        given({ state }) as Record<string, string>,
      );
      if (cli.flags.json) return cli.term.printJson(answer);
      printTools(cli, answer.items);
      if (answer.items.length === 0)
        cli.term.note(state === undefined ? "it offers nothing" : `nothing is ${state}`);
    });
  command
    .command("logs <name>")
    .description("the last lines it wrote, secrets masked")
    .option("--last <n>", "at most this many", "200")
    .action(async (name: string, { last }: { last: string }) => {
      const api = await cli.connect("admin");
      const { lines } = await api.get<{ lines: string[] }>(pathOf(name, "/logs"), { last });
      for (const line of lines)
        if (cli.flags.json) cli.term.printJson({ line }, "line");
        else cli.term.print(line);
      if (lines.length === 0) cli.term.note("it has written nothing");
    });
  command
    .command("restart <name>")
    .description("connect again, and read what it offers")
    .action(async (name: string) => {
      const api = await cli.connect("admin");
      printTried(cli, await api.post<TriedItem>(pathOf(name, "/restart"), {}), "restarted");
    });
  command
    .command("set <name>")
    .description("change a server; what is not named stays")
    .option("--description <text>", "what it is for")
    .option("--enable", "connect to it, and let its tools be called")
    .option("--disable", "hide its tools and end its connections")
    .option("--timeout <seconds>", "time limit of its calls", Number)
    .option("--max-concurrent <n>", "requests at once; more wait", Number)
    .option("--max-queued <n>", "how many may wait", Number)
    .option(
      "--recheck <seconds>",
      "how old its definitions may be when a call is sent; 0: read before each call",
      Number,
    )
    .option("--breaker-failures <n>", "so many failures in a row open the breaker", Number)
    .option("--breaker-reset <seconds>", "for so long", Number)
    .option("--max-result-bytes <n>", "larger answers are refused", Number)
    .option("--credentials <whose>", "shared, or user: each user stores their own")
    .action((name: string, options: SetOptions) => set(cli, name, options));
  command
    .command("remove <name>")
    .description("remove it with its tools, its credentials, and all rights to its tools")
    .action(async (name: string) => {
      if (!(await cli.term.confirm(`Remove server ${name} with all its tools and credentials?`))) {
        cli.exitCode = 1;
        return cli.term.note("not removed");
      }
      const api = await cli.connect("admin");
      const { body } = await api.request<ServerItem>("DELETE", pathOf(name));
      if (cli.flags.json) return cli.term.printJson(body);
      cli.term.note(`${cli.term.err.green("✓")} ${name} is gone, with ${countsOf(body.tools)}`);
    });
}

async function list(cli: Cli): Promise<void> {
  const api = await cli.connect("admin");
  const answer = await api.get<{ items: ServerItem[] }>("servers");
  if (cli.flags.json) return cli.term.printJson(answer);
  const rows = answer.items.map((item) => [
    item.name,
    item.enabled ? (item.health?.status ?? "unknown") : "off",
    item.transport.kind,
    countsOf(item.tools),
    short(item.health?.reason ?? placeOf(item), 90),
  ]);
  printTable(cli, ["server", "health", "transport", "tools", "where"], rows);
  if (rows.length === 0)
    cli.term.note(
      "there are no servers yet; add one: ostiary servers add <name> <url>, or -- and a command line",
    );
}

async function show(cli: Cli, name: string, tool: string | undefined): Promise<void> {
  const api = await cli.connect("admin");
  if (tool === undefined) {
    const server = await api.get<ServerItem>(pathOf(name));
    if (cli.flags.json) return cli.term.printJson(server);
    for (const line of fields({ ...server, tools: countsOf(server.tools) })) cli.term.print(line);
    return;
  }
  const own = tool.startsWith(`${name}/`) ? tool.slice(name.length + 1) : tool;
  const details = await api.get<Record<string, unknown> & { text: string; diff: string[] }>(
    pathOf(name, `/tools/${encodeURIComponent(own)}`),
  );
  if (cli.flags.json) return cli.term.printJson(details);
  const {
    text,
    diff,
    definition: _definition,
    description: _description,
    title: _title,
    versions,
    ...rest
  } = details;
  for (const line of fields(rest)) cli.term.print(line);
  const kept = versions as {
    pin: string;
    firstSeenAt: string;
    approvedAt: string | null;
    approvedBy: string | null;
    isApproved: boolean;
    isOffered: boolean;
  }[];
  cli.term.print("");
  const rows = kept.map((one) => [
    one.pin.slice(0, 12),
    one.firstSeenAt,
    one.approvedBy ?? "nobody",
    [...(one.isApproved ? ["approved"] : []), ...(one.isOffered ? ["offered"] : [])].join(", "),
  ]);
  printTable(cli, ["pin", "first seen", "approved by", "now"], rows);
  cli.term.print(`\n${text.trimEnd()}`);
  if (diff.length > 0) cli.term.print(`\n${diff.join("\n")}`);
}

async function set(cli: Cli, name: string, o: SetOptions): Promise<void> {
  if (o.enable && o.disable) throw usage("--enable does not go with --disable");
  const ms = (seconds: number | undefined): number | undefined =>
    seconds === undefined ? undefined : Math.round(seconds * 1000);
  const settings = given({
    timeoutMs: ms(o.timeout),
    maxConcurrent: o.maxConcurrent,
    maxQueued: o.maxQueued,
    recheckMs: ms(o.recheck),
    breakerFailures: o.breakerFailures,
    breakerResetMs: ms(o.breakerReset),
    maxResultBytes: o.maxResultBytes,
    credentials: o.credentials,
  });
  const enabled = o.enable ? true : o.disable ? false : undefined;
  const body = given({
    description: o.description,
    enabled,
    settings: Object.keys(settings).length > 0 ? settings : undefined,
  });
  if (Object.keys(body).length === 0)
    throw usage("nothing to change", "see ostiary servers set --help");
  const api = await cli.connect("admin");
  printTried(cli, (await api.request<TriedItem>("PATCH", pathOf(name), { body })).body, "changed");
}

function printTried(cli: Cli, tried: TriedItem, did: string): void {
  if (cli.flags.json) {
    cli.term.printJson(tried);
    if (tried.fault) cli.exitCode = 1;
    return;
  }
  tellTried(cli, tried, did);
}
