import { numberText, parseNumber } from "../values/number.ts";
import { RegoSet, isArray, isNumber, typeName } from "../values/value.ts";
import type { TypeName, Value } from "../values/value.ts";
import {
  ANY,
  BOOLEAN,
  NULL,
  NUMBER,
  STRING,
  anyOf,
  arrayOf,
  objectOf,
  setOf,
} from "../types/type.ts";
import type { Type } from "../types/type.ts";
import { exactInteger, parseBigFloat, toBigInt } from "../go/float.ts";
import { quoteGo } from "../go/quote.ts";
import { floatSyntaxError } from "../go/strconv.ts";
import type { Builtin } from "./builtin.ts";
import { arg, badOperand, fail, fn, number, wrongType } from "./operands.ts";
import type { Args } from "./operands.ts";

function toNumber(args: Args): Value {
  const value = arg(args, 1);
  if (value === null || value === false) return 0;
  if (value === true) return 1;
  if (isNumber(value)) return value;
  if (typeof value !== "string") {
    return wrongType(1, value, "null", "boolean", "number", "string");
  }
  if (/^[+-]*(?:inf|infinity|nan)$/i.test(value)) {
    return wrongType(1, value, "valid number string");
  }
  const problem = floatSyntaxError(value);
  if (problem !== undefined)
    return fail(`strconv.ParseFloat: parsing ${quoteGo(value)}: ${problem}`);
  return parseNumber(canonical(value)) ?? fail(`illegal number ${value}`);
}

/** "+1", ".5", "1." and "007" are numbers to Go but not to JSON. */
function canonical(text: string): string {
  if (/^[+-]?0[xX]/.test(text)) return String(hexFloat(text));
  return text
    .replace(/^\+/, "")
    .replace(/^(-?)\./, "$10.")
    .replace(/\.(?=[eE]|$)/, "")
    .replace(/^(-?)0+(?=\d)/, "$1");
}

function hexFloat(text: string): number {
  const m = /^([+-]?)0[xX]([0-9a-fA-F]*)\.?([0-9a-fA-F]*)[pP]([+-]?\d+)$/.exec(text);
  if (m === null) return 0;
  const mant = Number(BigInt(`0x${m[2] ?? ""}${m[3] ?? ""}`));
  const value = mant * 2 ** (Number(m[4]) - (m[3] ?? "").length * 4);
  return m[1] === "-" ? -value : value;
}

const RADIX: Readonly<Record<string, number>> = { "2": 2, "8": 8, "10": 10, "16": 16 };

function formatInt(args: Args): Value {
  const input = numberText(number(args, 1));
  const radix = RADIX[numberText(number(args, 2))];
  if (radix === undefined) return badOperand(2, "must be one of {2, 8, 10, 16}");
  if (/^-?\d+$/.test(input)) return (exactInteger(input) ?? 0n).toString(radix);
  const parsed = parseBigFloat(input);
  return parsed === undefined
    ? fail("number exponent too large")
    : toBigInt(parsed).toString(radix);
}

const cast = (kind: TypeName, type: Type): Builtin =>
  fn(
    `cast_${kind}`,
    [ANY],
    type,
    (a) => (typeName(arg(a, 1)) === kind ? arg(a, 1) : wrongType(1, arg(a, 1), kind)),
    { deprecated: true },
  );

export const CONVERSIONS: readonly Builtin[] = [
  fn("to_number", [anyOf(NULL, BOOLEAN, NUMBER, STRING)], NUMBER, toNumber),
  fn("format_int", [NUMBER, NUMBER], STRING, formatInt),
  fn(
    "cast_array",
    [ANY],
    arrayOf(ANY),
    (a) => {
      const value = arg(a, 1);
      return value instanceof RegoSet
        ? value.items()
        : isArray(value)
          ? value
          : wrongType(1, value, "array", "set");
    },
    { deprecated: true },
  ),
  fn(
    "cast_set",
    [ANY],
    setOf(ANY),
    (a) => {
      const value = arg(a, 1);
      return isArray(value)
        ? RegoSet.of(value)
        : value instanceof RegoSet
          ? value
          : wrongType(1, value, "array", "set");
    },
    { deprecated: true },
  ),
  cast("string", STRING),
  cast("boolean", BOOLEAN),
  cast("null", NULL),
  cast("object", objectOf(ANY, ANY)),
];
