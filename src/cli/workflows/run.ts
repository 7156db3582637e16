// `ostiary workflows run` and `rerun`: a run is started by a call of workflow/execute and followed until it has ended.
import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import type { JsonObject } from "../../contract/call.ts";
import { needsSchema, parseArgs, parsePairs } from "../arguments.ts";
import type { Cli } from "../cli.ts";
import type { Api } from "../client/client.ts";
import { exitOf, refused, usage } from "../client/fail.ts";
import type { Execution } from "../client/follow.ts";
import { inCliWords } from "../client/remedies.ts";
import { readable, type CallAnswer } from "../commands/call.ts";
import { openProgress } from "../output/progress.ts";
import { milliseconds, pendingLine, row } from "../output/render.ts";
import { isOver, readEventsAfter, tellEvent, waitsOf, type Run } from "./runs.ts";
import { storedWorkflow } from "./stored.ts";

interface FollowOptions {
  readonly watch?: boolean;
  readonly wait: boolean;
}

export interface RunOptions extends FollowOptions {
  readonly input?: string;
}

/** A person has to approve or answer, and has not yet. */
const EXIT_PENDING = 4;
const FIRST_WAIT_MS = 20;
const LONGEST_WAIT_MS = 500;

export async function run(
  cli: Cli,
  named: string,
  pairs: string[],
  options: RunOptions,
): Promise<void> {
  const api = await cli.connect();
  const workflow = await storedWorkflow(api, named);
  const schema = needsSchema(pairs) ? (workflow.inputSchema ?? null) : null;
  const input = { ...inputOf(options.input), ...parsePairs(pairs, schema) };
  const started = await api.post<CallAnswer>("executions", {
    name: "workflow/execute",
    arguments: { workflowId: workflow.id, input },
    wait: false,
  });
  await followStarted(cli, api, { started, workflowId: workflow.id }, options);
}

export async function rerun(
  cli: Cli,
  runId: string,
  { from, input, ...options }: RunOptions & { readonly from?: string },
): Promise<void> {
  const api = await cli.connect();
  const before = await api.get<Run>(`workflow-runs/${encodeURIComponent(runId)}`);
  const fromStep = from ?? failedStep(before)?.id;
  if (fromStep === undefined)
    throw usage(
      `not exactly one step of ${runId} has failed: say with which step to begin`,
      `--from <step>: one of ${before.steps.map(({ id }) => id).join(", ")}`,
    );
  const started = await api.post<CallAnswer>(`workflow-runs/${encodeURIComponent(runId)}/rerun`, {
    fromStep,
    ...(input === undefined ? {} : { input: inputOf(input) }),
  });
  await followStarted(cli, api, { started, workflowId: before.workflowId }, options);
}

const inputOf = (source: string | undefined): JsonObject =>
  source === undefined ? {} : parseArgs(source, () => readFileSync(0, "utf8"), "--input");

interface Started {
  readonly started: CallAnswer;
  readonly workflowId: string;
}

async function followStarted(
  cli: Cli,
  api: Api,
  { started, workflowId }: Started,
  { watch = false, wait }: FollowOptions,
): Promise<void> {
  const { executionId, approval } = started;
  if (!wait) {
    if (approval) cli.exitCode = EXIT_PENDING;
    if (cli.flags.json) return cli.term.printJson(started);
    cli.term.print(executionId);
    return cli.term.note(`   ${started.status}; its run: ostiary workflows runs ${workflowId}`);
  }
  if (approval) for (const line of pendingLine(approval, Date.now())) cli.term.note(line);
  const stop = new AbortController();
  const interrupt = () => stop.abort();
  process.once("SIGINT", interrupt).once("SIGTERM", interrupt);
  let last: Run | null = null;
  const seen = (now: Run): void => void (last = now);
  try {
    const begun = await runOf(api, executionId, workflowId, stop.signal);
    cli.term.note(`run ${begun.id}`);
    const ended = await untilOver(cli, api, begun, { watch, signal: stop.signal, seen });
    if (cli.flags.json) cli.term.printJson(ended, watch ? "line" : undefined);
    conclude(cli, api, ended);
  } catch (cause) {
    if (!stop.signal.aborted) throw cause;
    leave(cli, last, executionId);
  } finally {
    process.removeListener("SIGINT", interrupt).removeListener("SIGTERM", interrupt);
  }
}

