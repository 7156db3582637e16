import { RegoObject, RegoSet, compare, equal, isArray } from "../values/value.ts";
import type { Value } from "../values/value.ts";
import { ANY, BOOLEAN, anyOf, arrayOf, objectOf, setOf } from "../types/type.ts";
import { BuiltinError } from "./builtin.ts";
import type { Builtin, BuiltinContext } from "./builtin.ts";
import { arg, array, fn, object, orElse, wrongElement, wrongType } from "./operands.ts";
import type { Args } from "./operands.ts";

const OBJECT = objectOf(ANY, ANY);
const KEYS = anyOf(arrayOf(ANY), OBJECT, setOf(ANY));

/** What `value[key]` is, for every kind of value that can be indexed. */
export function lookup(value: Value, key: Value): Value | undefined {
  if (value instanceof RegoObject) return value.get(key);
  if (value instanceof RegoSet) return value.get(key);
  return isArray(value) && typeof key === "number" ? value[key] : undefined;
}

function get(args: Args): Value {
  const source = object(args, 1);
  const path = arg(args, 2);
  const fallback = arg(args, 3);
  if (!isArray(path)) return orElse(source.get(path), () => fallback);
  let found: Value | undefined = source;
  for (const key of path) {
    found = lookup(found, key);
    if (found === undefined) return fallback;
  }
  return found;
}

function keySet(args: Args): RegoSet {
  const value = arg(args, 2);
  if (isArray(value)) return RegoSet.of(value);
  if (value instanceof RegoSet) return value;
  if (value instanceof RegoObject) return RegoSet.of(value.keys());
  return wrongType(2, value, "object", "set", "array");
}

/** The right side wins; objects on both sides are merged. */
export function merge(a: RegoObject, b: RegoObject, ctx: BuiltinContext): RegoObject {
  const out = [...a.entries()];
  for (const [key, value] of b.entries()) {
    ctx.tick();
    const old = a.get(key);
    const both = old instanceof RegoObject && value instanceof RegoObject;
    out.push([key, both ? merge(old, value, ctx) : value]);
  }
  return RegoObject.of(out);
}

function unionN(args: Args, ctx: BuiltinContext): Value {
  const items = array(args, 1);
  return items
    .map((item) => (item instanceof RegoObject ? item : wrongElement(1, items, item, "object")))
    .reduce((all, next) => merge(all, next, ctx), RegoObject.EMPTY);
}

function objectSubset(whole: RegoObject, part: RegoObject, ctx: BuiltinContext): boolean {
  return part.entries().every(([key, value]) => {
    ctx.tick();
    const other = whole.get(key);
    if (other === undefined) return false;
    return equal(other, value) || (nested(other) && subset(other, value, ctx) === true);
  });
}

const nested = (value: Value): boolean =>
  value instanceof RegoObject || value instanceof RegoSet || isArray(value);

/** `part` as a run of neighbours inside `whole`. A mismatch starts again one element later. */
function arraySubset(
  whole: readonly Value[],
  part: readonly Value[],
  ctx: BuiltinContext,
): boolean {
  for (let start = 0; start + part.length <= whole.length; start++) {
    ctx.tick();
    if (part.every((item, i) => compare(whole[start + i] as Value, item) === 0)) return true;
  }
  return false;
}

function subset(whole: Value, part: Value, ctx: BuiltinContext): boolean | undefined {
  if (whole instanceof RegoObject && part instanceof RegoObject)
    return objectSubset(whole, part, ctx);
  if (whole instanceof RegoSet && part instanceof RegoSet)
    return part.items().every((item) => whole.has(item));
  if (isArray(whole) && isArray(part)) return arraySubset(whole, part, ctx);
  return undefined;
}

function subsetOf(args: Args, ctx: BuiltinContext): Value {
  const whole = arg(args, 1);
  const part = arg(args, 2);
  if (isArray(whole) && part instanceof RegoSet) {
    const present = RegoSet.of(whole);
    // OPA finds an empty set in an array only if the array has an element.
    return whole.length > 0 && part.items().every((item) => present.has(item));
  }
  const result = subset(whole, part, ctx);
  if (result === undefined) {
    throw new BuiltinError(
      "operand",
      "both arguments object.subset must be of the same type or array and set",
    );
  }
  return result;
}

export const OBJECTS: readonly Builtin[] = [
  fn("object.get", [OBJECT, ANY, ANY], ANY, get),
  fn("object.keys", [OBJECT], setOf(ANY), (a) => RegoSet.of(object(a, 1).keys())),
  fn("object.remove", [OBJECT, KEYS], OBJECT, (a) => {
    const source = object(a, 1);
    const keys = keySet(a);
    return RegoObject.of(source.entries().filter(([key]) => !keys.has(key)));
  }),
  fn("object.filter", [OBJECT, KEYS], OBJECT, (a) => {
    const source = object(a, 1);
    const keys = keySet(a);
    return RegoObject.of(source.entries().filter(([key]) => keys.has(key)));
  }),
  fn("object.union", [OBJECT, OBJECT], OBJECT, (a, ctx) => merge(object(a, 1), object(a, 2), ctx)),
  fn("object.union_n", [arrayOf(OBJECT)], OBJECT, unionN),
  fn("object.subset", [KEYS, KEYS], BOOLEAN, subsetOf),
];
