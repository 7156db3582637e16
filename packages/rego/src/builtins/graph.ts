import { RegoObject, RegoSet, isArray, keyOf } from "../values/value.ts";
import type { Value } from "../values/value.ts";
import { ANY, anyOf, arrayOf, objectOf, setOf, tupleOf } from "../types/type.ts";
import type { Builtin, BuiltinContext } from "./builtin.ts";
import { arg, fail, fn, object, wrongType } from "./operands.ts";
import type { Args } from "./operands.ts";

const LIST = anyOf(arrayOf(ANY), setOf(ANY));
const GRAPH = objectOf(ANY, LIST);

function members(value: Value | undefined): readonly Value[] {
  if (value instanceof RegoSet) return value.items();
  return value !== undefined && isArray(value) ? value : [];
}

function initial(args: Args): readonly Value[] {
  const value = arg(args, 2);
  return isArray(value) || value instanceof RegoSet
    ? members(value)
    : wrongType(2, value, "{array, set}");
}

function reachable(args: Args, ctx: BuiltinContext): Value {
  const graph = object(args, 1);
  const open = [...initial(args)];
  const reached = new Map<unknown, Value>();
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    ctx.tick();
    const key = keyOf(node);
    const edges = graph.get(node);
    if (edges === undefined || reached.has(key)) continue;
    reached.set(key, node);
    open.push(...members(edges));
  }
  return RegoSet.of(reached.values());
}

/** The number of simple paths can grow exponentially. */
const MAX_PATHS = 100_000;

function reachablePaths(args: Args, ctx: BuiltinContext): Value {
  const graph = object(args, 1);
  const paths: Value[] = [];
  const add = (path: readonly Value[]): void => {
    if (paths.push(path) > MAX_PATHS) fail(`more than ${MAX_PATHS} paths`);
  };
  const seen = new Set<unknown>();
  const follow = (node: Value, path: readonly Value[]): void => {
    ctx.tick();
    const edges = graph.get(node);
    if (edges === undefined) return add(path);
    const longer = [...path, node];
    const next = members(edges);
    if (next.length === 0) return add(longer);
    const key = keyOf(node);
    seen.add(key);
    for (const neighbour of next) {
      if (seen.has(keyOf(neighbour))) add(longer);
      else follow(neighbour, longer);
    }
    seen.delete(key);
  };
  for (const node of initial(args)) {
    const edges = graph.get(node);
    if (edges === undefined) continue;
    const next = members(edges);
    if (next.length === 0) add([node]);
    seen.clear();
    seen.add(keyOf(node));
    for (const neighbour of next) {
      // A loop from a node to itself still starts a path, as in OPA.
      follow(neighbour, [node]);
      seen.add(keyOf(node));
    }
  }
  return RegoSet.of(paths);
}

/** Every value inside a value with its path, the value itself first. */
function* walk(value: Value, path: readonly Value[], ctx: BuiltinContext): Generator<Value> {
  ctx.tick();
  yield [path, value];
  if (value instanceof RegoObject) {
    for (const [key, item] of value.entries()) yield* walk(item, [...path, key], ctx);
  } else if (value instanceof RegoSet) {
    for (const item of value.items()) yield* walk(item, [...path, item], ctx);
  } else if (isArray(value)) {
    for (const [i, item] of value.entries()) yield* walk(item, [...path, i], ctx);
  }
}

export const GRAPH_BUILTINS: readonly Builtin[] = [
  fn("graph.reachable", [GRAPH, LIST], setOf(ANY), reachable),
  fn("graph.reachable_paths", [GRAPH, LIST], setOf(arrayOf(ANY)), reachablePaths),
  {
    name: "walk",
    args: [ANY],
    result: tupleOf(arrayOf(ANY), ANY),
    relation: true,
    runAll: (args, ctx) => walk(arg(args, 1), [], ctx),
  },
];
