// Why a run or one of its steps did not succeed, as error texts.
import type { Owner, RunRow, WorkflowStep } from "../../../storage/store/store.ts";
import { AppError, type Fault } from "../../../contract/errors.ts";
import type { NothingThere } from "../template.ts";

/** Named as the one who cancelled a run when its parent run has ended. */
export const BY_PARENT = "(parent run)";

/** The rights behind a run have ended. */
export class RightsEnded extends Error {
  readonly fault: Fault;
  constructor(fault: Fault) {
    super(fault.message);
    this.fault = fault;
  }
}

export const gone = ({ userId }: Owner): Fault =>
  new AppError(
    "UNAUTHORIZED",
    "key_inactive",
    `the user or key of ${userId} is not active any more: the rest of the run was left out`,
  ).fault;

export function cancelled(by: string | null): Fault {
  const message = by === BY_PARENT ? "the run that started it has ended" : "the run was cancelled";
  return { code: "CANCELLED", reason: "user", message };
}

export const STOPPED: Fault = {
  code: "CANCELLED",
  reason: "shutdown",
  message: "the server was shutting down while a step ran",
};

export const CRASHED: Fault = {
  code: "OUTCOME_UNKNOWN",
  reason: "crashed",
  message: "the server stopped while it ran; it is not known how far it came",
  remedy: "look at the executions of its steps before you run it again",
};

export function stepFailed(step: WorkflowStep, error: Fault | null): Fault {
  const why = error ? `${error.reason}: ${error.message}` : "without a reason";
  const what = step.tool ?? (step.workflow === undefined ? "wait" : `workflow ${step.workflow}`);
  return {
    // An unknown outcome must not look like a failure that had no effect.
    code: error?.code === "OUTCOME_UNKNOWN" ? "OUTCOME_UNKNOWN" : "EXECUTION_FAILED",
    reason: "step_failed",
    message: `step ${step.id} (${what}) failed, ${why}`,
    remedy: error?.remedy ?? "look at the step's execution",
  };
}

export const nothingThere = (cause: NothingThere): Fault => ({
  code: "EXECUTION_FAILED",
  reason: "reference_unknown",
  message: `${cause.message}: an earlier step gave no such value, or was left out`,
  remedy: "look at the outputs of the earlier steps",
});

export const definitionGone = ({ workflowId, version }: RunRow): Fault => ({
  code: "EXECUTION_FAILED",
  reason: "tool_error",
  message: `version ${version} of the workflow ${workflowId} is not there any more`,
  remedy: "run the newest version",
});
