// OPA's test cases as data: reading them, running them, and comparing as OPA's own runner does.
import { readFileSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { parseDocument } from "yaml";
import { fromJson, load, toJsonText, type Evaluation, type Value } from "@ostiary/rego";
import { parseTermText, constantOf } from "@ostiary/rego/syntax";
import { RegoObject, RegoSet, compare, equal, isArray, keyText } from "@ostiary/rego/values";
import { regoPowers } from "./rego-powers.ts";

export interface Case {
  readonly note: string;
  readonly query: string;
  readonly modules?: readonly string[] | null;
  readonly data?: unknown;
  readonly input?: unknown;
  readonly input_term?: string;
  readonly want_result?: readonly Readonly<Record<string, unknown>>[] | null;
  readonly want_error_code?: string;
  readonly want_error?: string;
  readonly sort_bindings?: boolean;
  readonly strict_error?: boolean;
  readonly ignore_generated_vars?: boolean;
  readonly env?: Readonly<Record<string, string>>;
}

export interface Outcome {
  readonly note: string;
  readonly file: string;
  readonly status: "passed" | "failed" | "skipped";
  readonly reason: string;
}

export async function runFolder(folder: string): Promise<readonly Outcome[]> {
  const outcomes: Outcome[] = [];
  for (const file of caseFiles(folder))
    for (const each of readCases(file))
      outcomes.push({ file, note: each.note, ...(await runCase(each, file)) });
  return outcomes;
}

export function caseFiles(folder: string): string[] {
  if (statSync(folder).isFile()) return [folder];
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => /\.ya?ml$/.test(name))
    .sort()
    .map((name) => join(folder, name));
}

export function readCases(file: string): readonly Case[] {
  // Integers beyond 2^53 must stay exact.
  const document = parseDocument(readFileSync(file, "utf8"), { intAsBigInt: true });
  const parsed = document.toJS({ maxAliasCount: -1 }) as { cases?: readonly Case[] } | null;
  return parsed?.cases ?? [];
}

type Verdict = Pick<Outcome, "status" | "reason">;
const PASSED: Verdict = { status: "passed", reason: "" };

function failed(reason: string): Verdict {
  return { status: "failed", reason };
}

async function runCase(each: Case, file: string): Promise<Verdict> {
  try {
    return judge(each, await evaluateCase(each, file));
  } catch (error) {
    return failed(
      error instanceof Error ? (error.stack ?? error.message).slice(0, 600) : String(error),
    );
  }
}

async function evaluateCase(each: Case, file: string): Promise<Evaluation | string> {
  const sources = (each.modules ?? []).map(
    (source, i) => [`test-${String(i)}.rego`, source] as const,
  );
  // OPA keeps its v0 and v1 cases in folders of these names.
  const version = /[\\/]v0[\\/]/.test(file) ? "v0" : "v1";
  const compiled = await load(Object.fromEntries(sources), {
    version,
    queries: [each.query],
  });
  if (!compiled.ok) {
    return compiled.errors
      .map(({ code, line, message }) => `${String(line)}: ${code}: ${message}`)
      .join("; ");
  }
  const term =
    each.input_term === undefined ? undefined : constantOf(parseTermText(each.input_term));
  const input = term ?? each.input;
  return compiled.policy.withData(each.data ?? {}).evaluate(each.query, {
    ...(input !== undefined && { input }),
    strictBuiltinErrors: each.strict_error === true,
    powers: regoPowers(each.env ?? {}),
    deadlineMs: 20_000,
  });
}

function judge(each: Case, evaluation: Evaluation | string): Verdict {
  if (typeof evaluation === "string") return failed(`does not compile: ${evaluation}`);
  const { want_error: text, want_error_code: code } = each;
  if (!evaluation.ok) {
    const { error } = evaluation;
    if (code === undefined && text === undefined)
      return failed(`unexpected error: ${error.message}`);
    if (code !== undefined && code !== error.code)
      return failed(`want ${code}, got ${error.message}`);
    if (text !== undefined && !error.message.includes(text)) {
      return failed(`want error text "${text}", got "${error.message}"`);
    }
  } else if (code !== undefined || text !== undefined) {
    return failed(`want error ${code ?? ""} ${text ?? ""}, got ${solutionsText(each, evaluation)}`);
  }
  if (!each.want_result) return PASSED;
  const want = RegoSet.of(each.want_result.map((bindings) => normalize(fromJson(bindings))));
  const got = RegoSet.of(evaluation.ok ? solutionValues(each, evaluation) : []);
  if (equal(want, got)) return PASSED;
  return failed(
    `want ${toJsonText(want).slice(0, 700)}\n    got  ${toJsonText(got).slice(0, 700)}`,
  );
}

function solutionsText(each: Case, evaluation: Evaluation): string {
  return toJsonText(solutionValues(each, evaluation)).slice(0, 300);
}

function solutionValues(each: Case, evaluation: Evaluation): Value[] {
  if (!evaluation.ok) return [];
  return evaluation.solutions.map(({ bindings, locals }) => {
    const entries = [...bindings].filter(
      ([name]) => !(each.ignore_generated_vars === true && locals.has(name)),
    );
    return RegoObject.of(
      entries.map(([name, value]) => {
        const json = normalize(value);
        return [
          name,
          each.sort_bindings === true && isArray(json)
            ? json.toSorted((a, b) => compare(a, b))
            : json,
        ] as const;
      }),
    );
  });
}

/** As JSON has it: sets are arrays, keys are strings. Numbers stay exact, unlike in toJson. */
function normalize(value: Value): Value {
  if (value instanceof RegoSet) return value.items().map(normalize);
  if (isArray(value)) return value.map(normalize);
  if (!(value instanceof RegoObject)) return value;
  return RegoObject.of(
    value.entries().map(([key, item]) => [keyText(key), normalize(item)] as const),
  );
}
