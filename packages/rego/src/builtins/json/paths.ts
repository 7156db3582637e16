// json.filter and json.remove: keeping and dropping what a list of paths names.
import { RegoObject, RegoSet, isArray, keyOf, typeName } from "../../values/value.ts";
import type { Value } from "../../values/value.ts";
import { ANY, STRING, anyOf, arrayOf, objectOf, setOf } from "../../types/type.ts";
import type { Builtin, BuiltinContext } from "../builtin.ts";
import { arg, badOperand, fn, object, wrongType } from "../operands.ts";
import type { Args } from "../operands.ts";

/** "/a/b" with ~0 and ~1, or a list of keys. */
export function parsePath(path: Value): readonly Value[] {
  if (isArray(path)) return path;
  if (typeof path !== "string") {
    return badOperand(
      2,
      `must be one of {set, array} containing string paths or array of path segments but got ${typeName(path)}`,
    );
  }
  if (path === "") return [];
  return path
    .replace(/^\/+/, "")
    .split("/")
    .map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"));
}

/** A tree of keys; a leaf names the whole value below it. */
class PathTree {
  readonly children = new Map<unknown, PathTree>();
  leaf = false;

  static of(paths: readonly (readonly Value[])[]): PathTree {
    const root = new PathTree();
    for (const path of paths) {
      if (path.length > 0) root.add(path);
    }
    return root;
  }

  private add([key, ...rest]: readonly Value[]): void {
    if (this.leaf) return;
    if (key === undefined) {
      this.leaf = true;
      this.children.clear();
      return;
    }
    const id = keyOf(key);
    const child = this.children.get(id) ?? new PathTree();
    this.children.set(id, child);
    child.add(rest);
  }

  get(key: Value): PathTree | undefined {
    return this.children.get(keyOf(key));
  }
}

function paths(args: Args): PathTree {
  const value = arg(args, 2);
  const items = isArray(value) ? value : value instanceof RegoSet ? value.items() : undefined;
  if (items === undefined) return wrongType(2, value, "set", "array");
  return PathTree.of(items.map(parsePath));
}

/** undefined: the value itself was removed. */
function remove(value: Value, tree: PathTree | undefined, ctx: BuiltinContext): Value | undefined {
  ctx.tick();
  if (tree === undefined) return value;
  if (tree.leaf) return undefined;
  const kept = (item: Value, key: Value): Value[] => {
    const rest = remove(item, tree.get(key), ctx);
    return rest === undefined ? [] : [rest];
  };
  if (value instanceof RegoObject) {
    return RegoObject.of(
      value.entries().flatMap(([key, item]) => kept(item, key).map((v) => [key, v] as const)),
    );
  }
  if (value instanceof RegoSet)
    return RegoSet.of(value.items().flatMap((item) => kept(item, item)));
  if (isArray(value)) return value.flatMap((item, i) => kept(item, i.toString()));
  return value;
}

/** Keeps what the tree names; scalars on the way are dropped with their key. */
function filter(value: Value, tree: PathTree, ctx: BuiltinContext): Value {
  ctx.tick();
  if (tree.leaf) return value;
  if (value instanceof RegoObject) {
    return RegoObject.of(
      value.entries().flatMap(([key, item]) => {
        const child = tree.get(key);
        return child === undefined ? [] : [[key, filter(item, child, ctx)] as const];
      }),
    );
  }
  if (value instanceof RegoSet) {
    return RegoSet.of(
      value.items().flatMap((item) => {
        const child = tree.get(item);
        return child === undefined ? [] : [filter(item, child, ctx)];
      }),
    );
  }
  if (isArray(value)) {
    return value.flatMap((item, i) => {
      const child = tree.get(i.toString());
      return child === undefined ? [] : [filter(item, child, ctx)];
    });
  }
  return value;
}

const OBJECT = objectOf(ANY, ANY);
const PATH = anyOf(STRING, arrayOf(ANY));
const PATHS = anyOf(arrayOf(PATH), setOf(PATH));

export const JSON_PATHS: readonly Builtin[] = [
  fn("json.filter", [OBJECT, PATHS], OBJECT, (a, ctx) => filter(object(a, 1), paths(a), ctx)),
  fn("json.remove", [OBJECT, PATHS], OBJECT, (a, ctx) => remove(object(a, 1), paths(a), ctx)),
];
