// JSON Schemas that callers bring: small enough, without patterns that run long and without references that lead out.
import type { Json, JsonObject } from "../contract/call.ts";

const MAX_BYTES = 32_768;
const MAX_DEPTH = 10;
const FORBIDDEN = [
  "$id",
  "$ref",
  "$dynamicRef",
  "$anchor",
  "$dynamicAnchor",
  "$defs",
  "definitions",
  "pattern",
  "patternProperties",
  "format",
];

/** What is wrong with it, or null. It must describe an object. */
export function schemaFault(schema: JsonObject): string | null {
  if (schema["type"] !== "object") return 'expected "type": "object" at the top';
  const bytes = Buffer.byteLength(JSON.stringify(schema));
  if (bytes > MAX_BYTES) return `it takes ${bytes} bytes, at most ${MAX_BYTES} are taken`;
  return deepFault(schema, 1, "");
}

function deepFault(value: Json, depth: number, path: string): string | null {
  if (typeof value !== "object" || value === null) return null;
  if (depth > 2 * MAX_DEPTH) return `it is nested deeper than ${MAX_DEPTH} levels at ${path}`;
  // Names of properties may be any word; only keywords are judged.
  const names = /\/properties$/.test(path) && !Array.isArray(value);
  for (const [key, inner] of Object.entries(value as JsonObject)) {
    if (!names && !Array.isArray(value) && FORBIDDEN.includes(key))
      return `${key} is not taken (at ${path || "/"}): say it without`;
    const fault = deepFault(inner, depth + 1, `${path}/${key}`);
    if (fault !== null) return fault;
  }
  return null;
}
