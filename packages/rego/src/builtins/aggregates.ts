import { RegoObject, RegoSet, compare, equal, isArray, isNumber } from "../values/value.ts";
import type { NumberValue, Value } from "../values/value.ts";
import { ANY, BOOLEAN, NUMBER, STRING, anyOf, arrayOf, objectOf, setOf } from "../types/type.ts";
import type { Builtin, BuiltinContext } from "./builtin.ts";
import { product, sum } from "./numbers.ts";
import { arg, fn, list, wrongElement, wrongType } from "./operands.ts";
import type { Args } from "./operands.ts";

const LIST = anyOf(arrayOf(ANY), setOf(ANY));
const NUMBER_LIST = anyOf(arrayOf(NUMBER), setOf(NUMBER));
const COUNTABLE = anyOf(STRING, arrayOf(ANY), objectOf(ANY, ANY), setOf(ANY));

/** Number of code points; a byte that is no text counts as one. */
export function runeCount(text: string): number {
  let count = text.length;
  for (let i = 0; i < text.length - 1; i++) {
    const unit = text.charCodeAt(i);
    if (unit < 0xd800 || unit > 0xdbff) continue;
    const next = text.charCodeAt(i + 1);
    if (next >= 0xdc00 && next <= 0xdfff) {
      count--;
      i++;
    }
  }
  return count;
}

function count(args: Args): Value {
  const value = arg(args, 1);
  if (typeof value === "string") return runeCount(value);
  if (isArray(value)) return value.length;
  if (value instanceof RegoObject || value instanceof RegoSet) return value.size;
  return wrongType(1, value, "array", "object", "set", "string");
}

function fold(
  args: Args,
  ctx: BuiltinContext,
  op: (numbers: readonly NumberValue[], tick: () => void) => NumberValue,
): Value {
  const whole = arg(args, 1);
  const numbers = list(args, 1, "set", "array").map((item) =>
    isNumber(item) ? item : wrongElement(1, whole, item, "number"),
  );
  return op(numbers, ctx.tick);
}

function extreme(args: Args, wanted: 1 | -1): Value | undefined {
  const items = list(args, 1, "set", "array");
  let best = items[0];
  for (const item of items) {
    if (best !== undefined && compare(item, best) * wanted >= 0) best = item;
  }
  return best;
}

function member(item: Value, whole: Value, ctx: BuiltinContext): boolean {
  if (whole instanceof RegoSet) return whole.has(item);
  const items = isArray(whole) ? whole : whole instanceof RegoObject ? whole.values() : [];
  ctx.tick(items.length);
  return items.some((other) => equal(item, other));
}

function memberWithKey(key: Value, item: Value, whole: Value): boolean {
  if (whole instanceof RegoSet) return whole.has(key) && equal(key, item);
  if (whole instanceof RegoObject) {
    const found = whole.get(key);
    return found !== undefined && equal(found, item);
  }
  if (!isArray(whole) || typeof key !== "number") return false;
  const found = whole[key];
  return found !== undefined && equal(found, item);
}

export const AGGREGATES: readonly Builtin[] = [
  fn("count", [COUNTABLE], NUMBER, count),
  fn("sum", [NUMBER_LIST], NUMBER, (a, ctx) => fold(a, ctx, sum)),
  fn("product", [NUMBER_LIST], NUMBER, (a, ctx) => fold(a, ctx, product)),
  fn("max", [LIST], ANY, (a) => extreme(a, 1)),
  fn("min", [LIST], ANY, (a) => extreme(a, -1)),
  fn("sort", [LIST], arrayOf(ANY), (a) =>
    [...list(a, 1, "set", "array")].sort((x, y) => compare(x, y)),
  ),
  fn("all", [LIST], BOOLEAN, (a) => list(a, 1, "array", "set").every((x) => x === true), {
    deprecated: true,
  }),
  fn("any", [LIST], BOOLEAN, (a) => list(a, 1, "array", "set").includes(true), {
    deprecated: true,
  }),
  fn("internal.member_2", [ANY, ANY], BOOLEAN, (a, ctx) => member(arg(a, 1), arg(a, 2), ctx), {
    infix: "in",
  }),
  fn(
    "internal.member_3",
    [ANY, ANY, ANY],
    BOOLEAN,
    (a) => memberWithKey(arg(a, 1), arg(a, 2), arg(a, 3)),
    { infix: "in" },
  ),
];
