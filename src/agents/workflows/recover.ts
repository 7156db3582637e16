// Runs that a crash of this instance left open: they continue; those of earlier releases are closed.
import type { RunRow, StepState } from "../../storage/store/store.ts";
import { CRASHED } from "./run/faults.ts";
import { hasEnded } from "./run/graph.ts";
import { runItem } from "./run/item.ts";
import type { WorkflowsPowers } from "./workflows.ts";

type Powers = Pick<WorkflowsPowers, "store" | "work" | "instanceId" | "now">;

/** Returns how many could not continue. */
export async function recoverRuns(p: Powers): Promise<number> {
  const left = await p.store.runs.open({ instanceId: p.instanceId });
  let closed = 0;
  for (const run of left) {
    if (run.mandate !== null && run.parent !== null) await p.work.add(runItem(run.id));
    else if (await close(run, p)) closed++;
  }
  return closed;
}

/** Its row does not say with which rights it would continue. */
async function close(run: RunRow, p: Powers): Promise<boolean> {
  const claimed = await p.store.runs.claim(run.id, p.instanceId);
  if (claimed === null) return false;
  const steps = claimed.steps.map((step): StepState => {
    if (hasEnded(step)) return step;
    return step.status === "waiting"
      ? { ...step, status: "skipped" }
      : { ...step, status: "failed", error: CRASHED };
  });
  const end = { status: "failed", steps, output: null, error: CRASHED, endedAt: p.now() } as const;
  return p.store.runs.update(run.id, claimed.fence, end);
}
