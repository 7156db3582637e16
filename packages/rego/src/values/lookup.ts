// Looking into values, and going through them.
import { Num, RegoObject, RegoSet } from "./value.ts";
import type { Value } from "./value.ts";

/** The value under a key, the item at an index, or the member itself of a set. */
export function lookup(value: Value, key: Value): Value | undefined {
  if (value instanceof RegoObject) return value.get(key);
  if (Array.isArray(value)) {
    const index = key instanceof Num ? key.plain : key;
    return typeof index === "number" ? (value as readonly Value[])[index] : undefined;
  }
  return value instanceof RegoSet ? value.get(key) : undefined;
}

/** Calls back with each key and value in order until the callback returns true. */
export function eachEntry(value: Value, found: (key: Value, item: Value) => boolean): boolean {
  if (Array.isArray(value)) {
    const items = value as readonly Value[];
    for (let i = 0; i < items.length; i++) if (found(i, items[i] as Value)) return true;
  } else if (value instanceof RegoObject) {
    for (const [key, item] of value.entries()) if (found(key, item)) return true;
  } else if (value instanceof RegoSet) {
    for (const item of value.items()) if (found(item, item)) return true;
  }
  return false;
}

/** In base documents an index may also be the name of a field: data.x[2] finds {"2": ...}. */
export function lookupBase(value: Value, key: Value): Value | undefined {
  const found = lookup(value, key);
  if (found !== undefined || typeof key !== "number" || !(value instanceof RegoObject))
    return found;
  return value.get(String(key));
}
