import {
  isInteger,
  numberFromBigInt,
  numberText,
  parseNumber,
  toBigInt,
} from "../values/number.ts";
import { RegoSet, isNumber } from "../values/value.ts";
import type { NumberValue, Value } from "../values/value.ts";
import { ANY, NUMBER, STRING, anyOf, arrayOf, setOf } from "../types/type.ts";
import * as float from "../go/float.ts";
import type { BigFloat } from "../go/float.ts";
import type { Builtin, BuiltinContext } from "./builtin.ts";
import { arg, bigInt, fail, fn, int, number, set, string, wrongType } from "./operands.ts";
import type { Args } from "./operands.ts";

const toFloat = (n: NumberValue): BigFloat =>
  float.parseBigFloat(numberText(n)) ?? fail("number exponent too large");

const fromFloat = (f: BigFloat): NumberValue => {
  const text = float.formatBigFloat(f);
  return parseNumber(text) ?? fail(`illegal number ${text}`);
};

type IntegerOp = (a: bigint, b: bigint) => bigint;
type FloatOp = (a: BigFloat, b: BigFloat) => BigFloat;

/** Exact for integers of any size, 64 bits of mantissa otherwise. */
function exact(a: NumberValue, b: NumberValue, onInts: IntegerOp, onFloats: FloatOp): NumberValue {
  const x = toBigInt(a);
  const y = x === undefined ? undefined : toBigInt(b);
  if (x !== undefined && y !== undefined) return numberFromBigInt(onInts(x, y));
  return fromFloat(onFloats(toFloat(a), toFloat(b)));
}

const bothSafe = (x: Value, y: Value): boolean =>
  Number.isSafeInteger(x) && Number.isSafeInteger(y);

export function plus(a: NumberValue, b: NumberValue): NumberValue {
  if (bothSafe(a, b)) {
    const quick = (a as number) + (b as number);
    if (Number.isSafeInteger(quick)) return quick;
  }
  return exact(a, b, (x, y) => x + y, float.add);
}

export function times(a: NumberValue, b: NumberValue): NumberValue {
  if (bothSafe(a, b)) {
    const quick = (a as number) * (b as number);
    if (Number.isSafeInteger(quick)) return quick === 0 ? 0 : quick;
  }
  return exact(a, b, (x, y) => x * y, float.multiply);
}

/** 64 bits for a sum with fractions, as OPA has them. */
export function sum(numbers: readonly NumberValue[], tick: () => void): NumberValue {
  if (!numbers.every(isInteger)) {
    const total = numbers.reduce<BigFloat>((all, n) => {
      tick();
      return float.add(all, toFloat(n));
    }, ZERO);
    return fromFloat(total);
  }
  return numbers.reduce<NumberValue>((all, n) => {
    tick();
    return plus(all, n);
  }, 0);
}

/** 53 bits for a product with fractions: OPA starts from a double. */
export function product(numbers: readonly NumberValue[], tick: () => void): NumberValue {
  if (!numbers.every(isInteger)) {
    const total = numbers.reduce<BigFloat>((all, n) => {
      tick();
      return float.multiply(all, toFloat(n), DOUBLE_BITS);
    }, ONE);
    return fromFloat(total);
  }
  return numbers.reduce<NumberValue>((all, n) => {
    tick();
    return times(all, n);
  }, 1);
}

const DOUBLE_BITS = 53;
const ZERO: BigFloat = { neg: false, mant: 0n, exp: 0, prec: 64 };
const ONE: BigFloat = { neg: false, mant: 1n, exp: 0, prec: DOUBLE_BITS };

function difference(args: Args): Value {
  const a = arg(args, 1);
  const b = arg(args, 2);
  if (isNumber(a) && isNumber(b)) {
    if (bothSafe(a, b)) {
      const quick = (a as number) - (b as number);
      if (Number.isSafeInteger(quick)) return quick;
    }
    return exact(a, b, (x, y) => x - y, float.subtract);
  }
  if (a instanceof RegoSet && b instanceof RegoSet) return setMinus(a, b);
  if (!isNumber(a) && !(a instanceof RegoSet)) return wrongType(1, a, "number", "set");
  return wrongType(2, b, isNumber(b) ? "set" : "number");
}

export function setMinus(a: RegoSet, b: RegoSet): RegoSet {
  return RegoSet.of(a.items().filter((item) => !b.has(item)));
}

function quotient(args: Args): Value {
  const a = toFloat(number(args, 1));
  const b = toFloat(number(args, 2));
  if (float.isZero(b)) return fail("divide by zero");
  return fromFloat(float.divide(a, b));
}

