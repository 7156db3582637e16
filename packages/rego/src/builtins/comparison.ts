import { compare, equal } from "../values/value.ts";
import type { Value } from "../values/value.ts";
import { ANY, BOOLEAN } from "../types/type.ts";
import type { Builtin } from "./builtin.ts";
import { arg, fn } from "./operands.ts";

const operator = (name: string, infix: string, holds: (a: Value, b: Value) => boolean): Builtin =>
  fn(name, [ANY, ANY], BOOLEAN, (args) => holds(arg(args, 1), arg(args, 2)), { infix });

export const COMPARISON: readonly Builtin[] = [
  // Unification and assignment bind variables; the evaluator handles them before it calls anything.
  operator("eq", "=", equal),
  operator("assign", ":=", equal),
  operator("equal", "==", equal),
  operator("neq", "!=", (a, b) => !equal(a, b)),
  operator("lt", "<", (a, b) => compare(a, b) < 0),
  operator("lte", "<=", (a, b) => compare(a, b) <= 0),
  operator("gt", ">", (a, b) => compare(a, b) > 0),
  operator("gte", ">=", (a, b) => compare(a, b) >= 0),
];
