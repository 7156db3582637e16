import type { Command } from "commander";
import type { JsonObject, Verdict } from "../../contract/call.ts";
import { callArguments, type SchemaOf } from "./call.ts";
import type { Cli } from "../cli.ts";
import type { Api } from "../client/client.ts";
import { exitOf, usage } from "../client/fail.ts";
import { withHint } from "../client/find-tool.ts";
import { milliseconds, row, table } from "../output/render.ts";
import { visible } from "../../util/text/visible.ts";

interface Explanation {
  tool: string;
  executionId?: string;
  who: { userId: string; keyId: string | null; capsuleId: string | null; level?: string };
  inputSchema?: JsonObject;
  verdict: "allow" | "deny" | "hold";
  summary: string;
  gates: readonly Verdict[];
  wouldChange: readonly string[];
  taint?: string;
}

export function define(command: Command, cli: Cli): void {
  command
    .usage("<exec_…|tool> [name=value…] [options]")
    .argument("[what]", "an execution id, or a tool for a call that is only imagined")
    .argument("[pairs...]", "arguments of the imagined call")
    .option("--args <json>", "all arguments as JSON, @file, or - for stdin")
    .option("--as <user>", "as this user, or this key (key_…), would be answered (administrators)")
    .option("--mode <mode>", "as if this mode were active")
    .option("--at <time>", "as if it were then, e.g. 2026-01-31T08:00:00Z")
    .option("--taint <from...>", "as if an agent had read this: a host, a server or a file")
    .option("--missing", "every tool the user does not see, and why (administrators)")
    .action(async (what: string | undefined, pairs: string[], options: Options) => {
      if (options.missing) return explainMissing(cli, what, options.as);
      if (what === undefined) throw usage("name a tool or an execution, or give --missing");
      const past = /^exec_/.test(what);
      if (past && (pairs.length > 0 || Object.keys(options).length > 0))
        throw usage("arguments and options go with a tool, not with a past execution");
      if (past) return explainCall(cli, await cli.connect("reader"), { executionId: what });
      const api = await cli.connect(options.as === undefined ? "caller" : "admin");
      const { args: given, missing: _missing, taint, ...supposed } = options;
      const args = await callArguments(api, what, pairs, given, schemaFor(api, what, options.as));
      const read = taint === undefined ? {} : { taint: taint.map((from) => ({ from })) };
      await explainCall(cli, api, { tool: what, arguments: args, ...supposed, ...read });
    });
}

/** An administrator explains calls of tools that only others see: the answer knows what they take. */
function schemaFor(api: Api, tool: string, as: string | undefined): SchemaOf | undefined {
  if (as === undefined) return undefined;
  return async () =>
    (await api.post<Explanation>("explain", { tool, as, withSchema: true })).inputSchema ?? null;
}

interface Options {
  readonly args?: string;
  readonly as?: string;
  readonly mode?: string;
  readonly at?: string;
  readonly taint?: readonly string[];
  readonly missing?: boolean;
}

type Question =
  | { executionId: string }
  | {
      tool: string;
      arguments: JsonObject;
      as?: string;
      mode?: string;
      at?: string;
      taint?: readonly { from: string }[];
    };

interface Missing {
  readonly user: string;
  readonly visible: number;
  readonly missing: readonly { tool: string; stage: string; rule?: string; remedy?: string }[];
}

async function explainMissing(
  cli: Cli,
  what: string | undefined,
  as: string | undefined,
): Promise<void> {
  if (what !== undefined) throw usage("--missing lists all tools; it takes no tool");
  const api = await cli.connect("admin");
  const answer = await api.post<Missing>("explain/missing", { as: as ?? (await ownName(cli)) });
  if (cli.flags.json) return cli.term.printJson(answer);
  const { term } = cli;
  term.print(`${answer.user} sees ${answer.visible} tools; ${answer.missing.length} are hidden`);
  const lines = answer.missing.map((one) => [
    "  ◌",
    one.tool,
    one.stage,
    one.rule ?? "",
    one.remedy ?? "",
  ]);
  for (const line of table(lines)) term.print(line);
}

/** Whom `ostiary tools` lists for: the list and what is missing from it are about the same caller. */
async function ownName(cli: Cli): Promise<string> {
  const caller = await cli.connect("caller");
  const { keyId, userId } = await caller.get<{ keyId: string | null; userId: string }>("whoami");
  return keyId ?? userId;
}

/** Exit code as the call itself would have: 0 allowed, else that of the refusing stage. */
export async function explainCall(cli: Cli, api: Api, question: Question): Promise<void> {
  const answer = await asked(api, question);
  const refusal = answer.gates.find((gate) => gate.verdict !== "allow");
  if (answer.verdict === "hold") cli.exitCode = 4;
  else if (refusal) cli.exitCode = exitOf(refusal.code, refusal.reason);
  const { term } = cli;
  if (cli.flags.json) return term.printJson(answer);
  const paint = answer.verdict === "allow" ? term.out.green : term.out.red;
  term.print(`${paint(answer.verdict)}  ${answer.tool}  ${answer.summary}`);
  for (const line of row("as", asWhom(answer.who))) term.print(line);
  if (answer.taint !== undefined)
    for (const line of row("taint", visible(answer.taint))) term.print(line);
  const lines = answer.gates.map((gate) => [
    `   ${gate.verdict === "allow" ? "✓" : gate.verdict === "deny" ? "⛔" : "⏸"}`,
    gate.stage,
    milliseconds(gate.ms),
    [gate.code, gate.reason].filter(Boolean).join(" / "),
    gate.message ?? questionOf(gate),
    gate.rule ?? "",
  ]);
  for (const line of table(lines)) term.print(line);
  for (const remedy of answer.wouldChange)
    for (const line of row("remedy", remedy)) term.print(line);
}

function asWhom({ userId, keyId, level, capsuleId }: Explanation["who"]): string {
  const through = keyId === null ? "in the console" : `with key ${keyId}`;
  const rights = level === undefined ? "" : `, level ${level}`;
  return `${userId} ${through}${rights}, capsule ${capsuleId ?? "none"}`;
}

async function asked(api: Api, question: Question): Promise<Explanation> {
  try {
    return await api.post<Explanation>("explain", question);
  } catch (cause) {
    throw "tool" in question ? await withHint(cause, api, question.tool) : cause;
  }
}

function questionOf({ asks, waives }: { asks?: string; waives?: string }): string {
  if (asks !== undefined) return `asks a person (${asks})`;
  return waives === undefined ? "" : `no need to ask (${waives})`;
}
