import type { Command } from "commander";
import { readFileSync } from "node:fs";
import type { JsonObject, Verdict } from "../../contract/call.ts";
import { CONTENT_KEY, unpackResult } from "../../util/mcp-output.ts";
import { needsSchema, parseArgs, parsePairs } from "../arguments.ts";
import type { Cli } from "../cli.ts";
import type { Api } from "../client/client.ts";
import { parseDuration } from "../duration.ts";
import { exitOf } from "../client/fail.ts";
import { findTool, withHint } from "../client/find-tool.ts";
import { follow, type ApprovalNotice, type Execution } from "../client/follow.ts";
import { inCliWords } from "../client/remedies.ts";
import { decidedLine, milliseconds, pendingLine, row } from "../output/render.ts";

interface CallOptions {
  args?: string;
  wait: boolean;
  timeout?: number;
  idempotencyKey?: string;
  dryRun?: boolean;
}

/** The answer of `POST /executions`. */
export interface CallAnswer {
  success: true;
  executionId: string;
  status: string;
  result?: unknown;
  toolName?: string;
  executionTime?: number;
  timestamp?: string;
  gates?: readonly Verdict[];
  error?: string;
  errorCode?: string;
  errorReason?: string;
  remedy?: string;
  cancelReason?: string;
  approval?: ApprovalNotice;
}

/** A person has to agree, and nobody has yet: not a success, not a denial. */
const EXIT_PENDING = 4;

export function define(command: Command, cli: Cli): void {
  command
    .usage("<tool> [name=value…] [options]")
    .argument("<tool>", "e.g. file/read, file_read or an alias")
    .argument("[pairs...]", "name=text, typed by the tool's schema; name:=<json>")
    .option("--args <json>", "all arguments as JSON, @file, or - for stdin")
    .option("--no-wait", "answer with the execution id at once")
    .option("--timeout <duration>", "time limit, e.g. 5000 (ms) or 30s", (text) =>
      parseDuration(text),
    )
    .option("--idempotency-key <key>", "the same key never runs the call twice")
    .option("--dry-run", "only say what the gate would decide (as `explain`)")
    .action(async (tool: string, pairs: string[], options: CallOptions) => {
      const api = await cli.connect();
      const args = await callArguments(api, tool, pairs, options.args);
      if (options.dryRun) {
        const { explainCall } = await import("./explain.ts");
        return explainCall(cli, api, { tool, arguments: args });
      }
      await call(cli, api, tool, args, options);
    });
}

/** What the tool takes, by which texts are typed; null when nobody knows. */
export type SchemaOf = () => Promise<JsonObject | null>;

export async function callArguments(
  api: Api,
  tool: string,
  pairs: string[],
  all: string | undefined,
  schemaOf: SchemaOf = async () => (await findTool(api, tool))?.tool.inputSchema ?? null,
): Promise<JsonObject> {
  // A tool that does not exist for this caller has no schema; the call itself is refused for that, and recorded.
  const schema = needsSchema(pairs) ? await schemaOf() : null;
  return {
    ...(all === undefined ? {} : parseArgs(all, () => readFileSync(0, "utf8"))),
    ...parsePairs(pairs, schema),
  };
}

async function call(
  cli: Cli,
  api: Api,
  tool: string,
  args: JsonObject,
  options: CallOptions,
): Promise<void> {
  // Never waits on the request itself: closing it would cancel the execution, and a signal must not.
  const started = await start(api, tool, args, options);
  const { executionId, approval } = started;
  if (!options.wait) {
    if (approval) cli.exitCode = EXIT_PENDING;
    if (cli.flags.json) return cli.term.printJson(started);
    cli.term.print(executionId);
    const waits = approval ? `, waiting for approval ${approval.id}` : "";
    cli.term.note(`   ${started.status}${waits}; see it with: ostiary runs show ${executionId}`);
    return;
  }
  if (approval) for (const line of pendingLine(approval, Date.now())) cli.term.note(line);
  const asked = Date.now();
  const execution = await follow(cli, api, executionId);
  if (execution === null) {
    cli.exitCode = approval ? EXIT_PENDING : 1; // interrupted; the execution continues
    return;
  }
  const decided = execution.approval && decidedLine(execution.approval, asked);
  if (decided) cli.term.note(decided);
  const answer = answerOf(execution);
  cli.exitCode = execution.status === "success" ? 0 : exitOf(answer.errorCode, answer.errorReason);
  if (cli.flags.json) cli.term.printJson(answer);
  else show(cli, api, answer);
}

