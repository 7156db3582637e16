// Starts a run of a workflow and waits for it as long as its caller does; afterwards it goes on by itself.
import {
  limitWithin,
  mandateOf,
  type Call,
  type Caller,
  type CallParent,
  type JsonObject,
} from "../../contract/call.ts";
import { AppError, type Fault } from "../../contract/errors.ts";
import type { RunRow, WorkflowRow } from "../../storage/store/store.ts";
import { drive } from "./run.ts";
import type { WorkflowsPowers } from "./workflows.ts";

/** Runs of this process by id. */
export type OpenRuns = Map<
  string,
  { owner: string; controller: AbortController; ended: Promise<RunRow> }
>;

export interface RunRequest {
  readonly workflow: WorkflowRow;
  readonly input: JsonObject;
  /** With whose rights. */
  readonly caller: Caller;
}

const MAX_OPEN_PER_CALLER = 20;

export async function startRun(
  call: Call,
  request: RunRequest,
  { signal, waitMs }: { readonly signal: AbortSignal; readonly waitMs: number },
  open: OpenRuns,
  p: WorkflowsPowers,
): Promise<RunRow> {
  const { workflow, caller } = request;
  const owner = JSON.stringify([caller.tenantId, caller.userId]);
  if ([...open.values()].filter((one) => one.owner === owner).length >= MAX_OPEN_PER_CALLER)
    throw tooMany();
  const row = rowOf(call, request, p);
  await p.store.runs.create(row);
  let latest = row;
  /** It waits for a person, or its caller has gone. */
  const held = Promise.withResolvers<void>();
  const controller = new AbortController();
  const unwatch = p.watch(caller, (now) =>
    now === null ? controller.abort("revoked") : undefined,
  );
  const ended = drive(
    row,
    {
      workflow,
      parent: parentOf(call),
      caller,
      signal: controller.signal,
      outerLimit: limitWithin(call),
      changed(run) {
        latest = run;
        if (run.status === "pending") held.resolve();
      },
    },
    {
      runs: p.store.runs,
      engine: p.engine,
      now: p.now,
      brings: p.brings,
      callerAgain: (who) => p.callerAgain(mandateOf(who)),
    },
  ).finally(() => {
    unwatch();
    open.delete(row.id);
    p.onEnded();
  });
  open.set(row.id, { owner, controller, ended });
  p.background(ended);
  // Cancelling the call while it waits cancels the run; once the call was answered, the run stands alone.
  const onAbort = (): void => {
    controller.abort(signal.reason);
    held.resolve();
  };
  signal.addEventListener("abort", onAbort, { once: true });
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => (timer = setTimeout(resolve, waitMs)));
  try {
    await Promise.race([ended, held.promise, late]);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", onAbort);
  }
  return latest;
}

function rowOf(call: Call, { workflow, input, caller }: RunRequest, p: WorkflowsPowers): RunRow {
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
    steps: workflow.steps.map(({ id }) => ({
      id,
      executionId: null,
      status: "waiting",
      ms: 0,
    })),
    output: null,
    error: null,
    startedAt: p.now(),
    endedAt: null,
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

/** Closes runs that a crash of this instance left open. */
export async function recoverRuns(open: OpenRuns, p: WorkflowsPowers): Promise<number> {
  const left = await p.store.runs.open({ instanceId: p.instanceId });
  for (const run of left.filter(({ id }) => !open.has(id))) {
    const steps = run.steps.map((step) =>
      step.status === "running" || step.status === "pending"
        ? { ...step, status: "failed" as const, error: CRASHED }
        : step.status === "waiting"
          ? { ...step, status: "skipped" as const }
          : step,
    );
    await p.store.runs.update(run.id, {
      ...run,
      status: "failed",
      steps,
      error: CRASHED,
      endedAt: p.now(),
    });
  }
  return left.length;
}

const CRASHED: Fault = {
  code: "OUTCOME_UNKNOWN",
  reason: "crashed",
  message: "the server stopped while it ran; it is not known how far it came",
  remedy: "look at the executions of its steps before you run it again",
};

function tooMany(): AppError {
  return new AppError(
    "TOO_MANY_REQUESTS",
    "concurrency",
    `${MAX_OPEN_PER_CALLER} of your workflow runs are under way`,
    { remedy: "wait for one of them to end", retryAfterSeconds: 5 },
  );
}
