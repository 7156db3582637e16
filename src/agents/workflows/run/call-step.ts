// A step that calls one tool.
import type { JsonObject, Outcome } from "../../../contract/call.ts";
import type { StepState, WorkflowStep } from "../../../storage/store/store.ts";
import { render } from "../template.ts";
import { nextAttempt } from "./again.ts";
import {
  endOf,
  isOutcome,
  isStopping,
  isTaken,
  LOOK_AGAIN_MS,
  LOOK_AT_HELD_MS,
  lookAt,
  makeCall,
  type StepCall,
  unknownEnd,
} from "./call.ts";
import { begunState, type StepContext, type StepOutcome } from "./context.ts";
import { withoutWaits } from "./hand.ts";

export type ToolStep = Extract<WorkflowStep, { tool: string }>;

export async function callStep(step: ToolStep, ctx: StepContext): Promise<StepOutcome> {
  const args = async () => render(step.input, await ctx.scopeOf(step)) as JsonObject;
  return goOnWithCall(step, ctx, {
    name: step.tool,
    timeoutSeconds: step.timeoutSeconds,
    arguments: args,
  });
}

export interface CallOfStep extends Pick<StepCall, "name" | "timeoutSeconds" | "metadata"> {
  readonly arguments: () => Promise<JsonObject>;
}

/** Makes the call of a step, or continues with the one that was made. */
export async function goOnWithCall(
  step: WorkflowStep,
  ctx: StepContext,
  call: CallOfStep,
): Promise<StepOutcome> {
  const state = ctx.hand.state(step.id);
  const { executionId } = state;
  if (state.status === "waiting" || executionId === null) return begin(step, ctx, call, null);
  const seen = await lookAt(ctx, executionId, state.startedAt);
  if (seen === "never") return begin(step, ctx, call, executionId);
  return "at" in seen ? { kind: "parked", at: seen.at } : settle(step, ctx, seen.outcome);
}

async function begin(
  step: WorkflowStep,
  ctx: StepContext,
  call: CallOfStep,
  former: string | null,
): Promise<StepOutcome> {
  const { hand, p } = ctx;
  const attempt = hand.state(step.id).attempt ?? 1;
  const made = await makeCall(ctx, {
    ...call,
    arguments: await call.arguments(),
    stepId: step.id,
    key: `${hand.run.id}/${step.id}/${attempt}`,
    chosen: (executionId) =>
      hand.set(
        begunState(withoutWaits(hand.state(step.id)), { executionId, startedAt: p.now() }, p.now()),
      ),
  });
  if (!isOutcome(made)) return orAgain(step, ctx, made);
  if (former !== null && isTaken(made)) return afterFormer(step, ctx, former);
  return settle(step, ctx, made);
}

/** The instance that had the run before took the key: it has begun the call after all, or died in between. */
async function afterFormer(
  step: WorkflowStep,
  ctx: StepContext,
  former: string,
): Promise<StepOutcome> {
  const { hand, p } = ctx;
  const state = hand.state(step.id);
  const seen = await lookAt(ctx, former, 0);
  if (seen === "never") {
    // With several instances, the one that took the key may be frozen, and begin the call when it continues.
    if (p.store.shared) return orAgain(step, ctx, unknownEnd(former));
    const attempt = (state.attempt ?? 1) + 1;
    await hand.set({ ...state, status: "waiting", attempt, executionId: null });
    return { kind: "again" };
  }
  await hand.set({ ...state, executionId: former });
  return { kind: "parked", at: p.now() };
}

/** Stores the step's end, or what it waits for. */
async function settle(
  step: WorkflowStep,
  ctx: StepContext,
  outcome: Outcome,
): Promise<StepOutcome> {
  const { hand, p } = ctx;
  const state = hand.state(step.id);
  const end = endOf(ctx, outcome);
  if (end === null) return held(state, ctx, outcome);
  if (isStopping(outcome)) {
    const attempt = (state.attempt ?? 1) + 1;
    await hand.set({
      ...withoutWaits(state),
      status: "waiting",
      attempt,
      executionId: null,
      wakeAt: p.now() + LOOK_AGAIN_MS,
    });
    return { kind: "again" };
  }
  return orAgain(step, ctx, end);
}

async function orAgain(
  step: WorkflowStep,
  { hand, p }: StepContext,
  end: StepOutcome,
): Promise<StepOutcome> {
  if (end.kind !== "ended" || end.status === "success") return end;
  const again = nextAttempt(step, hand.state(step.id), end.error, p);
  if (again === null) return end;
  await hand.set(again);
  return { kind: "again" };
}

async function held(
  state: StepState,
  { hand, p }: StepContext,
  { executionId, approval, status }: Outcome,
): Promise<StepOutcome> {
  if (status !== "pending" || approval?.state !== "pending") {
    // The approver has decided: a call that runs is reported as running, a refused one ends in a moment.
    const runs = status === "running" || approval?.state === "approved";
    if (runs && state.status !== "running")
      await hand.set({ ...withoutWaits(state), status: "running" });
    return { kind: "parked", at: p.now() + LOOK_AGAIN_MS };
  }
  if (state.status !== "pending")
    await hand.set({
      ...state,
      // A repeat of a call that waits already joins the waiting call.
      executionId,
      status: "pending",
      pendingApproval: {
        id: approval.id,
        expiresAt: new Date(approval.expiresAt).toISOString(),
      },
    });
  const at = Math.min(approval.expiresAt + LOOK_AGAIN_MS, p.now() + LOOK_AT_HELD_MS);
  return { kind: "parked", at: Math.max(at, p.now() + LOOK_AGAIN_MS) };
}
