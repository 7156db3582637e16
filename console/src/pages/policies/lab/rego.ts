// Policies compiled, tried and tested in the browser. What is in force is decided by the server alone.
import {
  compile,
  type CoverageReport,
  type Evaluation,
  type Explanation,
  fromJson,
  LoadFailure,
  type Policy,
  toJsonText,
  type Value,
  valueText,
} from "@ostiary/rego/browser";
import { DataFault, withDocument } from "@ostiary/rego/documents";
import { format } from "@ostiary/rego/format";
import { eachTest, type TestResult } from "@ostiary/rego/test-runner";
import { RegoObject, RegoSet } from "@ostiary/rego/values";
import type { FileFault, Files } from "../kinds.ts";

/** An evaluation blocks the page while it lasts. */
const BOUNDS = { deadlineMs: 250, maxSteps: 2_000_000 };
const TEST_BOUNDS = { deadlineMs: 1_000, maxSteps: 5_000_000 };
const MAX_VISITS = 200;
/** These need what no browser grants, or code that is not loaded here. */
const SERVER_ONLY =
  /^undefined function (?:crypto\.|io\.jwt\.|graphql\.|http\.send|net\.lookup|json\.(?:match|verify)_schema|strings\.render_template)/;

export interface Compiled {
  /** Null while the texts have errors. */
  readonly policy: Policy | null;
  /** Of the data files. */
  readonly data: RegoObject;
  readonly faults: readonly FileFault[];
  /** The only errors are functions that the server has and this page does not. */
  readonly needsServer: boolean;
}

export function compileDraft(files: Files): Compiled {
  const faults: FileFault[] = [];
  const modules: Record<string, string> = {};
  let data: RegoObject = RegoObject.EMPTY;
  for (const [file, text] of Object.entries(files)) {
    const atStart = (message: string): FileFault => ({ file, line: 1, column: 1, message });
    if (file.endsWith(".rego")) modules[file] = text;
    else if (!/\.(?:json|ya?ml)$/.test(file))
      faults.push(atStart("expected .rego, .json, .yaml or .yml"));
    else
      try {
        data = withDocument(data, file, file.split("/").slice(0, -1), text);
      } catch (cause) {
        if (!(cause instanceof DataFault)) throw cause;
        faults.push(atStart(cause.message));
      }
  }
  const compiled = compile(modules);
  if (compiled.ok) {
    const policy = faults.length === 0 ? compiled.policy.withData(data) : null;
    return { policy, data, faults, needsServer: false };
  }
  for (const { file, line, column, code, message } of compiled.errors) {
    const isOurs = !SERVER_ONLY.test(message);
    const text = isOurs
      ? `${code}: ${message}`
      : `${message.replace("undefined function ", "")} works on the server only: it cannot be tried or tested on this page`;
    faults.push({ file, line, column, message: text, ...(isOurs ? {} : { severity: "warning" }) });
  }
  const needsServer = faults.every(({ severity }) => severity === "warning");
  return { policy: null, data, faults, needsServer };
}

export interface Question {
  /** Of the rule that decides: `ostiary/tools/allow`. */
  readonly path: string;
  readonly tools: Readonly<Record<string, { readonly enabled: boolean }>>;
  readonly input: unknown;
}

export interface Visit {
  readonly rule: string;
  readonly depth: number;
  readonly file: string;
  readonly line: number;
  /** As text; absent: the rule does not hold. */
  readonly value?: string;
  /** The line that does not hold. */
  readonly failedAtLine?: number;
}

export interface Tried {
  /** Null: undefined, or neither true nor false; `error` or `answer` says what. */
  readonly allow: boolean | null;
  readonly answer: string;
  readonly reasons: readonly string[];
  /** Everything that the package says about this input. */
  readonly output: string;
  readonly error: string | null;
  readonly visits: readonly Visit[];
  readonly coverage: CoverageReport | null;
  readonly printed: readonly string[];
  readonly ms: number;
}

/** Asks as the gate does, and for everything else that the package says. */
export function tryInput(
  policy: Policy,
  given: RegoObject,
  { path, tools, input }: Question,
): Tried {
  const printed: string[] = [];
  const name = `data.${path.replaceAll("/", ".")}`;
  const inside = name.slice(0, name.lastIndexOf("."));
  const data = given.with("tools", fromJson(tools));
  const ask = (query: string): Evaluation =>
    policy.evaluate(query, {
      input,
      data,
      powers: { ...powers(), print: (line) => printed.push(line) },
      ...BOUNDS,
      explain: true,
      coverage: true,
    });
  const began = performance.now();
  const allow = ask(name);
  const ms = performance.now() - began;
  const reasons = ask(`${inside}.reasons`);
  const all = ask(inside);
  const answer = allow.ok ? allow.value : undefined;
  return {
    allow: typeof answer === "boolean" ? answer : null,
    answer: answer === undefined ? "undefined" : valueText(answer),
    reasons: reasons.ok ? sentences(reasons.value) : [],
    output: all.ok && all.value !== undefined ? indented(toJsonText(all.value)) : "undefined",
    error: allow.ok ? (all.ok ? null : all.error.message) : allow.error.message,
    visits: [...visitsOf(allow.explanation), ...visitsOf(reasons.explanation)].slice(0, MAX_VISITS),
    coverage: all.coverage ? withoutTests(all.coverage) : null,
    printed,
    ms,
  };
}

