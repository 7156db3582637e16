// Cleans up after a run that ends before its last step: calls that wait for a person are withdrawn, questions end, runs
// that it started end with it.
import { hasEnded } from "./graph.ts";
import { runItem } from "./item.ts";
import type { StepContext } from "./context.ts";
import { BY_PARENT } from "./faults.ts";

export async function closeOpenSteps({ hand, caller, p }: StepContext): Promise<void> {
  const open = hand.run.steps.filter((step) => !hasEnded(step) && step.status !== "waiting");
  // Without rights the calls cannot be withdrawn: the end of the run closes their approvals all the same.
  const who = await caller().catch(() => null);
  for (const { executionId, executionIds = [], questionId, childRunId } of open) {
    const executions = [executionId, ...executionIds].filter((id) => id !== null);
    for (const id of who ? executions : [])
      if (who)
        await p
          .engine()
          .cancel(who, id, "the run has ended")
          // Most of them have ended.
          .catch(() => undefined);
    if (questionId !== undefined)
      await p.store.questions.expire(questionId, Number.MAX_SAFE_INTEGER);
    if (childRunId !== undefined) {
      await p.store.runs.ask(childRunId, "cancel", BY_PARENT);
      await p.work.wake(runItem(childRunId));
      p.notices.nudge(childRunId);
    }
  }
}
