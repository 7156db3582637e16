// Queries: compiled like rule bodies; every solution gives the values of the query's variables.
import { checkCalls, checkWiths } from "../check/calls.ts";
import { checkBodyTypes } from "../check/types.ts";
import { functionTest } from "./compile.ts";
import { eachSolution } from "../generate/code.ts";
import { flattenBody } from "./flatten.ts";
import { LoadFailure } from "../errors.ts";
import { expandBody } from "./expand.ts";
import { Gen } from "../generate/generator.ts";
import { genBody } from "../generate/body.ts";
import { genRef } from "../generate/reference.ts";
import { Scope, writtenName } from "./names.ts";
import { parseQuery } from "../parse/module.ts";
import { resolveBody } from "./resolve.ts";
import { orderBody } from "../check/safety.ts";
import { isWildcard } from "../syntax/terms.ts";
import { TypeEnv } from "../types/environment.ts";
import { bodyVars, termVars } from "../syntax/variables.ts";
import type { Compiled } from "./compile.ts";
import type { Context } from "../evaluate/context.ts";
import type { LoadError } from "../errors.ts";
import type { Program } from "../generate/generator.ts";
import type { Body, RegoVersion } from "../syntax/ast.ts";
import type { Value } from "../values/value.ts";

/** One solution: the variables as written. Those made by `:=` or `some` are marked local. */
export interface Solution {
  readonly bindings: ReadonlyMap<string, Value>;
  readonly locals: ReadonlySet<string>;
}

export type RunQuery = (c: Context, found: (solution: Solution) => void) => void;
export type RunValue = (c: Context) => Value | undefined;

export interface QueryCode {
  readonly run: RunQuery;
  /** Set when the query is a single reference without variables: its value is the answer. */
  readonly value: RunValue | undefined;
}

export function compileQuery(
  compiled: Compiled,
  program: Program,
  source: string,
  version: RegoVersion,
): QueryCode {
  const { names, arity } = compiled;
  const scope = new Scope(
    names,
    new Map(),
    (name) => program.builtins.has(name),
    functionTest(program.tree),
  );
  const parsed = parseQuery("query", source, version);
  const body = expandBody(names, resolveBody(scope, parsed));
  const errors: LoadError[] = [];
  checkCalls(body, arity, program.builtins, errors);
  checkWiths(body, program.tree, program.builtins, errors);
  if (errors.length === 0) {
    const ordered = orderBody({ arity, errors }, new Set(), body);
    const flat = flattenBody(names, ordered);
    if (errors.length === 0)
      checkBodyTypes(new TypeEnv(compiled.program.tree, program.builtins), flat, errors);
    if (errors.length === 0) return generateQuery(program, flat);
  }
  throw new LoadFailure(errors);
}

function generateQuery(program: Program, body: Body): QueryCode {
  const value = singleValue(program, body);
  const gen = new Gen(program);
  const code = genBody(gen, body);
  const variables = queryVariables(body).map(({ name, isLocal }) => ({
    written: writtenName(name),
    slot: gen.slot(name),
    isLocal,
  }));
  const locals = new Set(variables.filter((each) => each.isLocal).map((each) => each.written));
  const run: RunQuery = (c, found) => {
    const f = new Array<Value | undefined>(gen.slots.size);
    eachSolution(code, c, f, () => {
      const bindings = new Map(variables.map(({ written, slot }) => [written, f[slot] as Value]));
      found({ bindings, locals });
      return false;
    });
  };
  return { run, value };
}

function queryVariables(body: Body): { name: string; isLocal: boolean }[] {
  const names = new Set<string>();
  bodyVars(body, (name) => {
    if (!isWildcard(name) && !name.startsWith("#")) names.add(name);
  });
  return [...names].map((name) => ({ name, isLocal: name.includes("#") }));
}

/** `data.a.b` is asked so often that it skips the machinery of solutions. */
function singleValue(program: Program, body: Body): RunValue | undefined {
  const [only] = body;
  if (body.length !== 1 || !only || only.negated || only.withs.length > 0) return undefined;
  if (only.node.kind !== "term" || only.node.term.kind !== "ref") return undefined;
  let hasVariables = false;
  termVars(only.node.term, () => (hasVariables = true));
  if (hasVariables) return undefined;
  const { get } = genRef(new Gen(program), only.node.term);
  const empty: (Value | undefined)[] = [];
  return get && ((c) => get(c, empty));
}
