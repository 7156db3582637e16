/**
 * Rego, OPA's policy language, from source and in process.
 *
 * @example
 * const compiled = compile({ "p.rego": "package p\nallow if input.user == \"root\"" });
 * if (compiled.ok) compiled.policy.evaluate("data.p.allow", { input: { user: "root" } });
 */
import { BUILTINS } from "./builtins/index.ts";
import { load } from "./load.ts";
import type { CompileOptions, CompileResult } from "./load.ts";

export { EvalError, LoadFailure, loadErrorText } from "./errors.ts";
export { explanationText } from "./explain.ts";
export { fromJson, toJson, toJsonText } from "./json.ts";
export { valueText } from "./text.ts";
export { Policy } from "./policy.ts";
export type { CompileOptions, CompileResult } from "./load.ts";
export type { RegoPowers, Builtin } from "./builtins/builtin.ts";
export type { LoadError, EvalErrorCode } from "./errors.ts";
export type { CoverageReport, Explanation, RuleVisit } from "./explain.ts";
export type { EvaluateOptions, Evaluation, EvaluationError, PreparedQuery } from "./policy.ts";
export type { Value } from "./value.ts";

/** Never throws on bad policies: any text yields a policy or a list of errors with positions. */
export function compile(
  modules: Readonly<Record<string, string>>,
  options: CompileOptions = {},
): CompileResult {
  return load(modules, BUILTINS, options);
}
