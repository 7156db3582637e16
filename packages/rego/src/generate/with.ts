// Code for `with`: the expression runs in a context where input, data or functions are replaced.
import { eachSolution } from "./code.ts";
import { EvalError } from "../errors.ts";
import { genValues } from "./unify.ts";
import { operatorName, stringPath } from "../syntax/terms.ts";
import { RegoObject } from "../values/value.ts";
import type { Frame, Get, Step } from "./code.ts";
import type { Context, ContextParts, Mock, Shadow } from "../evaluate/context.ts";
import type { Gen } from "./generator.ts";
import type { Term, With } from "../syntax/ast.ts";
import type { Value } from "../values/value.ts";

/** Undefined when the replacement is undefined. */
type Change = (c: Context, f: Frame, parts: ContextParts) => ContextParts | undefined;

export function genWith(gen: Gen, withs: readonly With[], make: () => Step): Step {
  if (withs.length === 0) return make();
  const changes = withs.map((item) => genChange(gen, item));
  const inner = make();
  const derive = (c: Context, f: Frame): Context | undefined => {
    let parts: ContextParts | undefined = c;
    for (const change of changes) {
      parts = change(c, f, parts);
      if (!parts) return undefined;
    }
    const { input, data, shadow, mocks } = parts;
    return c.replace({ input, data, shadow, mocks });
  };
  const { test } = inner;
  if (test) {
    return {
      test: (c, f) => {
        const changed = derive(c, f);
        return changed !== undefined && test(changed, f);
      },
    };
  }
  return {
    each: (c, f, next) => {
      const changed = derive(c, f);
      return changed !== undefined && eachSolution(inner, changed, f, next);
    },
  };
}

function genChange(gen: Gen, item: With): Change {
  const { target } = item;
  const [head, ...rest] = target.terms;
  const root = head?.kind === "var" ? head.name : "";
  const path = stringPath(rest);
  const mock = genMock(gen, item, root, path);
  if (mock) return mock;
  const value = genReplacement(gen, item.value);
  const keys = rest.map((term) => genReplacement(gen, term));
  if (root === "input") {
    return withValue(value, keys, (parts, at, replacement) => ({
      ...parts,
      input: setPath(parts.input, at, replacement),
    }));
  }
  return withValue(value, keys, (parts, at, replacement) => {
    const data = setPath(parts.data, at, replacement);
    if (!(data instanceof RegoObject)) {
      throw new EvalError("eval_conflict_error", "data must be an object", item.loc);
    }
    const names = at.map((key) => (typeof key === "string" ? key : ""));
    return { ...parts, data, shadow: addShadow(parts.shadow, names) };
  });
}

function genReplacement(gen: Gen, term: Term): Get {
  const values = genValues(gen, term);
  return values.get ?? (() => undefined);
}

type Apply = (parts: ContextParts, path: readonly Value[], value: Value) => ContextParts;

function withValue(get: Get, keys: readonly Get[], apply: Apply): Change {
  return (c, f, parts) => {
    const value = get(c, f);
    if (value === undefined) return undefined;
    const path = keys.map((key) => key(c, f) as Value);
    return apply(parts, path, value);
  };
}

/** A copy of a document with one path set; what is missing on the way is made. */
function setPath(document: Value | undefined, path: readonly Value[], value: Value): Value {
  const [key, ...rest] = path;
  if (key === undefined) return value;
  const object = document instanceof RegoObject ? document : RegoObject.EMPTY;
  return object.with(key, setPath(object.get(key), rest, value));
}

function addShadow(shadow: Shadow | undefined, path: readonly string[]): Shadow {
  const [name, ...rest] = path;
  const children = new Map(shadow?.children ?? []);
  if (name === undefined) return { replaced: true, children };
  children.set(name, addShadow(children.get(name), rest));
  return { replaced: shadow?.replaced === true, children };
}

/** The target is a function: what it is replaced with is another function or a value. */
function genMock(
  gen: Gen,
  item: With,
  root: string,
  path: string[] | undefined,
): Change | undefined {
  const name = operatorName(item.target);
  const { tree, builtins } = gen.program;
  const isFunction =
    root === "data"
      ? path && tree.find(path)?.kind === "function"
      : root !== "input" && builtins.has(name);
  if (!isFunction) return undefined;
  const fixed = functionNamed(gen, item);
  if (fixed) return (_c, _f, parts) => ({ ...parts, mocks: setMock(parts.mocks, name, fixed) });
  const get = genReplacement(gen, item.value);
  return (c, f, parts) => {
    const value = get(c, f);
    if (value === undefined) return undefined;
    return { ...parts, mocks: setMock(parts.mocks, name, { kind: "value", value }) };
  };
}

function setMock(
  mocks: ReadonlyMap<string, Mock> | undefined,
  name: string,
  mock: Mock,
): Map<string, Mock> {
  return new Map(mocks ?? []).set(name, mock);
}

/** The function a replacement names, if it names one. */
function functionNamed(gen: Gen, item: With): Mock | undefined {
  const { tree, builtins } = gen.program;
  const builtin = item.builtin === undefined ? undefined : builtins.get(item.builtin);
  if (builtin) return { kind: "builtin", builtin };
  if (item.value.kind !== "ref") return undefined;
  const [head, ...rest] = item.value.terms;
  const path = head?.kind === "var" && head.name === "data" ? stringPath(rest) : undefined;
  const node = path && tree.find(path);
  return node?.kind === "function" ? { kind: "function", node } : undefined;
}
