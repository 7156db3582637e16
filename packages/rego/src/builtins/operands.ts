// Reads arguments; the error text for a wrong type is OPA's.
import { numberText, toBigInt } from "../values/number.ts";
import { RegoObject, RegoSet, isArray, isNumber, typeName } from "../values/value.ts";
import type { NumberValue, Value } from "../values/value.ts";
import type { Type } from "../types/type.ts";
import { BuiltinError } from "./builtin.ts";
import type { BuiltinContext, FunctionBuiltin } from "./builtin.ts";

export type Args = readonly Value[];
type Extra = Omit<FunctionBuiltin, "name" | "args" | "result" | "run" | "relation">;

/** Declares a built-in function. */
export function fn(
  name: string,
  args: readonly Type[],
  result: Type,
  run: (args: Args, ctx: BuiltinContext) => Value | undefined,
  extra: Extra = {},
): FunctionBuiltin {
  return { name, args, result, run, ...extra };
}

export function fail(message: string): never {
  throw new BuiltinError("failure", message);
}

export function badOperand(pos: number, message: string): never {
  throw new BuiltinError("operand", `operand ${pos} ${message}`);
}

export function wrongType(pos: number, got: Value, ...expected: readonly string[]): never {
  const wanted = expected.length === 1 ? String(expected[0]) : `one of {${expected.join(", ")}}`;
  return badOperand(pos, `must be ${wanted} but got ${typeName(got)}`);
}

export function wrongElement(pos: number, whole: Value, got: Value, ...expected: string[]): never {
  const kind = typeName(whole);
  const wanted =
    expected.length === 1 ? `${String(expected[0])}s` : `(any of) {${expected.join(", ")}}`;
  return badOperand(
    pos,
    `must be ${kind} of ${wanted} but got ${kind} containing ${typeName(got)}`,
  );
}

/** `??` for values: null is a value like any other. */
export function orElse<T>(value: Value | undefined, other: () => T): Value | T {
  return value === undefined ? other() : value;
}

/** The argument at a position counted from 1. */
export function arg(args: Args, pos: number): Value {
  const value = args[pos - 1];
  if (value === undefined) throw new BuiltinError("failure", `operand ${pos} is missing`);
  return value;
}

export function string(args: Args, pos: number): string {
  const value = arg(args, pos);
  return typeof value === "string" ? value : wrongType(pos, value, "string");
}

export function number(args: Args, pos: number): NumberValue {
  const value = arg(args, pos);
  return isNumber(value) ? value : wrongType(pos, value, "number");
}

export function array(args: Args, pos: number): readonly Value[] {
  const value = arg(args, pos);
  return isArray(value) ? value : wrongType(pos, value, "array");
}

export function object(args: Args, pos: number): RegoObject {
  const value = arg(args, pos);
  return value instanceof RegoObject ? value : wrongType(pos, value, "object");
}

export function set(args: Args, pos: number): RegoSet {
  const value = arg(args, pos);
  return value instanceof RegoSet ? value : wrongType(pos, value, "set");
}

/** The members of an array or a set. */
export function list(args: Args, pos: number, ...expected: readonly string[]): readonly Value[] {
  const value = arg(args, pos);
  if (isArray(value)) return value;
  return value instanceof RegoSet ? value.items() : wrongType(pos, value, ...expected);
}

const MIN_INT64 = -(2n ** 63n);
const MAX_INT64 = 2n ** 63n - 1n;
const NOT_INTEGER = "must be integer number but got floating-point number";

/** An integer written as one (1.0 is none) that fits into 64 bits; undefined otherwise. */
export function asInt64(value: NumberValue): bigint | undefined {
  if (typeof value === "number" && Number.isSafeInteger(value)) return BigInt(value);
  const text = numberText(value);
  if (!/^-?\d{1,19}$/.test(text)) return undefined;
  const n = BigInt(text);
  return n >= MIN_INT64 && n <= MAX_INT64 ? n : undefined;
}

export function int64(args: Args, pos: number): bigint {
  return asInt64(number(args, pos)) ?? badOperand(pos, NOT_INTEGER);
}

/** As `int64`, for counts and positions, where a double is exact enough. */
export function int(args: Args, pos: number): number {
  return Number(int64(args, pos));
}

export function bigInt(args: Args, pos: number): bigint {
  const value = arg(args, pos);
  if (!isNumber(value)) return wrongType(pos, value, "integer");
  return toBigInt(value) ?? badOperand(pos, NOT_INTEGER);
}

/** Strings of an array or set. */
export function stringList(args: Args, pos: number): readonly string[] {
  const whole = arg(args, pos);
  return list(args, pos, "array", "set").map((item) =>
    typeof item === "string" ? item : wrongElement(pos, whole, item, "string"),
  );
}
