/**
 * Rego, OPA's policy language, from source and in process.
 *
 * @example
 * const loaded = await load({ "p.rego": "package p\nallow if input.user == \"root\"" });
 * if (loaded.ok) loaded.policy.evaluate("data.p.allow", { input: { user: "root" } });
 */
import { STANDARD_BUILTINS } from "./builtins/standard.ts";
import { compileSources } from "./compile/sources.ts";
import type { CompileOptions, CompileResult, Sources } from "./compile/sources.ts";

export { load } from "./compile/load.ts";
export { STANDARD_BUILTINS } from "./builtins/standard.ts";
export { BuiltinError } from "./builtins/builtin.ts";
export { EvalError, LoadFailure, loadErrorText } from "./errors.ts";
export { explanationText } from "./evaluate/explain.ts";
export { Policy } from "./evaluate/policy.ts";
export { fromJson, toJson, toJsonText } from "./values/json.ts";
export { valueText } from "./values/text.ts";
export type {
  Builtin,
  BuiltinContext,
  CryptoKeyInput,
  CryptoPower,
  PowerName,
  RegoPowers,
} from "./builtins/builtin.ts";
export type { LoadOptions } from "./compile/load.ts";
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

/**
 * Compiles at once, with the standard built-ins. GraphQL, JSON Schema, X.509 and templates are groups
 * of their own: `load` imports those a policy mentions, or pass them as `builtins`. Never throws on
 * bad policies: any text yields a policy or a list of errors with positions.
 */
export function compile(sources: Sources, options: CompileOptions = {}): CompileResult {
  return compileSources(sources, STANDARD_BUILTINS, options);
}