/** The run that a call has started; throws the call's error when it was refused. */
async function runOf(
  api: Api,
  executionId: string,
  workflowId: string,
  signal: AbortSignal,
): Promise<Run> {
  for (let wait = FIRST_WAIT_MS; ; wait = Math.min(wait * 2, LONGEST_WAIT_MS)) {
    // In this order: a call that has ended has stored its run before.
    const { body } = await api.request<{ execution: Execution }>(
      "GET",
      `executions/${executionId}`,
      { signal },
    );
    const { items } = await api.get<{ items: Run[] }>(
      `workflows/${encodeURIComponent(workflowId)}/runs`,
      { limit: 100 },
    );
    const found = items.find((one) => one.executionId === executionId);
    if (found) return found;
    if (body.execution.endTime !== undefined) throw notStarted(body.execution);
    await sleep(wait, undefined, { signal });
  }
}

function notStarted({ id, error, errorCode, errorReason, remedy, gates }: Execution): Error {
  return refused({
    title: "The run was not started",
    status: 400,
    detail: error ?? "the run was not started",
    code: errorCode ?? "EXECUTION_FAILED",
    reason: errorReason ?? "unexpected",
    execution_id: id,
    ...(gates ? { gates } : {}),
    ...(remedy === undefined ? {} : { remedy }),
  });
}

/** Prints each change of a step with `watch`, and always what the run waits for. */
async function untilOver(
  cli: Cli,
  api: Api,
  begun: Run,
  options: { watch: boolean; signal: AbortSignal; seen: (now: Run) => void },
): Promise<Run> {
  const { watch, signal, seen } = options;
  const path = `workflow-runs/${encodeURIComponent(begun.id)}`;
  const progress = openProgress(cli, begun.id);
  const told = new Set<string>();
  let after = 0;
  try {
    for (let wait = FIRST_WAIT_MS; ; wait = Math.min(wait * 2, LONGEST_WAIT_MS)) {
      // In this order: the history of a run that has ended is complete.
      const now = (await api.request<Run>("GET", path, { signal })).body;
      seen(now);
      if (watch)
        for await (const event of readEventsAfter(api, begun.id, after, signal)) {
          after = event.seq;
          tellEvent(cli, event);
          wait = FIRST_WAIT_MS;
        }
      if (isOver(now)) return now;
      for (const line of waitsOf(now))
        if (!told.has(line)) {
          told.add(line);
          cli.term.note(line);
        }
      if (now.status !== "pending" && !watch) progress.show(now.status);
      await sleep(wait, undefined, { signal });
    }
  } finally {
    progress.end();
  }
}

function conclude(cli: Cli, api: Api, ended: Run): void {
  const { term } = cli;
  const { status, output, startedAt, endedAt } = ended;
  const failed = failedStep(ended);
  // The error of the step says more than that a step failed.
  const error =
    ended.error?.reason === "step_failed" ? (failed?.error ?? ended.error) : ended.error;
  cli.exitCode = status === "success" ? 0 : exitOf(error?.code, error?.reason);
  if (cli.flags.json) return;
  const time = milliseconds(Date.parse(endedAt ?? startedAt) - Date.parse(startedAt));
  if (status === "success") {
    term.note(`${term.err.green("✓ success")}  ${time}   ${ended.id}`);
    term.print(readable(output).text);
    return;
  }
  const why = error ? `   ${error.code} / ${error.reason}` : "";
  term.warn(`✗ ${term.err.red(status)}  ${time}${why}   ${ended.id}`);
  const call = failed?.executionId ?? null;
  const lines = [
    ...row("why", error?.message),
    ...row("step", failed?.id),
    ...row("remedy", inCliWords(error?.remedy)),
    ...row("explain", call === null ? undefined : `ostiary explain ${call}`),
    ...row("again", failed && `ostiary workflows rerun ${ended.id} --from ${failed.id}`),
  ];
  for (const line of lines) term.warn(line);
  term.note(`   ${term.err.dim(`${api.url}/x/${ended.executionId}`)}`);
}

/** Null where several have failed: those with `continueOnError` cannot be distinguished. */
function failedStep({ steps }: Run): Run["steps"][number] | null {
  const [first = null, second] = steps.filter(({ status }) => status === "failed");
  return second ? null : first;
}

/** The user stopped waiting; the run continues. */
function leave(cli: Cli, last: Run | null, executionId: string): void {
  cli.exitCode = last?.status === "pending" ? EXIT_PENDING : 1;
  if (cli.flags.json) cli.term.printJson(last ?? { executionId });
  cli.term.warn(
    last
      ? `${last.id} continues; cancel it with: ostiary workflows cancel ${last.id}`
      : `${executionId} continues; cancel it with: ostiary runs cancel ${executionId}`,
  );
}
