// The Rego spelling of values, as OPA prints terms: {"a": 1}, {1, 2}, set().
import { Num, RegoObject, RegoSet, MAX_DEPTH, TooDeep } from "./value.ts";
import type { Value } from "./value.ts";

export function valueText(value: Value, depth = 0): string {
  if (depth > MAX_DEPTH) throw new TooDeep();
  switch (typeof value) {
    case "string":
      return JSON.stringify(value);
    case "number":
    case "boolean":
      return String(value);
    default:
      if (value === null) return "null";
      if (value instanceof Num) return value.text;
      if (value instanceof RegoObject) return `{${objectItems(value, depth + 1)}}`;
      if (value instanceof RegoSet) {
        return value.size === 0 ? "set()" : `{${listItems(value.items(), depth + 1)}}`;
      }
      return `[${listItems(value, depth + 1)}]`;
  }
}

function listItems(items: readonly Value[], depth: number): string {
  return items.map((item) => valueText(item, depth)).join(", ");
}

function objectItems(value: RegoObject, depth: number): string {
  return value
    .entries()
    .map(([key, item]) => `${valueText(key, depth)}: ${valueText(item, depth)}`)
    .join(", ");
}
