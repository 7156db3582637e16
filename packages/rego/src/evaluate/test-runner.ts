// Runs `test_` rules as `opa test` does: a test passes when its rule is defined and not false.
import { keyText } from "../values/json.ts";
import { pathText } from "../compile/rule-tree.ts";
import { RegoObject } from "../values/value.ts";
import type { EvaluateOptions, EvaluationError, Policy } from "./policy.ts";
import type { CoverageReport, Explanation } from "./explain.ts";
import type { Location, Rule } from "../syntax/ast.ts";
import type { RegoPowers } from "../builtins/builtin.ts";
import type { Value } from "../values/value.ts";

export type TestStatus = "passed" | "failed" | "errored" | "skipped";

export interface TestResult {
  /** The path of the package, such as data.ostiary.tools. */
  readonly package: string;
  readonly name: string;
  readonly location: Location;
  readonly status: TestStatus;
  readonly durationMs: number;
  /** Lines printed while it ran. */
  readonly output: readonly string[];
  readonly error?: EvaluationError;
  readonly explanation?: Explanation;
  readonly coverage?: CoverageReport;
}

export interface TestOptions extends Pick<
  EvaluateOptions,
  "powers" | "deadlineMs" | "maxSteps" | "coverage" | "strictBuiltinErrors"
> {
  /** Only tests whose full name matches. */
  readonly run?: RegExp;
}

const DEFAULT_DEADLINE_MS = 5_000;

/** Tests in the order of their files and lines; `todo_test_` rules are skipped. */
export function runTests(policy: Policy, options: TestOptions = {}): readonly TestResult[] {
  return [...eachTest(policy, options)].flat();
}

/** One test at a time, for callers that do other work in between. */
export function* eachTest(
  policy: Policy,
  options: TestOptions = {},
): Iterable<readonly TestResult[]> {
  for (const test of findTests(policy)) {
    if (options.run?.test(`${test.package}.${test.name}`) ?? true)
      yield runTest(policy, test, options);
  }
}

interface Test {
  readonly package: string;
  readonly name: string;
  readonly location: Location;
}

function findTests(policy: Policy): readonly Test[] {
  const tests = new Map<string, Test>();
  for (const module of policy.modules) {
    for (const rule of module.rules) {
      const name = ruleName(rule);
      if (!/^(?:todo_)?test_/.test(name) || rule.head.args) continue;
      const place = pathText(module.path);
      // A rule with several bodies is one test.
      const id = `${place}.${name}`;
      if (!tests.has(id)) tests.set(id, { package: place, name, location: rule.loc });
    }
  }
  return [...tests.values()];
}

function ruleName(rule: Rule): string {
  const [head] = rule.head.ref;
  return head?.kind === "var" ? head.name : "";
}

function runTest(policy: Policy, test: Test, options: TestOptions): readonly TestResult[] {
  if (test.name.startsWith("todo_")) {
    return [{ ...test, status: "skipped", durationMs: 0, output: [] }];
  }
  const output: string[] = [];
  const powers: RegoPowers = { ...options.powers, print: (line) => output.push(line) };
  const started = performance.now();
  const evaluation = policy.evaluate(`${test.package}.${test.name}`, {
    powers,
    deadlineMs: options.deadlineMs ?? DEFAULT_DEADLINE_MS,
    ...(options.maxSteps !== undefined && { maxSteps: options.maxSteps }),
    strictBuiltinErrors: options.strictBuiltinErrors === true,
    explain: true,
    coverage: options.coverage === true,
  });
  const durationMs = performance.now() - started;
  const { explanation, coverage } = evaluation;
  const common = { ...test, durationMs, output, ...(coverage && { coverage }) };
  if (!evaluation.ok) return [{ ...common, status: "errored", error: evaluation.error }];
  return caseResults(evaluation.value, test.name).map(({ name, passed }) => ({
    ...common,
    name,
    status: passed ? "passed" : "failed",
    ...(!passed && explanation && { explanation }),
  }));
}

/** `test_x[case] if ...` is a test with named cases; each must hold. */
function caseResults(
  value: Value | undefined,
  name: string,
): readonly { name: string; passed: boolean }[] {
  if (!(value instanceof RegoObject))
    return [{ name, passed: value !== undefined && value !== false }];
  if (value.size === 0) return [{ name, passed: false }];
  return value.entries().flatMap(([key, inner]) => caseResults(inner, `${name}/${keyText(key)}`));
}