async function start(
  api: Api,
  tool: string,
  args: JsonObject,
  options: CallOptions,
): Promise<CallAnswer> {
  const { timeout, idempotencyKey } = options;
  try {
    return await api.post<CallAnswer>("executions", {
      name: tool,
      arguments: args,
      wait: false,
      ...(timeout === undefined ? {} : { timeout }),
      ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
    });
  } catch (cause) {
    throw await withHint(cause, api, tool);
  }
}

/** The record in the words of `POST /executions`. */
function answerOf(e: Execution): CallAnswer {
  const { id, status, toolName, result, executionTime, endTime, gates } = e;
  const { error, errorCode, errorReason, remedy, cancelReason, approval } = e;
  const answer = {
    success: true as const,
    executionId: id,
    status,
    result,
    toolName,
    executionTime,
    timestamp: endTime,
    gates,
    error,
    errorCode,
    errorReason,
    remedy,
    cancelReason,
    approval,
  };
  return Object.fromEntries(
    Object.entries(answer).filter(([, value]) => value !== undefined),
  ) as unknown as CallAnswer;
}

function show(cli: Cli, api: Api, answer: CallAnswer): void {
  const { term } = cli;
  const gates = answer.gates ?? [];
  const allowed = gates.filter((gate) => gate.verdict === "allow").length;
  const time = milliseconds(answer.executionTime ?? 0);
  if (answer.status !== "success") {
    const why =
      answer.cancelReason === undefined ? (answer.errorReason ?? "") : answer.cancelReason;
    term.warn(
      `✗ ${term.err.red(answer.status)}  ${time}   ${answer.errorCode ?? ""} / ${why}   ${answer.executionId}`,
    );
    const more = [
      ...row("why", answer.error),
      ...row("remedy", inCliWords(answer.remedy, { execution_id: answer.executionId })),
      ...row("explain", `ostiary explain ${answer.executionId}`),
    ];
    for (const line of more) term.warn(line);
    if (answer.result === undefined) return;
  } else {
    term.note(
      `${term.err.green("✓ success")}  ${time}   ${answer.executionId}   ${allowed} of ${gates.length} stages allowed`,
    );
  }
  const { text, beside } = readable(answer.result);
  term.print(text);
  if (beside !== "") term.note(`   ${term.err.dim(beside)}`);
  term.note(`   ${term.err.dim(`${api.url}/x/${answer.executionId}`)}`);
}

/** Of a tool of a server: its message, where there is nothing else. */
function textOf(result: JsonObject): string | null {
  if (!(CONTENT_KEY in result)) return null;
  const { content, structuredContent } = unpackResult(result);
  const texts = content.flatMap((block) => (block.type === "text" ? [block.text] : []));
  return texts.length === content.length && structuredContent === undefined
    ? texts.join("\n")
    : null;
}

/** What a person wants to see of a result: the text itself where there is one, what is beside it in one line. */
export function readable(result: unknown): { text: string; beside: string } {
  if (typeof result === "string") return { text: result, beside: "" };
  if (typeof result === "object" && result !== null && !Array.isArray(result)) {
    const { content, ...rest } = result as Record<string, unknown>;
    const message = textOf(result as JsonObject);
    if (message !== null) return { text: message, beside: "" };
    if (typeof content === "string") {
      const beside = Object.entries(rest)
        .map(([name, value]) => `${name}=${JSON.stringify(value)}`)
        .join(" ");
      return { text: content.replace(/\n$/, ""), beside };
    }
  }
  return { text: JSON.stringify(result ?? null, null, 2), beside: "" };
}
