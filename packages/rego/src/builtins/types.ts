import { typeName } from "../values/value.ts";
import type { TypeName } from "../values/value.ts";
import { ANY, BOOLEAN, STRING } from "../types/type.ts";
import type { Builtin } from "./builtin.ts";
import { arg, fn } from "./operands.ts";

const is = (kind: TypeName): Builtin =>
  fn(`is_${kind}`, [ANY], BOOLEAN, (a) => typeName(arg(a, 1)) === kind);

export const TYPES: readonly Builtin[] = [
  is("array"),
  is("boolean"),
  is("null"),
  is("number"),
  is("object"),
  is("set"),
  is("string"),
  fn("type_name", [ANY], STRING, (a) => typeName(arg(a, 1))),
];
