import { numberFromBigInt, parseNumber } from "../values/number.ts";
import type { Value } from "../values/value.ts";
import { NUMBER, STRING } from "../types/type.ts";
import * as float from "../go/float.ts";
import type { Builtin } from "./builtin.ts";
import { fail, fn, string } from "./operands.ts";
import type { Args } from "./operands.ts";

const MAX_EXPONENT_DIGITS = 6;
const isDigit = (char: string): boolean => char >= "0" && char <= "9";

// OPA repeats the name of the built-in inside these messages.

/** Splits "1.5e3Ki" into amount and unit; an exponent needs a digit or sign after the e. */
function splitAmount(text: string, name: string): readonly [amount: string, unit: string] {
  let i = 0;
  for (; i < text.length; i++) {
    const char = text.charAt(i);
    if (char !== "e" && char !== "E") {
      if (!isDigit(char) && !".+-".includes(char)) break;
      continue;
    }
    const next = text.charAt(i + 1);
    if (next === "" || !(isDigit(next) || "+-".includes(next))) break;
    if (next === "+" || next === "-") i++;
    let digits = 0;
    while (isDigit(text.charAt(i + 1 + digits))) digits++;
    if (digits > MAX_EXPONENT_DIGITS) fail(`${name}: exponent too large`);
  }
  return [text.slice(0, i), text.slice(i)];
}

const power = (base: bigint, exponent: number): bigint => base ** BigInt(exponent);
const PREFIXES = "kmgtpe";

/** k, ki, m, mi, ... in the spelling of `units.parse`: only m (milli) and M differ by case. */
function factor(unit: string): bigint | undefined {
  if (unit === "") return 1n;
  const step = PREFIXES.indexOf(unit.charAt(0).toLowerCase()) + 1;
  if (step === 0) return undefined;
  const rest = unit.slice(1);
  return rest === "" ? power(1000n, step) : rest === "i" ? power(1024n, step) : undefined;
}

// The double nearest to one thousandth, exactly: OPA multiplies by it.
const MILLI = { num: 1152921504606847n, den: 2n ** 60n };
const FRACTION_DIGITS = 10;

function parse(args: Args): Value {
  const text = string(args, 1).replaceAll('"', "");
  if (text.includes(" ")) return fail("units.parse: spaces not allowed in resource strings");
  const [amount, rawUnit] = splitAmount(text, "units.parse");
  if (amount === "") return fail("units.parse: no amount provided");
  const unit = rawUnit.charAt(0) + rawUnit.slice(1).toLowerCase();
  const scale = unit === "m" ? MILLI : { num: factor(unit), den: 1n };
  if (scale.num === undefined) return fail(`units.parse: unit ${unit} not recognized`);
  const decimal = float.parseDecimal(amount);
  if (decimal === undefined) return fail("units.parse: could not parse amount to a number");
  const shift = 10n ** BigInt(Math.abs(decimal.exp10));
  const num =
    (decimal.neg ? -decimal.digits : decimal.digits) *
    scale.num *
    (decimal.exp10 >= 0 ? shift : 1n);
  const den = scale.den * (decimal.exp10 >= 0 ? 1n : shift);
  return num % den === 0n ? numberFromBigInt(num / den) : fixedPoint(num, den);
}

/** Ten digits after the point, half away from zero. */
function fixedPoint(num: bigint, den: bigint): Value {
  const negative = num < 0n;
  const scaled = (negative ? -num : num) * power(10n, FRACTION_DIGITS);
  let whole = scaled / den;
  if ((scaled - whole * den) * 2n >= den) whole += 1n;
  const digits = whole.toString().padStart(FRACTION_DIGITS + 1, "0");
  const text = `${negative ? "-" : ""}${digits.slice(0, -FRACTION_DIGITS)}.${digits.slice(-FRACTION_DIGITS)}`;
  return parseNumber(text) ?? fail("could not parse amount to a number");
}

function parseBytes(args: Args): Value {
  const text = string(args, 1).toLowerCase().replaceAll('"', "");
  if (text.includes(" ")) return fail("units.parse_bytes: spaces not allowed in resource strings");
  const [amount, unit] = splitAmount(text, "units.parse_bytes");
  if (amount === "") return fail("units.parse_bytes: no byte amount provided");
  const scale = factor(unit.replace(/b$/, ""));
  if (scale === undefined || unit === "b")
    return fail(`units.parse_bytes: byte unit ${unit} not recognized`);
  const value = float.parseBigFloat(amount);
  if (value === undefined)
    return fail("units.parse_bytes: could not parse byte amount to a number");
  return numberFromBigInt(
    float.toBigInt(float.multiply(value, { ...float.fromBigInt(scale), prec: 64 })),
  );
}

export const UNITS: readonly Builtin[] = [
  fn("units.parse", [STRING], NUMBER, parse),
  fn("units.parse_bytes", [STRING], NUMBER, parseBytes),
];
