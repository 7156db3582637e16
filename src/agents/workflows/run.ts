// One run: step after step as the caller, each a call of its own through the whole gate. Durable before each effect.
import {
  innerRequest,
  type Caller,
  type CallParent,
  type CallRequest,
  type Json,
  type JsonObject,
  type Outcome,
  type TimeLimit,
} from "../../contract/call.ts";
import { AppError, faultOf, type Fault } from "../../contract/errors.ts";
import type { TaintSource } from "../../contract/taint.ts";
import type {
  RunRow,
  StepState,
  Store,
  WorkflowRow,
  WorkflowStep,
} from "../../storage/store/store.ts";
import { holds, parseCondition } from "./condition.ts";
import { NothingThere, render, type Scope } from "./template.ts";

export interface RunPowers {
  readonly runs: Pick<Store["runs"], "update">;
  readonly engine: () => {
    execute(caller: Caller, request: CallRequest): Promise<Outcome>;
    follow(
      caller: Caller,
      executionId: string,
      wait: { ms: number; signal?: AbortSignal },
    ): Promise<Outcome>;
    cancel(caller: Caller, executionId: string, note?: string): Promise<void>;
  };
  /** The caller as they are now; null when user or key is gone. */
  readonly callerAgain: (caller: Caller) => Promise<Caller | null>;
  /** Content from outside that an outcome brings along. */
  readonly brings: (outcome: Outcome) => readonly TaintSource[];
  readonly now: () => number;
}

export interface Running {
  readonly workflow: WorkflowRow;
  readonly parent: CallParent;
  readonly caller: Caller;
  readonly signal: AbortSignal;
  /** Of the call that waits for the run. */
  readonly outerLimit: TimeLimit;
  /** Told after each change is durable. */
  readonly changed: (run: RunRow) => void;
}

/** How long one look at a step that waits for a person takes; then it is looked at again. */
const FOLLOW_MS = 30_000;

export async function drive(row: RunRow, running: Running, p: RunPowers): Promise<RunRow> {
  const { workflow, signal } = running;
  let run = row;
  let caller = running.caller;
  const outputs = new Map<string, Json>();
  const scope: Scope = { input: row.input, outputs };
  let last: Json = null;

  const save = async (change: Partial<RunRow>): Promise<void> => {
    run = { ...run, ...change };
    await p.runs.update(run.id, run);
    running.changed(run);
  };
  const set = (state: StepState, status: RunRow["status"] = "running"): Promise<void> =>
    save({ status, steps: run.steps.map((one) => (one.id === state.id ? state : one)) });
  const end = async (status: RunRow["status"], error: Fault | null): Promise<RunRow> => {
    const steps = run.steps.map((step): StepState =>
      step.status === "waiting" ? { ...step, status: "skipped" } : step,
    );
    await save({
      status,
      error,
      steps,
      output: status === "success" ? last : null,
      endedAt: p.now(),
    });
    return run;
  };

  for (const step of workflow.steps) {
    if (signal.reason === "revoked") return end("failed", gone(caller));
    if (signal.aborted) return end("cancelled", cancelled(signal.reason, running.outerLimit));
    if (!isWanted(step, scope)) {
      await set({ id: step.id, executionId: null, status: "skipped", ms: 0 });
      continue;
    }
    // What was taken away since the last step is not there for the next one.
    const again = await p.callerAgain(caller);
    if (again === null) return end("failed", gone(caller));
    caller = again;
    const began = p.now();
    await set({ id: step.id, executionId: null, status: "running", ms: 0 });
    const outcome = await attempt(step, caller, scope, running, p, (held) =>
      set(heldStep(step, held), "pending"),
    );
    const ms = Math.max(0, p.now() - began);
    const shutdown =
      outcome.error?.reason === "shutting_down" || outcome.error?.reason === "shutdown";
    const status = outcome.success
      ? "success"
      : outcome.cancelled || shutdown
        ? "cancelled"
        : "failed";
    await set({
      id: step.id,
      executionId: outcome.executionId,
      status,
      ms,
      ...(outcome.error ? { error: outcome.error } : {}),
      ...(outcome.sources.length > 0 ? { sources: outcome.sources } : {}),
    });
    if (signal.reason === "revoked") return end("failed", gone(caller));
    if (outcome.success) outputs.set(step.id, (last = outcome.output));
    else if (signal.aborted || shutdown)
      return end("cancelled", cancelled(shutdown ? "shutdown" : signal.reason, running.outerLimit));
    else if (!step.continueOnError) return end("failed", stepFailed(step, outcome.error));
  }
  return end("success", null);
}

