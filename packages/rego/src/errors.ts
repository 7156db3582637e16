// Errors of loading a policy are data with a position; errors of evaluating one are thrown.
import type { Location } from "./builtins/builtin.ts";

export type LoadErrorCode =
  | "rego_parse_error"
  | "rego_compile_error"
  | "rego_type_error"
  | "rego_unsafe_var_error"
  | "rego_recursion_error";

export interface LoadError extends Location {
  readonly code: LoadErrorCode;
  readonly message: string;
}

/** Carries one or more load errors out of the parser or compiler. */
export class LoadFailure extends Error {
  readonly errors: readonly LoadError[];

  constructor(errors: readonly LoadError[]) {
    super(errors.map(loadErrorText).join("\n"));
    this.name = "LoadFailure";
    this.errors = errors;
  }
}

export function loadErrorText(error: LoadError): string {
  return `${error.file}:${String(error.line)}: ${error.code}: ${error.message}`;
}

export function loadFailure(code: LoadErrorCode, at: Location, message: string): LoadFailure {
  return new LoadFailure([{ code, file: at.file, line: at.line, column: at.column, message }]);
}

export type EvalErrorCode =
  | "eval_conflict_error"
  | "eval_type_error"
  | "eval_builtin_error"
  | "eval_cancel_error"
  | "eval_with_merge_error"
  | "eval_internal_error";

export class EvalError extends Error {
  readonly code: EvalErrorCode;
  readonly location: Location | undefined;
  readonly detail: string;

  constructor(code: EvalErrorCode, detail: string, location?: Location) {
    const at = location ? `${location.file}:${String(location.line)}: ` : "";
    super(`${at}${code}: ${detail}`);
    this.name = "EvalError";
    this.code = code;
    this.detail = detail;
    this.location = location;
  }
}
