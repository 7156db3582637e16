// JSON in and out. JSON objects are wrapped, not copied; keys such as __proto__ are plain data.
import { Num, numberFromBigInt, numberText } from "./number.ts";
import { RegoObject } from "./object.ts";
import { RegoSet } from "./set.ts";
import { MAX_DEPTH, TooDeep, compareStrings } from "./value.ts";
import type { Value } from "./value.ts";

/**
 * Takes any JSON-like JS value (also bigint). The value must not be changed afterwards: objects are
 * read on demand. Rego values inside it are kept as they are.
 */
export function fromJson(json: unknown, depth = 0): Value {
  switch (typeof json) {
    case "string":
    case "boolean":
      return json;
    case "number":
      return Number.isFinite(json) ? (json === 0 ? 0 : json) : null;
    case "bigint":
      return numberFromBigInt(json);
    case "object":
      if (json === null) return null;
      if (Array.isArray(json)) return arrayFromJson(json, depth);
      if (json instanceof RegoObject || json instanceof RegoSet || json instanceof Num) return json;
      return RegoObject.fromJson(json as Record<string, unknown>);
    default:
      return null;
  }
}

function arrayFromJson(json: readonly unknown[], depth: number): readonly Value[] {
  if (depth > MAX_DEPTH) throw new TooDeep();
  // A loop, not map: half the stack per level.
  const values: Value[] = [];
  for (const item of json) values.push(fromJson(item, depth + 1));
  return values;
}

/**
 * To a plain JS value: sets become arrays, non-string keys their text, numbers the nearest double.
 * Use `toJsonText` where big numbers must stay exact.
 */
export function toJson(value: Value, depth = 0): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (depth > MAX_DEPTH) throw new TooDeep();
  if (value instanceof Num) return value.plain ?? Number(value.text);
  if (value instanceof RegoSet) return value.items().map((item) => toJson(item, depth + 1));
  if (value instanceof RegoObject) return objectToJson(value, depth + 1);
  return value.map((item) => toJson(item, depth + 1));
}

function objectToJson(value: RegoObject, depth: number): Record<string, unknown> {
  const json: Record<string, unknown> = {};
  for (const [key, item] of value.entries()) {
    const name = keyText(key);
    const converted = toJson(item, depth);
    // Assigning to "__proto__" would set the prototype instead of a property.
    if (name === "__proto__") {
      Object.defineProperty(json, name, {
        value: converted,
        enumerable: true,
        configurable: true,
        writable: true,
      });
    } else json[name] = converted;
  }
  return json;
}

/** Keys that are not strings are written as their JSON text. */
export function keyText(key: Value): string {
  if (typeof key === "string") return key;
  // As Go writes JSON: safe inside HTML.
  return toJsonText(key).replace(
    /[<>&\u2028\u2029]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

function objectText(value: RegoObject, depth: number): string {
  const entries = value.entries().map(([key, item]) => [keyText(key), item] as const);
  // Keys that are not strings have their place by their text.
  const isPlain = value.entries().every(([key]) => typeof key === "string");
  const sorted = isPlain ? entries : entries.toSorted(([a], [b]) => compareStrings(a, b));
  return `{${sorted.map(([key, item]) => `${JSON.stringify(key)}:${toJsonText(item, depth)}`).join(",")}}`;
}

/** JSON text without spaces, keys sorted, numbers exact as written. */
export function toJsonText(value: Value, depth = 0): string {
  if (depth > MAX_DEPTH) throw new TooDeep();
  switch (typeof value) {
    case "string":
      return JSON.stringify(value);
    case "number":
    case "boolean":
      return String(value);
    default:
      if (value === null) return "null";
      if (value instanceof Num) return numberText(value);
      if (value instanceof RegoObject) {
        return objectText(value, depth + 1);
      }
      return `[${(value instanceof RegoSet ? value.items() : value)
        .map((item) => toJsonText(item, depth + 1))
        .join(",")}]`;
  }
}
