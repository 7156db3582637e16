// A step that runs another workflow: started by a call of workflow/execute through the whole gate, then waited for as a
// run of its own.
import type { JsonObject } from "../../../contract/call.ts";
import type { RunRow, WorkflowStep } from "../../../storage/store/store.ts";
import { render } from "../template.ts";
import { LOOK_AT_HELD_MS } from "./call.ts";
import { goOnWithCall } from "./call-step.ts";
import { failedStep, type StepContext, type StepOutcome } from "./context.ts";
import { withoutWaits } from "./hand.ts";

export type ChildStep = Extract<WorkflowStep, { workflow: string }>;

export async function childStep(step: ChildStep, ctx: StepContext): Promise<StepOutcome> {
  const { hand, p } = ctx;
  const { childRunId, executionId } = hand.state(step.id);
  if (childRunId !== undefined) return follow(step, ctx, childRunId);
  // A call whose end was lost may have started the run all the same.
  const started =
    executionId === null ? null : await p.store.runs.ofExecution(ctx.owner, executionId);
  if (started) return adopt(step, ctx, started);
  const called = await goOnWithCall(step, ctx, {
    name: "workflow/execute",
    timeoutSeconds: undefined,
    metadata: { child: true },
    arguments: async () => ({
      workflowId: step.workflow,
      input: render(step.input, await ctx.scopeOf(step)) as JsonObject,
    }),
  });
  if (called.kind !== "ended" || called.executionId === null) return called;
  const child = await p.store.runs.ofExecution(ctx.owner, called.executionId);
  return child ? adopt(step, ctx, child) : called;
}

async function adopt(step: ChildStep, ctx: StepContext, child: RunRow): Promise<StepOutcome> {
  const state = ctx.hand.state(step.id);
  await ctx.hand.set({ ...withoutWaits(state), status: "running", childRunId: child.id });
  return follow(step, ctx, child.id);
}

async function follow(step: ChildStep, ctx: StepContext, childRunId: string): Promise<StepOutcome> {
  const { hand, p } = ctx;
  const child = await p.store.runs.get(ctx.owner, childRunId);
  if (child === null)
    return failedStep({
      code: "EXECUTION_FAILED",
      reason: "tool_error",
      message: `the run ${childRunId} is not there any more`,
      remedy: "run the workflow again",
    });
  const state = hand.state(step.id);
  if (child.endedAt === null) {
    const status = child.status === "pending" ? "pending" : "running";
    if (state.status !== status) await hand.set({ ...state, status });
    return { kind: "parked", at: p.now() + LOOK_AT_HELD_MS };
  }
  return {
    kind: "ended",
    status:
      child.status === "success"
        ? "success"
        : child.status === "cancelled"
          ? "cancelled"
          : "failed",
    executionId: state.executionId,
    output: child.output,
    error: child.error && { ...child.error, message: `run ${childRunId}: ${child.error.message}` },
    sources: child.steps.flatMap((one) => one.sources ?? []),
  };
}
