import type { Command } from "commander";
import type { JsonObject } from "../../contract/call.ts";
import type { Cli } from "../cli.ts";
import { findTool, noSuchTool, type ToolDetails } from "../client/find-tool.ts";
import { fields, short, table } from "../output/render.ts";
import { unknownVerb } from "../subcommands.ts";
import { defineAdd } from "../tools/add.ts";
import { defineDrafts } from "../tools/drafts.ts";
import { printTable } from "../output/table.ts";

interface Listed {
  name: string;
  description: string;
}
interface ListAnswer {
  tools: Listed[];
  totalCount: number;
  note?: string;
}
interface ListOptions {
  category?: string;
  class?: string;
  mode?: string;
  tag?: string[];
  deprecated?: boolean;
}

export function define(command: Command, cli: Cli): void {
  const list = async (options: ListOptions, search?: string): Promise<void> => {
    const api = await cli.connect();
    const answer = await api.get<ListAnswer>("tools", {
      category: options.category,
      governanceClass: options.class,
      mode: options.mode?.toUpperCase(),
      tags: options.tag,
      search,
      ...(options.deprecated ? { includeDeprecated: true } : {}),
    });
    if (cli.flags.json) return cli.term.printJson(answer);
    const rows = answer.tools.map((tool) => [tool.name, short(tool.description, 90)]);
    printTable(cli, ["tool", "description"], rows);
    cli.term.note(`${answer.totalCount} ${answer.totalCount === 1 ? "tool" : "tools"}`);
    if (answer.note !== undefined) cli.term.note(answer.note);
  };
  const filters = (verb: Command) =>
    verb
      .option("--category <name>", "only this category")
      .option("--class <name>", "only this governance class, e.g. read_only")
      .option("--mode <mode>", "only those that this operating mode does not refuse")
      .option("--tag <tags...>", "only tools with all of these tags")
      .option("--deprecated", "deprecated ones too");

  command.usage("[list|show|search|view|add|drafts|review|link|unlink|reject|rollback] [options]");
  filters(command.command("list", { isDefault: true }))
    .description("tools you may use")
    .argument("[text]")
    .usage("[options]")
    .action(async (word: string | undefined, options: ListOptions) => {
      if (word !== undefined) throw unknownVerb(command, word);
      await list(options);
    });
  filters(command.command("search <text>"))
    .description("tools whose name or description holds the text")
    .action((text: string, options: ListOptions) => list(options, text));
  command
    .command("view")
    .description("every tool as a caller would meet it: runs, asks, barred, hidden")
    .option("--as <user>", "as this user, or this key (key_…), would (administrators)")
    .option("--capsule <id>", "as if the key belonged to this capsule")
    .option("--session <id>", "as who acts in this chat session")
    .option("--mode <mode>", "as if this mode were active")
    .option("--at <time>", "as if policies were asked then (administrators)")
    .action((options: ViewOptions) => view(cli, options));
  defineAdd(command, cli);
  defineDrafts(command, cli);
  command
    .command("show <tool>")
    .description("one tool: schemas, risk, figures")
    .action(async (tool: string) => {
      const api = await cli.connect();
      const answer = await findTool(api, tool);
      if (answer === null) throw await noSuchTool(api, tool);
      if (cli.flags.json) return cli.term.printJson(answer);
      showTool(cli, answer);
    });
}

interface ViewOptions {
  as?: string;
  capsule?: string;
  session?: string;
  mode?: string;
  at?: string;
}

interface ViewAnswer {
  readonly tools: readonly {
    readonly name: string;
    readonly risk: string;
    readonly state: string;
    readonly verdict: { readonly stage: string; readonly message: string } | null;
  }[];
  readonly counts: Readonly<Record<string, number>>;
}

async function view(cli: Cli, { as, capsule, session, mode, at }: ViewOptions): Promise<void> {
  const api = await cli.connect(as === undefined && at === undefined ? "caller" : "admin");
  const answer = await api.post<ViewAnswer>("tools/view", {
    as,
    capsuleId: capsule,
    sessionId: session,
    mode: mode?.toUpperCase(),
    at,
  });
  if (cli.flags.json) return cli.term.printJson(answer);
  const rows = answer.tools.map(({ name, state, risk, verdict }) => [
    name,
    state,
    risk,
    verdict?.stage ?? "",
    short(verdict?.message ?? "", 70),
  ]);
  printTable(cli, ["tool", "state", "risk", "stage", "why"], rows);
  const counts = Object.entries(answer.counts).map(([state, count]) => `${count} ${state}`);
  cli.term.note(counts.join(", "));
}

function showTool(cli: Cli, { tool, metrics, userStats }: ToolDetails): void {
  const { name, description, inputSchema, outputSchema: _, examples, ...facts } = tool;
  const { term } = cli;
  term.print(`${term.out.bold(name)}  ${description}`);
  for (const line of fields(facts)) term.print(`  ${line}`);
  const properties = (inputSchema["properties"] ?? {}) as Record<string, JsonObject>;
  const required = new Set((inputSchema["required"] ?? []) as string[]);
  const rows = Object.entries(properties).map(([key, schema]) => [
    `  ${key}`,
    typeof schema["type"] === "string" ? schema["type"] : "",
    required.has(key)
      ? "required"
      : schema["default"] === undefined
        ? ""
        : `default ${JSON.stringify(schema["default"])}`,
    typeof schema["description"] === "string" ? schema["description"] : "",
  ]);
  if (rows.length > 0) term.print(term.out.bold("arguments"));
  for (const line of table(rows)) term.print(line);
  if (Array.isArray(examples) && examples.length > 0) {
    term.print(term.out.bold("examples"));
    for (const example of examples)
      term.print(`  ostiary call ${name} --args '${JSON.stringify(example)}'`);
  }
  term.print(term.out.bold("figures"));
  for (const line of fields({ ...metrics, yours: userStats["totalExecutions"] }))
    term.print(`  ${line}`);
}