function remainder(args: Args): Value {
  const a = number(args, 1);
  const b = number(args, 2);
  const x = toBigInt(a);
  const y = toBigInt(b);
  if (x === undefined || y === undefined) return fail("modulo on floating-point number");
  if (y === 0n) return fail("modulo by zero");
  return numberFromBigInt(x % y);
}

const HALF = { neg: false, mant: 1n, exp: -1, prec: 53 };

/** Half away from zero. */
function round(f: BigFloat): BigFloat {
  return float.fromBigInt(float.toBigInt(float.add(f, f.neg ? float.negate(HALF) : HALF)));
}

// Between -1 and 0 OPA's ceil is 1 and its floor 0, because the cut-off part leaves a positive zero;
// the same policy must decide the same here.
function ceil(f: BigFloat): BigFloat {
  const whole = float.toBigInt(f);
  return float.fromBigInt(float.isInteger(f) || whole < 0n ? whole : whole + 1n);
}

function floor(f: BigFloat): BigFloat {
  const whole = float.toBigInt(f);
  return float.fromBigInt(float.isInteger(f) || whole >= 0n ? whole : whole - 1n);
}

const unary = (
  name: string,
  onFloat: (f: BigFloat) => BigFloat,
  onSafe: (n: number) => number,
): Builtin =>
  fn(name, [NUMBER], NUMBER, (args) => {
    const n = number(args, 1);
    if (typeof n === "number" && Number.isSafeInteger(n)) return onSafe(n);
    return fromFloat(onFloat(toFloat(n)));
  });

/** The longest array a range may build; a longer one ends the query. */
const MAX_RANGE = 10_000_000n;

function range(from: bigint, to: bigint, step: bigint, ctx: BuiltinContext): Value {
  const span = from <= to ? to - from : from - to;
  if (span / step >= MAX_RANGE) {
    // Counting the steps reaches the step limit or the deadline before memory runs out.
    for (let i = 0n; i < MAX_RANGE; i += 1000n) ctx.tick(1000);
    return fail(`range of more than ${MAX_RANGE.toString()} numbers`);
  }
  const out: Value[] = [];
  const direction = from <= to ? step : -step;
  for (let i = 0n; i <= span; i += step) {
    ctx.tick();
    out.push(numberFromBigInt(from + (i / step) * direction));
  }
  return out;
}

const RANDOM_BYTES = 8;

function randomInt(args: Args, ctx: BuiltinContext): Value {
  const seed = string(args, 1);
  const n = Math.abs(int(args, 2));
  if (n === 0) return 0;
  const key = `rand.intn ${n} ${seed}`;
  const known = ctx.cache.get(key);
  if (typeof known === "number") return known;
  const bytes =
    ctx.powers.randomBytes?.(RANDOM_BYTES) ?? fail("no source of randomness was granted");
  let random = 0n;
  for (const byte of bytes) random = (random << 8n) | BigInt(byte);
  const result = Number(random % BigInt(n));
  ctx.cache.set(key, result);
  return result;
}

const NUMBER_OR_SET = anyOf(NUMBER, setOf(ANY));

export const NUMBERS: readonly Builtin[] = [
  fn("plus", [NUMBER, NUMBER], NUMBER, (a) => plus(number(a, 1), number(a, 2)), { infix: "+" }),
  fn("minus", [NUMBER_OR_SET, NUMBER_OR_SET], NUMBER_OR_SET, difference, { infix: "-" }),
  fn("mul", [NUMBER, NUMBER], NUMBER, (a) => times(number(a, 1), number(a, 2)), { infix: "*" }),
  fn("div", [NUMBER, NUMBER], NUMBER, quotient, { infix: "/" }),
  fn("rem", [NUMBER, NUMBER], NUMBER, remainder, { infix: "%" }),
  unary("abs", float.abs, Math.abs),
  unary("ceil", ceil, (n) => n),
  unary("floor", floor, (n) => n),
  unary("round", round, (n) => n),
  fn("numbers.range", [NUMBER, NUMBER], arrayOf(NUMBER), (a, ctx) =>
    range(bigInt(a, 1), bigInt(a, 2), 1n, ctx),
  ),
  fn("numbers.range_step", [NUMBER, NUMBER, NUMBER], arrayOf(NUMBER), (a, ctx) => {
    const from = bigInt(a, 1);
    const to = bigInt(a, 2);
    const step = bigInt(a, 3);
    if (step <= 0n) return fail("numbers.range_step: step must be a positive integer");
    return range(from, to, step, ctx);
  }),
  fn("rand.intn", [STRING, NUMBER], NUMBER, randomInt, {
    needs: "randomBytes",
    nondeterministic: true,
  }),
  fn("set_diff", [setOf(ANY), setOf(ANY)], setOf(ANY), (a) => setMinus(set(a, 1), set(a, 2)), {
    deprecated: true,
  }),
];
