// Runs of workflows with their present state, and their history line by line.
import { setTimeout as sleep } from "node:timers/promises";
import type { Cli } from "../cli.ts";
import type { Api } from "../client/client.ts";
import { oneLine } from "../output/render.ts";

/** The answer of `GET /workflow-runs/{runId}`; in lists without input and output. */
export interface Run {
  readonly id: string;
  readonly workflowId: string;
  readonly version: number;
  readonly executionId: string;
  readonly status: "running" | "pending" | "paused" | "success" | "failed" | "cancelled";
  readonly asked?: string;
  readonly startedAt: string;
  readonly endedAt: string | null;
  readonly steps: readonly RunStep[];
  readonly error: Fault | null;
  readonly output?: unknown;
}

interface RunStep {
  readonly id: string;
  readonly status: string;
  readonly executionId: string | null;
  readonly ms: number;
  readonly error?: Fault;
  readonly pendingApproval?: { readonly id: string };
  readonly questionId?: string;
  readonly waitsForEvent?: string;
  readonly wakesAt?: string;
  readonly childRunId?: string;
}

interface Fault {
  readonly code: string;
  readonly reason: string;
  readonly message: string;
  readonly remedy?: string;
}

interface RunEvent {
  readonly seq: number;
  readonly at: string;
  readonly kind: string;
  readonly body: Readonly<Record<string, unknown>>;
}

const PAGE = 200;
const LOOK_EVERY_MS = 500;

export const isOver = ({ endedAt }: Run): boolean => endedAt !== null;

export async function* readEventsAfter(
  api: Api,
  runId: string,
  after: number,
  signal?: AbortSignal,
): AsyncGenerator<RunEvent> {
  let seen = after;
  for (;;) {
    const path = `workflow-runs/${encodeURIComponent(runId)}/events`;
    const { body } = await api.request<{ items: RunEvent[] }>("GET", path, {
      query: { after: seen, limit: PAGE },
      ...(signal ? { signal } : {}),
    });
    yield* body.items;
    seen = body.items.at(-1)?.seq ?? seen;
    if (body.items.length < PAGE) return;
  }
}

export function tellEvent(cli: Cli, event: RunEvent): void {
  if (cli.flags.json) return cli.term.printJson(event, "line");
  const { stepId, executionId, attempt, approvalId, error, ...more } = event.body;
  const fault = error as Fault | undefined;
  const words = [
    event.at,
    event.kind.padEnd(13),
    stepId,
    executionId,
    typeof attempt === "number" && attempt > 1 ? `attempt ${attempt}` : null,
    approvalId === undefined ? null : `approval ${oneLine(approvalId)}`,
    fault ? `${fault.code} / ${fault.reason}: ${fault.message}` : null,
    Object.keys(more).length === 0 ? null : JSON.stringify(more),
  ];
  const line = words.map(oneLine).filter((word) => word !== "");
  cli.term.print(line.join("  ").trimEnd());
}

/** What its steps wait for, and what to do about it. */
export function waitsOf({ id: runId, steps }: Run): string[] {
  return steps.flatMap(({ id, status, pendingApproval, questionId, waitsForEvent, wakesAt }) => {
    if (status === "pending" && pendingApproval)
      return [`⏸ step ${id} waits for approval: ostiary approvals show ${pendingApproval.id}`];
    if (status === "pending" && questionId !== undefined)
      return [`⏸ step ${id} waits for an answer: ostiary questions answer ${questionId} <answer>`];
    if (waitsForEvent !== undefined)
      return [
        `⏸ step ${id} waits for the event ${waitsForEvent}: ostiary api POST /api/v1/workflow-runs/${runId}/events/${waitsForEvent}`,
      ];
    return wakesAt === undefined ? [] : [`⏸ step ${id} waits until ${wakesAt}`];
  });
}

export async function logs(
  cli: Cli,
  runId: string,
  { follow = false, after }: { follow?: boolean; after: string },
): Promise<void> {
  const api = await cli.connect("reader");
  const stop = new AbortController();
  const interrupt = () => stop.abort();
  process.once("SIGINT", interrupt).once("SIGTERM", interrupt);
  const isWhole = cli.flags.json === true && !follow;
  const items: RunEvent[] = [];
  let seen = Number(after);
  try {
    for (;;) {
      // In this order: the history of a run that has ended is complete.
      const path = `workflow-runs/${encodeURIComponent(runId)}`;
      const { body: now } = await api.request<Run>("GET", path, { signal: stop.signal });
      for await (const event of readEventsAfter(api, runId, seen, stop.signal)) {
        seen = event.seq;
        if (isWhole) items.push(event);
        else tellEvent(cli, event);
      }
      if (isWhole) return cli.term.printJson({ items });
      if (!follow || isOver(now)) return;
      await sleep(LOOK_EVERY_MS, undefined, { signal: stop.signal });
    }
  } catch (cause) {
    if (!stop.signal.aborted) throw cause;
  } finally {
    process.removeListener("SIGINT", interrupt).removeListener("SIGTERM", interrupt);
  }
}

/** `cancel`, `pause` or `resume`. */
export async function ask(cli: Cli, runId: string, verb: string): Promise<void> {
  const api = await cli.connect();
  const path = `workflow-runs/${encodeURIComponent(runId)}/${verb}`;
  const now = await api.post<Run>(path, {});
  if (cli.flags.json) return cli.term.printJson(now);
  cli.term.print(`${now.id}  ${now.status}`);
  if (now.asked !== undefined && now.status === "running")
    cli.term.note(`   asked to ${now.asked}: what is at work ends first`);
}
