// Starts a run of a workflow and waits for it as long as its caller does. The run itself is stored: any instance can
// continue it, also when the call that started it has failed.
import {
  depthOf,
  mandateOf,
  type Call,
  type Caller,
  type CallParent,
  type JsonObject,
} from "../../contract/call.ts";
import { AppError } from "../../contract/errors.ts";
import {
  AlreadyExists,
  type RunRow,
  type StepState,
  type WorkflowRow,
} from "../../storage/store/store.ts";
import { waitAtMost } from "../../util/async/wait.ts";
import { runItem } from "./run/item.ts";
import type { WorkflowsPowers } from "./workflows.ts";

export interface RunRequest {
  readonly workflow: WorkflowRow;
  readonly input: JsonObject;
  /** The caller whose rights the run has. */
  readonly caller: Caller;
  /** Steps that are taken over from an earlier run with their results. */
  readonly taken?: ReadonlyMap<string, StepState>;
}

/** Open runs of one owner: they cost little while they wait, but not nothing. */
const MAX_OPEN_PER_CALLER = 200;
/** How often the row of a run is read, since another instance may drive it. */
const READ_EVERY_MS = 500;

export async function startRun(
  call: Call,
  request: RunRequest,
  { signal, waitMs }: { readonly signal: AbortSignal; readonly waitMs: number },
  p: WorkflowsPowers,
): Promise<RunRow> {
  const { caller } = request;
  if ((await p.store.runs.openOf(caller)) >= MAX_OPEN_PER_CALLER) throw tooMany();
  const row = rowOf(call, request, p);
  // The listener is added before the run begins, so that it misses no change.
  const { promise: told, resolve } = Promise.withResolvers<void>();
  let latest = row;
  const hear = (run: RunRow): void => {
    latest = run;
    if (isAnswer(run)) resolve();
  };
  const leave = p.notices.onChanged(row.id, hear);
  const onAbort = (): void => {
    // A call that runs out of time, or stops with the server, leaves its run alone.
    if (signal.reason !== "shutdown" && signal.reason !== "timeout")
      p.background(cancelRun(row, p));
    resolve();
  };
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    await create(row, p);
    await p.work.add(runItem(row.id));
    // The parent run waits for the run of a step; no caller waits for the run of a schedule.
    const ms = row.parentRunId === null && row.startKey === null ? waitMs : 0;
    for (const until = performance.now() + ms; !isAnswer(latest) && !signal.aborted;) {
      const left = until - performance.now();
      if (left <= 0) break;
      await waitAtMost(told, p.store.shared ? Math.min(left, READ_EVERY_MS) : left, signal);
      if (p.store.shared && !isAnswer(latest))
        latest = (await p.store.runs.get(caller, row.id)) ?? latest;
    }
    return latest;
  } finally {
    leave();
    signal.removeEventListener("abort", onAbort);
  }
}

/** It has ended, or waits for a person. */
const isAnswer = ({ status, endedAt }: RunRow): boolean =>
  endedAt !== null || status === "pending" || status === "paused";

/** Cancelling the call while it waits cancels the run; once the call was answered, the run is independent of it. */
async function cancelRun(row: RunRow, p: WorkflowsPowers): Promise<void> {
  await p.store.runs.ask(row.id, "cancel", row.userId);
  await p.wake(row.id);
}

async function create(row: RunRow, p: WorkflowsPowers): Promise<void> {
  try {
    await p.store.runs.create(row);
  } catch (cause) {
    if (!(cause instanceof AlreadyExists)) throw cause;
    throw new AppError("CONFLICT", "already_exists", "this run was started in the same moment", {
      remedy: "look at it with workflow/status",
    });
  }
  const body = { workflowId: row.workflowId, version: row.version, executionId: row.executionId };
  await p.store.runEvents.add(row.id, [{ at: row.startedAt, kind: "run.started", body }]);
}

function rowOf(
  call: Call,
  { workflow, input, caller, taken }: RunRequest,
  p: WorkflowsPowers,
): RunRow {
  const { metadata } = call;
  // Only this server can mark a call as the step of a run.
  const isChild = call.entry === "workflow" && depthOf(call) > 0 && metadata?.["child"] === true;
  const parentRunId = isChild ? metadata["runId"] : null;
  return {
    id: p.ids.handle("run", p.now()),
    tenantId: caller.tenantId,
    userId: caller.userId,
    workflowId: workflow.id,
    version: workflow.version,
    executionId: call.id,
    instanceId: p.instanceId,
    status: "running",
    input,
    steps: workflow.steps.map(
      ({ id }) => taken?.get(id) ?? { id, executionId: null, status: "waiting", ms: 0 },
    ),
    output: null,
    error: null,
    startedAt: p.now(),
    endedAt: null,
    fence: 0,
    mandate: mandateOf(caller),
    parent: parentOf(call),
    parentRunId: typeof parentRunId === "string" ? parentRunId : null,
    wanted: null,
    wantedBy: null,
    // Only this server makes calls of schedules.
    startKey:
      call.entry === "schedule" && typeof metadata?.["startKey"] === "string"
        ? metadata["startKey"]
        : null,
  };
}

const parentOf = ({ id, entry, sessionId, ip, trace, metadata }: Call): CallParent => ({
  id,
  entry,
  sessionId,
  ip,
  trace,
  metadata,
});

function tooMany(): AppError {
  return new AppError(
    "TOO_MANY_REQUESTS",
    "concurrency",
    `${MAX_OPEN_PER_CALLER} of your workflow runs are under way`,
    { remedy: "wait for one of them to end, or cancel one", retryAfterSeconds: 5 },
  );
}
