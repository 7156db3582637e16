import {
  load,
  explanationText,
  LoadFailure,
  type Evaluation,
  type Explanation,
  type Policy,
  type PreparedQuery,
  type Value,
} from "@ostiary/rego";
import { parseQuery } from "@ostiary/rego/syntax";
import type { Cli } from "../cli.ts";
import { failed, type CliError } from "../client/fail.ts";
import { readDocument, readSources, readText } from "./files.ts";
import { powers, type ReadOptions } from "./reading.ts";
import { exactJson, placeText, plain, showLoadErrors } from "./show.ts";

export interface EvalOptions {
  readonly data: readonly string[];
  readonly input?: string;
  readonly explain?: boolean;
  readonly deadlineMs: number;
  readonly strictBuiltinErrors?: boolean;
}

interface Result {
  readonly value?: Value;
  readonly bindings: ReadonlyMap<string, Value>;
}

/** Stands for what the query itself yields; no variable of a user is called like this. */
const VALUE = "value__";

export async function evaluate(
  cli: Cli,
  query: string,
  options: EvalOptions & ReadOptions,
): Promise<void> {
  const { modules, data } = readSources(options.data);
  const compiled = await load(modules, { version: options.version, queries: [query] });
  if (!compiled.ok) return showLoadErrors(cli, compiled.errors, modules);
  const policy = compiled.policy.withData(data);
  let prepared: PreparedQuery;
  try {
    prepared = prepare(policy, query, options);
  } catch (cause) {
    if (!(cause instanceof LoadFailure)) throw cause;
    return showLoadErrors(cli, cause.errors, { query });
  }
  const evaluation = prepared.evaluate({
    ...(options.input !== undefined && { input: readInput(options.input) }),
    powers: powers((line) => cli.term.warn(plain(line))),
    deadlineMs: options.deadlineMs,
    strictBuiltinErrors: options.strictBuiltinErrors === true,
    explain: options.explain === true,
  });
  if (!evaluation.ok) throw evaluationFailed(evaluation.error);
  show(cli, query, resultsOf(evaluation), evaluation.explanation);
}

/** A query that is one expression has a value of its own; `x = 1; y = 2` has only the values of its variables. */
function prepare(policy: Policy, query: string, { version }: ReadOptions): PreparedQuery {
  const plainQuery = policy.prepare(query);
  const [only, ...more] = parseQuery("query", query, version);
  const kind = only?.node.kind;
  if (!only || more.length > 0 || only.negated || (kind !== "term" && kind !== "call"))
    return plainQuery;
  try {
    return policy.prepare(`${VALUE} := ${query}`);
  } catch (cause) {
    if (cause instanceof LoadFailure) return plainQuery; // yields nothing, such as print(…)
    throw cause;
  }
}

function readInput(source: string): Value {
  return source === "-"
    ? readDocument("standard input", readText(0))
    : readDocument(source, readText(source));
}

function resultsOf({ solutions }: Extract<Evaluation, { ok: true }>): Result[] {
  return solutions.map(({ bindings }) => {
    const value = bindings.get(VALUE);
    const others = new Map([...bindings].filter(([name]) => name !== VALUE));
    return { ...(value !== undefined && { value }), bindings: others };
  });
}

function show(
  cli: Cli,
  query: string,
  results: readonly Result[],
  explanation: Explanation | undefined,
): void {
  if (cli.flags.json) {
    return cli.term.printJson({
      query,
      results: results.map(({ value, bindings }) => ({
        ...(value !== undefined && { value: exactJson(value) }),
        bindings: Object.fromEntries([...bindings].map(([name, each]) => [name, exactJson(each)])),
      })),
      ...(explanation && { explanation: explanationJson(explanation) }),
    });
  }
  if (results.length === 0) cli.term.print("undefined");
  for (const { value, bindings } of results) {
    const names = [...bindings].map(
      ([name, each]) => `${name} = ${JSON.stringify(exactJson(each))}`,
    );
    const text = value === undefined ? [] : [JSON.stringify(exactJson(value), null, 2)];
    cli.term.print([...text, ...names].join("\n") || "true");
  }
  if (explanation) cli.term.print(`\n${explanationText(explanation)}`);
}

function explanationJson({ visits, notes }: Explanation): unknown {
  return {
    visits: visits.map(({ value, ...visit }) => ({
      ...visit,
      ...(value !== undefined && { value: exactJson(value) }),
    })),
    notes,
  };
}

function evaluationFailed(error: Extract<Evaluation, { ok: false }>["error"]): CliError {
  const at = error.location ? `${placeText(error.location)}: ` : "";
  const hasPlace = error.location && error.message.startsWith(`${error.location.file}:`);
  return failed(error.code, hasPlace ? error.message : `${at}${error.message}`);
}
