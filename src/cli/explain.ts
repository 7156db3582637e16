import type { Command } from "commander";
import type { JsonObject, Verdict } from "../call.ts";
import { callArguments } from "./call.ts";
import type { Cli } from "./cli.ts";
import type { Api } from "./client.ts";
import { exitOf, usage } from "./fail.ts";
import { milliseconds, row, table } from "./render.ts";

interface Explanation {
  tool: string;
  executionId?: string;
  verdict: "allow" | "deny" | "hold";
  summary: string;
  gates: readonly Verdict[];
  wouldChange: readonly string[];
}

export function define(command: Command, cli: Cli): void {
  command
    .usage("<exec_…|tool> [name=value…] [options]")
    .argument("<what>", "an execution id, or a tool for a call that is only imagined")
    .argument("[pairs...]", "arguments of the imagined call")
    .option("--args <json>", "all arguments as JSON, @file, or - for stdin")
    .option("--as <user>", "as this user would be answered (administrators)")
    .action(async (what: string, pairs: string[], options: { args?: string; as?: string }) => {
      const past = /^exec_/.test(what);
      if (past && (pairs.length > 0 || options.args !== undefined || options.as !== undefined))
        throw usage("arguments and --as go with a tool, not with a past execution");
      const api = await cli.connect(options.as === undefined ? "caller" : "admin");
      if (past) return explainCall(cli, api, { executionId: what });
      const args = await callArguments(api, what, pairs, options.args);
      await explainCall(cli, api, { tool: what, arguments: args, ...(options.as === undefined ? {} : { as: options.as }) }); // prettier-ignore
    });
}

type Question = { executionId: string } | { tool: string; arguments: JsonObject; as?: string };

/** Exit code as the call itself would have: 0 allowed, else that of the refusing stage. */
export async function explainCall(cli: Cli, api: Api, question: Question): Promise<void> {
  const answer = await api.post<Explanation>("explain", question);
  const refusal = answer.gates.find((gate) => gate.verdict !== "allow");
  if (answer.verdict === "hold") cli.exitCode = 4;
  else if (refusal) cli.exitCode = exitOf(refusal.code, refusal.reason);
  const { term } = cli;
  if (cli.flags.json) return term.printJson(answer);
  const paint = answer.verdict === "allow" ? term.out.green : term.out.red;
  term.print(`${paint(answer.verdict)}  ${answer.tool}  ${answer.summary}`);
  const lines = answer.gates.map((gate) => [
    `   ${gate.verdict === "allow" ? "✓" : gate.verdict === "deny" ? "⛔" : "⏸"}`,
    gate.stage,
    milliseconds(gate.ms),
    [gate.code, gate.reason].filter(Boolean).join(" / "),
    gate.message ?? "",
  ]);
  for (const line of table(lines)) term.print(line);
  for (const remedy of answer.wouldChange) for (const line of row("remedy", remedy)) term.print(line); // prettier-ignore
}
