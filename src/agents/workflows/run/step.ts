// Advances one step as far as possible now: begun, checked again, or ended; its end is durable when this resolves.
import type { Json } from "../../../contract/call.ts";
import { AppError, faultOf } from "../../../contract/errors.ts";
import type { WorkflowStep } from "../../../storage/store/store.ts";
import { holds, parseCondition } from "../condition.ts";
import { NothingThere } from "../template.ts";
import { callStep } from "./call-step.ts";
import { childStep } from "./child-step.ts";
import { failedStep, type StepContext, type StepOutcome } from "./context.ts";
import { nothingThere } from "./faults.ts";
import { withoutWaits } from "./hand.ts";
import { loopStep, type LoopStep } from "./loop-step.ts";
import { waitStep } from "./wait-step.ts";

export type StepEnd =
  { readonly kind: "parked"; readonly at: number | null } | { readonly kind: "done" };

export async function goOnWith(
  step: WorkflowStep,
  ctx: StepContext,
  outputs: Map<string, Json>,
): Promise<StepEnd> {
  const { hand, p } = ctx;
  const state = hand.state(step.id);
  if (state.status === "waiting" && !(await isWanted(step, ctx))) {
    await hand.set({ id: step.id, executionId: null, status: "skipped", ms: 0 });
    return { kind: "done" };
  }
  const end = await attempt(step, ctx);
  if (end.kind === "parked") return end;
  if (end.kind === "again") return { kind: "done" };
  const { executionId, status, output, error, sources } = end;
  const now = hand.state(step.id);
  const endedAt = p.now();
  const { error: _former, ...rest } = withoutWaits(now);
  await hand.set({
    ...rest,
    executionId: executionId ?? now.executionId,
    status,
    ms: Math.max(0, endedAt - (now.startedAt ?? endedAt)),
    endedAt,
    ...(error ? { error } : {}),
    ...(sources.length > 0 ? { sources } : {}),
    // The output of a tool is in its execution's record.
    ...(status === "success" && step.tool === undefined ? { output } : {}),
  });
  if (status === "success") outputs.set(step.id, output);
  return { kind: "done" };
}

async function isWanted(step: WorkflowStep, ctx: StepContext): Promise<boolean> {
  if (step.if === undefined) return true;
  const condition = parseCondition(step.if);
  return typeof condition !== "string" && holds(condition, await ctx.scopeOf(step));
}

async function attempt(step: WorkflowStep, ctx: StepContext): Promise<StepOutcome> {
  try {
    if (step.wait) return await waitStep(step, ctx);
    if (step.workflow !== undefined) return await childStep(step, ctx);
    return step.forEach ? await loopStep(step as LoopStep, ctx) : await callStep(step, ctx);
  } catch (cause) {
    if (cause instanceof NothingThere) return failedStep(nothingThere(cause));
    // When the store or a guard is unavailable, the step has not failed: it is tried again.
    if (cause instanceof AppError && cause.fault.code !== "UNAVAILABLE")
      return failedStep(faultOf(cause));
    throw cause;
  }
}
