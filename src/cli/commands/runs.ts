import type { Command } from "commander";
import type { Cli } from "../cli.ts";
import { problemOf, type Api } from "../client/client.ts";
import { readEvents, type ServerEvent } from "../events.ts";
import type { Execution } from "../client/follow.ts";
import { listVerb } from "../history-list.ts";
import { fields, gateStrip, milliseconds } from "../output/render.ts";
import { statusOf } from "../status.ts";
import { needsVerb } from "../subcommands.ts";

export function define(command: Command, cli: Cli): void {
  listVerb(command, cli);
  command
    .command("show <id>")
    .description("one execution with its gates and result")
    .action((id: string) => show(cli, id));
  command
    .command("watch [id]")
    .description("every change as it happens, until Ctrl-C or the end of the one named")
    .action((id?: string) => watch(cli, id));
  command
    .command("cancel <ids...>")
    .description("stop running executions of yours")
    .option("--reason <text>", "kept with the cancellation")
    .action((ids: string[], options: { reason?: string }) => cancel(cli, ids, options.reason));
  needsVerb(command);
}

async function show(cli: Cli, id: string): Promise<void> {
  const api = await cli.connect("reader");
  const answer = await api.get<{ execution: Execution }>(`executions/${encodeURIComponent(id)}`);
  if (cli.flags.json) return cli.term.printJson(answer);
  const { gates, result, ...facts } = answer.execution;
  const status = statusOf(answer.execution);
  for (const line of fields({ ...facts, status, ...(gates ? { gates: gateStrip(gates) } : {}) }))
    cli.term.print(line);
  if (result !== undefined) cli.term.print(`result\n${JSON.stringify(result, null, 2)}`);
}

async function watch(cli: Cli, id: string | undefined): Promise<void> {
  const api = await cli.connect();
  const stop = new AbortController();
  const interrupt = () => stop.abort();
  process.once("SIGINT", interrupt).once("SIGTERM", interrupt);
  try {
    const response = await api.send("GET", "events", {
      headers: { accept: "text/event-stream" },
      signal: stop.signal,
    });
    if (!response.ok || !response.body)
      throw problemOf(response, await response.json().catch(() => null));
    for await (const event of readEvents(response.body)) {
      if (event.event === "open") {
        cli.term.note("watching; Ctrl-C ends it");
        if (id !== undefined && (await hasEnded(cli, api, id))) return;
        continue;
      }
      // The same stream has events of the mode and of approvals.
      if (!event.event.startsWith("tool.execution.")) continue;
      const change = JSON.parse(event.data) as Record<string, unknown>;
      if (id !== undefined && change["id"] !== id) continue;
      showChange(cli, event, change);
      if (id !== undefined && ENDS.has(event.event)) return;
    }
  } catch (cause) {
    if (!stop.signal.aborted) throw cause;
  } finally {
    process.removeListener("SIGINT", interrupt).removeListener("SIGTERM", interrupt);
    stop.abort();
  }
}

const ENDS = new Set(
  ["complete", "failed", "cancelled", "denied"].map((end) => `tool.execution.${end}`),
);

/** A call that had ended before the stream was open sends no further event: its record is printed instead. */
async function hasEnded(cli: Cli, api: Api, id: string): Promise<boolean> {
  const { execution } = await api.get<{ execution: Execution }>(
    `executions/${encodeURIComponent(id)}`,
  );
  if (execution.endTime === undefined) return false;
  const { toolName, status, executionTime, cancelReason, errorCode } = execution;
  const event = `tool.execution.${status === "success" ? "complete" : status}`;
  showChange(
    cli,
    { id: "", event, data: "" },
    { id, at: execution.endTime, toolName, status, executionTime, cancelReason, errorCode },
  );
  return true;
}

function showChange(cli: Cli, { id, event }: ServerEvent, change: Record<string, unknown>): void {
  if (cli.flags.json) cli.term.printJson({ id, event, data: change }, "line");
  else cli.term.print([change["id"], event, short(change)].join("  "));
}

function short(change: Record<string, unknown>): string {
  const { toolName, status, executionTime, errorCode } = change;
  return [
    toolName,
    status,
    typeof executionTime === "number" ? milliseconds(executionTime) : "",
    errorCode,
  ]
    .filter(Boolean)
    .join("  ");
}

async function cancel(cli: Cli, ids: string[], reason: string | undefined): Promise<void> {
  const api = await cli.connect();
  const answers: unknown[] = [];
  for (const id of ids) {
    const body = reason === undefined ? {} : { reason };
    const answer = await api.post<{ message: string }>(
      `executions/${encodeURIComponent(id)}/cancel`,
      body,
    );
    answers.push(answer);
    if (!cli.flags.json) cli.term.print(`${id}  ${answer.message}`);
  }
  if (cli.flags.json) cli.term.printJson(answers.length === 1 ? answers[0] : answers);
}
