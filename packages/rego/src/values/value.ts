// Rego values. Scalars and arrays are the JS ones; objects and sets are small immutable classes.
// Values are never changed once built, so they are shared freely between evaluations.
import { Num, compareNumbers, numberKey } from "./number.ts";
import type { NumberValue } from "./number.ts";
import { RegoObject } from "./object.ts";
import { RegoSet } from "./set.ts";

export type Value = null | boolean | NumberValue | string | readonly Value[] | RegoObject | RegoSet;

export { Num, RegoObject, RegoSet };
export type { NumberValue };

export type TypeName = "null" | "boolean" | "number" | "string" | "array" | "object" | "set";

export function typeName(value: Value): TypeName {
  switch (typeof value) {
    case "string":
      return "string";
    case "number":
      return "number";
    case "boolean":
      return "boolean";
    default:
      if (value === null) return "null";
      if (value instanceof RegoObject) return "object";
      if (value instanceof RegoSet) return "set";
      return value instanceof Num ? "number" : "array";
  }
}

export function isNumber(value: Value): value is NumberValue {
  return typeof value === "number" || value instanceof Num;
}

/** Narrows to an array; `Array.isArray` loses the element type of a readonly array. */
export function isArray(value: Value): value is readonly Value[] {
  return Array.isArray(value);
}

const RANK: Record<TypeName, number> = {
  null: 0,
  boolean: 1,
  number: 2,
  string: 3,
  array: 4,
  object: 5,
  set: 6,
};

/** Thrown when data or a policy is nested so deeply that walking it would exhaust the stack. */
export class TooDeep extends Error {
  constructor() {
    super(`nested deeper than ${String(MAX_DEPTH)} levels`);
    this.name = "TooDeep";
  }
}

export const MAX_DEPTH = 1_000;

/** OPA's total order: null < booleans < numbers < strings < arrays < objects < sets. */
export function compare(a: Value, b: Value, depth = 0): number {
  if (a === b) return 0;
  if (typeof a === "number" && typeof b === "number") return a < b ? -1 : 1;
  if (typeof a === "string" && typeof b === "string") return compareStrings(a, b);
  const kind = typeName(a);
  const rank = RANK[kind] - RANK[typeName(b)];
  if (rank !== 0) return rank < 0 ? -1 : 1;
  if (depth > MAX_DEPTH) throw new TooDeep();
  switch (kind) {
    case "null":
    case "string":
      return 0;
    case "boolean":
      return a === false ? -1 : 1;
    case "number":
      return compareNumbers(a as NumberValue, b as NumberValue);
    case "array":
      return compareLists(a as readonly Value[], b as readonly Value[], depth + 1);
    case "object":
      return compareObjects(a as RegoObject, b as RegoObject, depth + 1);
    case "set":
      return compareLists((a as RegoSet).items(), (b as RegoSet).items(), depth + 1);
  }
}

function compareLists(a: readonly Value[], b: readonly Value[], depth: number): number {
  const shared = Math.min(a.length, b.length);
  for (let i = 0; i < shared; i++) {
    const order = compare(a[i] as Value, b[i] as Value, depth);
    if (order !== 0) return order;
  }
  return a.length - b.length;
}

function compareObjects(a: RegoObject, b: RegoObject, depth: number): number {
  const left = a.entries();
  const right = b.entries();
  const shared = Math.min(left.length, right.length);
  for (let i = 0; i < shared; i++) {
    const [keyA, valueA] = left[i] as readonly [Value, Value];
    const [keyB, valueB] = right[i] as readonly [Value, Value];
    const order = compare(keyA, keyB, depth) || compare(valueA, valueB, depth);
    if (order !== 0) return order;
  }
  return left.length - right.length;
}

/** By code point, as Go compares UTF-8 bytes; UTF-16 units differ only around surrogates. */
export function compareStrings(a: string, b: string): number {
  const shared = Math.min(a.length, b.length);
  for (let i = 0; i < shared; i++) {
    const x = a.charCodeAt(i);
    const y = b.charCodeAt(i);
    if (x === y) continue;
    if (x < 0xd800 || y < 0xd800) return x - y;
    return rotateSurrogates(x) - rotateSurrogates(y);
  }
  return a.length - b.length;
}

// Surrogates stand for code points above U+FFFF, so they sort after U+E000..U+FFFF.
function rotateSurrogates(unit: number): number {
  return unit >= 0xe000 ? unit - 0x800 : unit + 0x2000;
}

export function equal(a: Value, b: Value): boolean {
  if (a === b) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) {
    // A Num may equal a JS number that is written differently (1.0 and 1).
    return (a instanceof Num && b === a.plain) || (b instanceof Num && a === b.plain);
  }
  if (a instanceof RegoObject)
    return b instanceof RegoObject && a.size === b.size && compare(a, b) === 0;
  if (a instanceof RegoSet) return b instanceof RegoSet && a.size === b.size && compare(a, b) === 0;
  return compare(a, b) === 0;
}

/**
 * The key of a value in a JS Map: equal values have equal keys and no others. Plain scalars are
 * their own key; everything else is text behind a NUL, where no ordinary string begins.
 */
export function keyOf(value: Value): unknown {
  if (typeof value === "string") return value.charCodeAt(0) === 0 ? `\u0000s${value}` : value;
  if (typeof value === "number" || typeof value === "boolean" || value === null) return value;
  if (value instanceof Num) return numberKey(value);
  return `\u0000c${textKey(value, 0)}`;
}

/** An injective text of a composite; used as a hash, never shown. */
export function textKey(value: Value, depth: number): string {
  if (depth > MAX_DEPTH) throw new TooDeep();
  switch (typeof value) {
    case "string":
      return `"${String(value.length)}:${value}`;
    case "number":
      return `#${String(value)};`;
    case "boolean":
      return value ? "T" : "F";
    default:
      if (value === null) return "N";
      if (value instanceof Num) {
        const key = numberKey(value);
        return `#${String(key)};`;
      }
      if (value instanceof RegoObject || value instanceof RegoSet) return value.textKey(depth);
      return `[${value.map((item) => textKey(item, depth + 1)).join("")}]`;
  }
}
