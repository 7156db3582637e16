// Outputs of steps that have ended: from memory where this process has seen them, else from their executions' records.
import type { Json } from "../../../contract/call.ts";
import { AppError } from "../../../contract/errors.ts";
import type { StepState, WorkflowStep } from "../../../storage/store/store.ts";
import type { Scope } from "../template.ts";
import type { StepContext } from "./context.ts";
import { referencesOfStep } from "./graph.ts";

type Ctx = Pick<StepContext, "caller" | "hand" | "p">;

/** Number of runs whose outputs are kept in memory while they wait; those of others are read again. */
const KEPT_RUNS = 500;

export type KeptOutputs = Map<string, Map<string, Json>>;

export function outputsAtHand(kept: KeptOutputs, runId: string): Map<string, Json> {
  const outputs = kept.get(runId) ?? new Map<string, Json>();
  kept.delete(runId);
  kept.set(runId, outputs);
  const [oldest] = kept.keys();
  if (kept.size > KEPT_RUNS && oldest !== undefined) kept.delete(oldest);
  return outputs;
}

export async function scopeFor(
  step: WorkflowStep,
  outputs: Map<string, Json>,
  ctx: Ctx,
): Promise<Scope> {
  const referred = referencesOfStep(step).flatMap((one) => (one.from === "step" ? [one.step] : []));
  for (const id of new Set(referred)) await outputOf(ctx.hand.state(id), outputs, ctx);
  return { input: ctx.hand.run.input, outputs };
}

/** Undefined where the step has given none. */
export async function outputOf(
  state: StepState,
  outputs: Map<string, Json>,
  ctx: Ctx,
): Promise<Json | undefined> {
  const known = outputs.get(state.id);
  if (known !== undefined || state.status !== "success") return known;
  const output = await read(state, ctx);
  outputs.set(state.id, output);
  return output;
}

async function read(state: StepState, ctx: Ctx): Promise<Json> {
  if (state.output !== undefined) return state.output;
  if (state.executionIds)
    return Promise.all(
      state.executionIds.map(async (id) => (id === null ? null : await recorded(id, ctx))),
    );
  return state.executionId === null ? null : recorded(state.executionId, ctx);
}

async function recorded(executionId: string, { caller, p }: Ctx): Promise<Json> {
  const outcome = await p.engine().follow(await caller(), executionId, { ms: 0 });
  if (outcome.error)
    throw new AppError(
      outcome.error.code,
      outcome.error.reason,
      outcome.error.message,
      outcome.error,
    );
  return outcome.output;
}
