// Faults for which a definition of a workflow is refused, each with its field.
import { AppError, type FieldFault } from "../../contract/errors.ts";

export const cycle = (path: string, what: string): AppError =>
  new AppError("EXECUTION_FAILED", "cycle", what, {
    errors: [{ path, message: what }],
    remedy: "let a step refer only to steps before it, and a workflow run only others",
  });

export function noWebhook(): AppError {
  const message = "nothing here takes webhooks of other systems as they send them";
  return new AppError("BAD_REQUEST", "invalid_arguments", `/trigger: ${message}`, {
    remedy:
      "use trigger event: POST /api/v1/events/{name of the workflow} with your key starts it, and the body is its input",
    errors: [{ path: "/trigger", message }],
  });
}

export function unknownReference(step: string, what: string, path: string): AppError {
  return new AppError("EXECUTION_FAILED", "reference_unknown", `step ${step}: ${what}`, {
    errors: [{ path, message: what }],
    remedy: "refer to {{input.<name>}} or {{steps.<id>.output.<path>}} of an earlier step",
  });
}

export function invalid(errors: readonly FieldFault[]): AppError {
  return new AppError(
    "BAD_REQUEST",
    "invalid_arguments",
    `Input validation failed: ${errors.map(({ path, message }) => `${path} ${message}`).join("; ")}`,
    { errors, remedy: "correct the field and send it again" },
  );
}
