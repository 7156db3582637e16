// Runs a workflow again from one of its steps: steps that do not depend on it are taken over with their results.
import type { Caller } from "../../contract/call.ts";
import { AppError } from "../../contract/errors.ts";
import type { RunRow, StepState, WorkflowRow } from "../../storage/store/store.ts";
import { notFound } from "./lookup.ts";
import { dependentsOf } from "./run/graph.ts";
import type { WorkflowsPowers } from "./workflows.ts";

export interface Rerun {
  readonly runId: string;
  readonly fromStep: string;
}

export async function runBefore(
  caller: Caller,
  { runId }: Rerun,
  store: WorkflowsPowers["store"],
): Promise<RunRow> {
  const run = await store.runs.get(caller, runId);
  if (run === null) throw notFound(`run ${JSON.stringify(runId)}`);
  if (run.endedAt !== null) return run;
  throw new AppError("CONFLICT", "still_running", `the run ${runId} has not ended yet`, {
    remedy: "cancel it, or wait until it has ended",
  });
}

/** Steps of the earlier run that count as done. Refused where one of them did not succeed. */
export function stepsTaken(
  { steps }: WorkflowRow,
  run: RunRow,
  { fromStep }: Rerun,
): ReadonlyMap<string, StepState> {
  if (!steps.some(({ id }) => id === fromStep))
    throw invalid(`there is no step ${JSON.stringify(fromStep)}`, steps);
  const again = dependentsOf(steps, fromStep);
  const taken = new Map<string, StepState>();
  for (const step of steps.filter(({ id }) => !again.has(id))) {
    const state = run.steps.find(({ id }) => id === step.id);
    if (!state || !isDone(state, step.continueOnError))
      throw invalid(`step ${step.id} before it ended as ${state?.status ?? "unknown"}`, steps);
    taken.set(step.id, state);
  }
  return taken;
}

const isDone = ({ status }: StepState, continueOnError: boolean): boolean =>
  status === "success" || status === "skipped" || (status === "failed" && continueOnError);

function invalid(what: string, steps: WorkflowRow["steps"]): AppError {
  const path = "/rerun/fromStep";
  return new AppError("BAD_REQUEST", "invalid_arguments", `rerun.fromStep: ${what}`, {
    remedy: `choose a step before which all have succeeded, of ${steps.map(({ id }) => id).join(", ")}`,
    errors: [{ path, message: what }],
  });
}
