// The entry for browsers: the same evaluator without the built-ins that need powers no browser grants
// (synchronous cryptography, requests) and without GraphQL and JSON Schema, which
// would take the bundle over its size.
// A policy that uses them is refused when it is loaded.
import { AGGREGATES } from "./builtins/aggregates.ts";
import { ARRAYS } from "./builtins/arrays.ts";
import { BITS } from "./builtins/bits.ts";
import { COMPARISON } from "./builtins/comparison.ts";
import { CONVERSIONS } from "./builtins/conversions.ts";
import { ENCODING } from "./builtins/encoding.ts";
import { GLOB } from "./builtins/glob.ts";
import { GRAPH_BUILTINS } from "./builtins/graph.ts";
import { JSON_PATCH } from "./builtins/json-patch.ts";
import { JSON_PATHS } from "./builtins/json-paths.ts";
import { JSON_BUILTINS } from "./builtins/json.ts";
import { NET } from "./builtins/net.ts";
import { NUMBERS } from "./builtins/numbers.ts";
import { OBJECTS } from "./builtins/objects.ts";
import { OUTPUT } from "./builtins/output.ts";
import { REGEX } from "./builtins/regex.ts";
import { SEMVER } from "./builtins/semver.ts";
import { SETS } from "./builtins/sets.ts";
import { STRINGS } from "./builtins/strings.ts";
import { TIME } from "./builtins/time.ts";
import { TYPES } from "./builtins/types.ts";
import { UNITS } from "./builtins/units.ts";
import { UUID } from "./builtins/uuid.ts";
import { load } from "./load.ts";
import type { Builtin } from "./builtins/builtin.ts";
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

const BROWSER_BUILTINS: readonly Builtin[] = [
  ...COMPARISON,
  ...NUMBERS,
  ...AGGREGATES,
  ...ARRAYS,
  ...SETS,
  ...OBJECTS,
  ...STRINGS,
  ...REGEX,
  ...GLOB,
  ...UNITS,
  ...BITS,
  ...TYPES,
  ...CONVERSIONS,
  ...ENCODING,
  ...JSON_BUILTINS,
  ...JSON_PATHS,
  ...JSON_PATCH,
  ...TIME,
  ...UUID,
  ...SEMVER,
  ...NET,
  ...GRAPH_BUILTINS,
  ...OUTPUT,
];

/** As compile of the whole package. */
export function compile(
  modules: Readonly<Record<string, string>>,
  options: CompileOptions = {},
): CompileResult {
  return load(modules, BROWSER_BUILTINS, options);
}