const powers = () => ({
  nowNs: () => BigInt(Date.now()) * 1_000_000n,
  randomBytes: (n: number) => crypto.getRandomValues(new Uint8Array(n)),
});

function sentences(value: Value | undefined): readonly string[] {
  const items = value instanceof RegoSet ? value.items() : Array.isArray(value) ? value : [];
  return items.map((item: Value) => (typeof item === "string" ? item : valueText(item)));
}

const indented = (json: string): string => JSON.stringify(JSON.parse(json), null, 2);

function visitsOf(explanation: Explanation | undefined): Visit[] {
  return (explanation?.visits ?? []).map(({ rule, depth, location, value, failedAt }) => ({
    rule,
    depth,
    file: location.file,
    line: location.line,
    ...(value === undefined ? {} : { value: valueText(value) }),
    ...(failedAt === undefined ? {} : { failedAtLine: failedAt.line }),
  }));
}

export interface TestRun {
  readonly results: readonly TestResult[];
  readonly passed: number;
  readonly failed: number;
  readonly coverage: CoverageReport | null;
}

/** The page goes on between two tests. */
export async function runTests(policy: Policy, signal: AbortSignal): Promise<TestRun> {
  const results: TestResult[] = [];
  const options = { powers: powers(), ...TEST_BOUNDS, coverage: true };
  for (const some of eachTest(policy, options)) {
    results.push(...some);
    await new Promise((resolve) => setTimeout(resolve, 0));
    signal.throwIfAborted();
  }
  const count = (...states: TestResult["status"][]): number =>
    results.filter(({ status }) => states.includes(status)).length;
  return {
    results,
    passed: count("passed"),
    failed: count("failed", "errored"),
    coverage: merged(results.flatMap(({ coverage }) => (coverage ? [coverage] : []))),
  };
}

/** One input says nothing about tests. */
function withoutTests({ files }: CoverageReport): CoverageReport {
  const kept = Object.entries(files).filter(([file]) => !file.endsWith("_test.rego"));
  return reportOf(kept);
}

/** A line is covered when one of them covers it. */
function merged(reports: readonly CoverageReport[]): CoverageReport | null {
  if (reports.length === 0) return null;
  const hit = new Map<string, Set<number>>();
  const all = new Map<string, Set<number>>();
  const within = (map: Map<string, Set<number>>, file: string): Set<number> => {
    const lines = map.get(file) ?? new Set<number>();
    map.set(file, lines);
    return lines;
  };
  for (const { files } of reports)
    for (const [file, { covered, notCovered }] of Object.entries(files)) {
      for (const line of covered) within(hit, file).add(line);
      for (const line of [...covered, ...notCovered]) within(all, file).add(line);
    }
  return reportOf(
    [...all].map(([file, lines]) => {
      const sorted = [...lines].sort((a, b) => a - b);
      const isHit = (line: number): boolean => hit.get(file)?.has(line) ?? false;
      const notCovered = sorted.filter((line) => !isHit(line));
      return [file, { covered: sorted.filter(isHit), notCovered }];
    }),
  );
}

function reportOf(
  entries: readonly (readonly [string, CoverageReport["files"][string]])[],
): CoverageReport {
  const hits = entries.reduce((sum, [, { covered }]) => sum + covered.length, 0);
  const missed = entries.reduce((sum, [, { notCovered }]) => sum + notCovered.length, 0);
  const percent = hits + missed === 0 ? 100 : (hits / (hits + missed)) * 100;
  return { files: Object.fromEntries(entries), percent };
}

/** The canonical layout; a text that does not parse stays as it is, with its faults. */
export function formatted(
  file: string,
  text: string,
): { readonly text: string } | { readonly faults: readonly FileFault[] } {
  try {
    return { text: format(file, text) };
  } catch (cause) {
    if (!(cause instanceof LoadFailure)) throw cause;
    return {
      faults: cause.errors.map(({ line, column, message }) => ({ file, line, column, message })),
    };
  }
}