interface Attempt {
  readonly executionId: string | null;
  readonly success: boolean;
  readonly cancelled: boolean;
  readonly output: Json;
  readonly error: Fault | null;
  readonly sources: readonly TaintSource[];
}

async function attempt(
  step: WorkflowStep,
  caller: Caller,
  scope: Scope,
  { parent, signal, outerLimit }: Running,
  p: RunPowers,
  onHeld: (outcome: Outcome) => Promise<void>,
): Promise<Attempt> {
  try {
    const args = render(step.input, scope) as JsonObject;
    const request = innerRequest(parent, "workflow", {
      name: step.tool,
      arguments: args,
      signal,
      outerLimit,
      metadata: { stepId: step.id },
      ...(step.timeoutSeconds === undefined ? {} : { timeoutMs: step.timeoutSeconds * 1_000 }),
    });
    let outcome = await p.engine().execute(caller, request);
    if (outcome.status === "pending") await onHeld(outcome);
    // A person has all the time the approval gives; whatever becomes of it is an end.
    while (outcome.endedAt === null && !signal.aborted)
      outcome = await p.engine().follow(caller, outcome.executionId, { ms: FOLLOW_MS, signal });
    // The run has ended before its step: the question is taken back, and what runs after a yes is cancelled.
    if (outcome.endedAt === null)
      await p
        .engine()
        .cancel(caller, outcome.executionId, "the run has ended")
        .catch(() => undefined);
    const { executionId, success, output, error } = outcome;
    return {
      executionId,
      success,
      cancelled: outcome.status === "cancelled" || outcome.endedAt === null,
      output,
      error,
      sources: p.brings(outcome),
    };
  } catch (cause) {
    const error = cause instanceof NothingThere ? nothingThere(cause) : faultOf(cause);
    return {
      executionId: null,
      success: false,
      cancelled: false,
      output: null,
      error,
      sources: [],
    };
  }
}

function isWanted(step: WorkflowStep, scope: Scope): boolean {
  if (step.if === undefined) return true;
  const condition = parseCondition(step.if);
  return typeof condition !== "string" && holds(condition, scope);
}

function heldStep(step: WorkflowStep, { executionId, approval }: Outcome): StepState {
  const held = { id: step.id, executionId, status: "pending", ms: 0 } as const;
  return approval
    ? {
        ...held,
        pendingApproval: { id: approval.id, expiresAt: new Date(approval.expiresAt).toISOString() },
      }
    : held;
}

function stepFailed(step: WorkflowStep, error: Fault | null): Fault {
  const why = error ? `${error.reason}: ${error.message}` : "without a reason";
  return {
    code: "EXECUTION_FAILED",
    reason: "step_failed",
    message: `step ${step.id} (${step.tool}) failed, ${why}`,
    remedy: error?.remedy ?? "look at the step's execution",
  };
}

function cancelled(reason: unknown, { ms }: TimeLimit): Fault {
  if (reason === "timeout") {
    const message = `the time of the call that started the run was up (${ms / 1000}s)`;
    return { code: "TIMEOUT", reason: "timeout", message };
  }
  if (reason === "shutdown")
    return { code: "CANCELLED", reason: "shutdown", message: "the server was shutting down" };
  return { code: "CANCELLED", reason: "user", message: "the run was cancelled" };
}

const gone = ({ userId }: Caller): Fault =>
  new AppError(
    "UNAUTHORIZED",
    "key_inactive",
    `the user or key of ${userId} is not active any more: the rest of the run was left out`,
  ).fault;

const nothingThere = (cause: NothingThere): Fault =>
  new AppError(
    "EXECUTION_FAILED",
    "reference_unknown",
    `${cause.message}: an earlier step gave no such value, or was left out`,
    { remedy: "look at the outputs of the earlier steps" },
  ).fault;
