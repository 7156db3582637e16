import { BOOLEAN, NULL, STRING, anyOf, arrayOf } from "../../types/type.ts";
import { isArray } from "../../values/value.ts";
import type { Value } from "../../values/value.ts";
import type { Builtin, BuiltinContext } from "../builtin.ts";
import { compileGlob } from "./glob-matcher.ts";
import { arg, fn, string, wrongElement, wrongType } from "../operands.ts";
import type { Args } from "../operands.ts";

/** null: no separator at all; an empty list: the dot. */
function separators(args: Args): readonly string[] {
  const value = arg(args, 2);
  if (value === null) return [];
  if (!isArray(value)) return wrongType(2, value, "array", "null");
  const chars = value.map((item) => {
    if (typeof item !== "string") return wrongElement(2, value, item, "string");
    return Array.from(item).length === 1 ? item : wrongElement(2, value, item, "rune");
  });
  return chars.length === 0 ? ["."] : chars;
}

function match(args: Args, ctx: BuiltinContext): Value {
  const pattern = string(args, 1);
  const cuts = separators(args);
  const text = string(args, 3);
  const glob = ctx.memo.get("glob", JSON.stringify([pattern, cuts]), () =>
    compileGlob(pattern, cuts),
  );
  return glob(text, ctx.tick);
}

export const GLOB: readonly Builtin[] = [
  fn("glob.match", [STRING, anyOf(NULL, arrayOf(STRING)), STRING], BOOLEAN, match),
  fn("glob.quote_meta", [STRING], STRING, (a) => string(a, 1).replace(/[*?\\[\]{}]/g, "\\$&")),
];
