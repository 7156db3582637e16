// Code for calls of built-ins and of functions that policies define.
import { BuiltinError } from "../builtins/builtin.ts";
import { EvalError } from "../errors.ts";
import { COMPARISONS } from "../values/comparisons.ts";
import { genGet, genMatch } from "./term.ts";
import { operatorName, stringPath } from "../syntax/terms.ts";
import { UNDEFINED } from "../evaluate/context.ts";
import { keyOf, Num } from "../values/value.ts";
import type { Builtin, FunctionBuiltin, Location, RelationBuiltin } from "../builtins/builtin.ts";
import type { Frame, Get, Match, Step } from "./code.ts";
import type { Context, Mock } from "../evaluate/context.ts";
import type { Gen } from "./generator.ts";
import type { RuleNode } from "../compile/rule-tree.ts";
import type { RefTerm, Term } from "../syntax/ast.ts";
import type { Value } from "../values/value.ts";

export function genCall(gen: Gen, op: RefTerm, args: readonly Term[], loc: Location): Step {
  const name = operatorName(op);
  const builtin = gen.program.builtins.get(name);
  const node =
    op.terms[0]?.kind === "var" && op.terms[0].name === "data"
      ? gen.program.tree.find(stringPath(op.terms.slice(1)) ?? [])
      : undefined;
  const arity = node ? node.arity : (builtin?.args.length ?? args.length);
  const inputs = args
    .slice(0, builtin?.variadic ? args.length : arity)
    .map((arg) => genGet(gen, arg));
  const output =
    args.length > inputs.length ? genMatch(gen, args[inputs.length] as Term) : undefined;
  if (node) return resultStep(mockable(name, inputs, genFunctionCall(node, inputs), loc), output);
  if (!builtin) throw new Error(`no function ${name}`);
  if (builtin.relation) return relationStep(builtin, inputs, output, loc);
  if (name === "internal.print") return printStep(builtin, inputs, loc);
  return resultStep(mockable(name, inputs, genBuiltinCall(builtin, inputs, loc), loc), output);
}

/** Without an output the call must not be false; with one it must match. */
function resultStep(get: Get, output: Match | undefined): Step {
  if (!output) {
    return {
      test: (c, f) => {
        const value = get(c, f);
        return value !== undefined && value !== false;
      },
    };
  }
  return {
    test: (c, f) => {
      const value = get(c, f);
      return value !== undefined && output(c, f, value);
    },
  };
}

function relationStep(
  builtin: RelationBuiltin,
  inputs: readonly Get[],
  output: Match | undefined,
  loc: Location,
): Step {
  return {
    each: (c, f, next) => {
      const args = values(c, f, inputs);
      if (!args) return false;
      for (const value of runAll(c, builtin, args, loc)) {
        c.session.tick();
        if ((output ? output(c, f, value) : value !== false) && next()) return true;
      }
      return false;
    },
  };
}

function runAll(
  c: Context,
  builtin: RelationBuiltin,
  args: readonly Value[],
  loc: Location,
): Iterable<Value> {
  const ctx = c.session.builtinContext;
  ctx.location = loc;
  try {
    return builtin.runAll(args, ctx);
  } catch (error) {
    failed(c, builtin, error, loc);
    return [];
  }
}

function printStep(builtin: FunctionBuiltin, inputs: readonly Get[], loc: Location): Step {
  return {
    test: (c, f) => {
      if (!c.session.powers.print) return true;
      const args = values(c, f, inputs);
      if (args) invoke(c, builtin, args, loc);
      return true;
    },
  };
}

function values(c: Context, f: Frame, gets: readonly Get[]): Value[] | undefined {
  const result: Value[] = [];
  for (const get of gets) {
    const value = get(c, f);
    if (value === undefined) return undefined;
    result.push(value);
  }
  return result;
}

function genBuiltinCall(builtin: FunctionBuiltin, inputs: readonly Get[], loc: Location): Get {
  const [a, b] = inputs;
  const holds = COMPARISONS[builtin.name];
  if (holds && a && b && inputs.length === 2) {
    return (c, f) => {
      const left = a(c, f);
      const right = b(c, f);
      return left === undefined || right === undefined ? undefined : holds(left, right);
    };
  }
  return (c, f) => {
    const args = values(c, f, inputs);
    return args && invoke(c, builtin, args, loc);
  };
}

export function invoke(
  c: Context,
  builtin: Builtin,
  args: readonly Value[],
  loc: Location,
): Value | undefined {
  if (builtin.relation) return undefined;
  const ctx = c.session.builtinContext;
  ctx.location = loc;
  c.session.tick();
  try {
    return builtin.run(args, ctx);
  } catch (error) {
    failed(c, builtin, error, loc);
    return undefined;
  }
}

/** A failed built-in makes its expression undefined; in strict mode the first one is the answer in the end. */
function failed(c: Context, builtin: Builtin, error: unknown, loc: Location): void {
  if (!(error instanceof BuiltinError)) throw error;
  if (error.kind !== "halt" && !c.session.strict) return;
  const code = error.kind === "operand" ? "eval_type_error" : "eval_builtin_error";
  const failure = new EvalError(code, `${builtin.name}: ${error.message}`, loc);
  if (error.kind === "halt") throw failure;
  c.session.failure ??= failure;
}

function genFunctionCall(node: RuleNode, inputs: readonly Get[]): Get {
  return (c, f) => {
    const args = values(c, f, inputs);
    return args && callFunction(c, node, args);
  };
}

/** Calls with the same arguments are worked out once. */
export function callFunction(
  c: Context,
  node: RuleNode,
  args: readonly Value[],
): Value | undefined {
  let cache = c.calls(node.id);
  const last = args.length - 1;
  for (let i = 0; i < last; i++) {
    const key = argumentKey(args[i] as Value);
    let inner = cache.get(key) as Map<unknown, unknown> | undefined;
    if (!inner) cache.set(key, (inner = new Map()));
    cache = inner;
  }
  const key = last < 0 ? "" : argumentKey(args[last] as Value);
  const known = cache.get(key);
  if (known !== undefined) return known === UNDEFINED ? undefined : (known as Value);
  const value = node.call(c, args);
  cache.set(key, value === undefined ? UNDEFINED : value);
  return value;
}

// Composites are compared by identity: hashing a large document costs more than it saves.
function argumentKey(value: Value): unknown {
  return typeof value === "object" && value !== null && !(value instanceof Num)
    ? value
    : keyOf(value);
}

/** Lets `with` replace the function. */
function mockable(name: string, inputs: readonly Get[], get: Get, loc: Location): Get {
  return (c, f) => {
    const mock = c.mocks?.get(name);
    return mock === undefined ? get(c, f) : callMock(c, f, mock, inputs, loc);
  };
}

function callMock(
  c: Context,
  f: Frame,
  mock: Mock,
  inputs: readonly Get[],
  loc: Location,
): Value | undefined {
  const args = values(c, f, inputs);
  if (!args) return undefined;
  if (mock.kind === "value") return mock.value;
  // The replacement itself sees the functions as they are.
  const plain = c.replace({ mocks: undefined });
  if (mock.kind === "builtin") return invoke(plain, mock.builtin, args, loc);
  return callFunction(plain, mock.node, args);
}
