import { RegoSet } from "../values/value.ts";
import type { Value } from "../values/value.ts";
import { ANY, setOf } from "../types/type.ts";
import type { Builtin, BuiltinContext } from "./builtin.ts";
import { fn, set, wrongType } from "./operands.ts";
import type { Args } from "./operands.ts";

const SET = setOf(ANY);

export function intersect(a: RegoSet, b: RegoSet): RegoSet {
  const [small, large] = a.size <= b.size ? [a, b] : [b, a];
  return RegoSet.of(small.items().filter((item) => large.has(item)));
}

const asSet = (item: Value): RegoSet =>
  item instanceof RegoSet ? item : wrongType(1, item, "set");

function intersection(args: Args, ctx: BuiltinContext): Value {
  let result: RegoSet | undefined;
  for (const item of set(args, 1).items()) {
    const next = asSet(item);
    ctx.tick(next.size);
    result = result === undefined ? next : intersect(result, next);
  }
  return result ?? RegoSet.EMPTY;
}

function union(args: Args, ctx: BuiltinContext): Value {
  const members = set(args, 1)
    .items()
    .flatMap((item) => asSet(item).items());
  ctx.tick(members.length);
  return RegoSet.of(members);
}

export const SETS: readonly Builtin[] = [
  fn("and", [SET, SET], SET, (a) => intersect(set(a, 1), set(a, 2)), { infix: "&" }),
  fn("or", [SET, SET], SET, (a) => RegoSet.of([...set(a, 1).items(), ...set(a, 2).items()]), {
    infix: "|",
  }),
  fn("intersection", [setOf(SET)], SET, intersection),
  fn("union", [setOf(SET)], SET, union),
];
