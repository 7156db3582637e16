// The plan of a pipeline from a file: its tools run in order, each through the whole path.
import type { Command } from "commander";
import { visible } from "../../util/text/visible.ts";
import type { Cli } from "../cli.ts";
import { usage } from "../client/fail.ts";
import { parseDuration } from "../duration.ts";
import { milliseconds } from "../output/render.ts";
import { needsVerb } from "../subcommands.ts";
import { readable } from "./call.ts";

interface PlanAnswer {
  skipped: string | null;
  state: { tool_results?: ToolResult[] | null };
}

interface ToolResult {
  tool: string;
  success: boolean;
  result: unknown;
  error: string | null;
  elapsed: number;
}

interface State {
  plan?: unknown;
  tool_results?: unknown;
}

export function define(command: Command, cli: Cli): void {
  command
    .command("run <file>")
    .description("run a plan's tools in order: JSON or YAML, - for stdin")
    .option(
      "--wait <duration>",
      "how long to wait for approvals altogether, e.g. 0 or 5m; else as the approval rules say",
      (text) => parseDuration(text, "s"),
    )
    .action(async (file: string, { wait }: { wait?: number }) => {
      const state = await stateIn(file);
      const api = await cli.connect();
      const answer = await api.post<PlanAnswer>("plans/execute", {
        state,
        ...(wait === undefined ? {} : { wait: Math.round(wait / 1000) }),
      });
      const earlier = Array.isArray(state.tool_results) ? state.tool_results.length : 0;
      const results = answer.skipped === null ? (answer.state.tool_results ?? []) : [];
      const fresh = results.slice(earlier);
      if (fresh.some(({ success }) => !success)) cli.exitCode = 1;
      if (cli.flags.json) return cli.term.printJson(answer);
      if (answer.skipped !== null) return cli.term.note(`skipped: ${answer.skipped}`);
      for (const result of fresh) show(cli, result);
    });
  needsVerb(command);
}

/** A plan, `{tools: […]}`, or a whole state of a pipeline, `{plan: {tools: […]}}`. */
async function stateIn(file: string): Promise<State> {
  const { readDocument, readText } = await import("../policy/files.ts");
  const { exactJson } = await import("../policy/show.ts");
  const name = file === "-" ? "standard input" : file;
  const value = exactJson(readDocument(name, readText(file === "-" ? 0 : file)));
  if (typeof value === "object" && value !== null) {
    if ("plan" in value) return value;
    if ("tools" in value) return { plan: value };
  }
  throw usage(
    `${name}: expected a plan or the state of a pipeline`,
    "e.g. {tools: [{name: system/echo, input: {text: hi}}]}",
  );
}

function show(cli: Cli, { tool, success, result, error, elapsed }: ToolResult): void {
  const { term } = cli;
  const mark = success ? term.err.green("✓") : term.err.red("✗");
  const why = error === null ? "" : `   ${visible(error)}`;
  const line = `${mark} ${visible(tool)}  ${milliseconds(elapsed * 1000)}${why}`;
  if (success) term.note(line);
  else term.warn(line);
  if (result !== null) term.print(readable(result).text);
}
