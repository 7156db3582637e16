// The entry for browsers: the same evaluator without the built-ins that need powers no browser grants
// (synchronous cryptography, requests) and without the groups (GraphQL, JSON Schema, X.509, templates),
// which would take the bundle over its size. A policy that uses them is refused when it is compiled.
import { PORTABLE_BUILTINS } from "./builtins/portable.ts";
import { compileSources } from "./compile/sources.ts";
import type { CompileOptions, CompileResult, Sources } from "./compile/sources.ts";

export { EvalError, LoadFailure, loadErrorText } from "./errors.ts";
export { explanationText } from "./evaluate/explain.ts";
export { Policy } from "./evaluate/policy.ts";
export { fromJson, toJson, toJsonText } from "./values/json.ts";
export { valueText } from "./values/text.ts";
export type { Builtin, RegoPowers } from "./builtins/builtin.ts";
export type { CompileOptions, CompileResult } from "./compile/sources.ts";
export type { EvalErrorCode, LoadError } from "./errors.ts";
export type { CoverageReport, Explanation, RuleVisit } from "./evaluate/explain.ts";
export type {
  EvaluateOptions,
  Evaluation,
  EvaluationError,
  PreparedQuery,
} from "./evaluate/policy.ts";
export type { Value } from "./values/value.ts";

/** As `compile` of the main entry. */
export function compile(sources: Sources, options: CompileOptions = {}): CompileResult {
  return compileSources(sources, PORTABLE_BUILTINS, options);
}
