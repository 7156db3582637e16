// Whether data matches the schema of an extraction, for the keywords that `fill` supports.
import type { Json, JsonObject } from "../../contract/call.ts";

export function matchesSchema(schema: JsonObject, data: Json): boolean {
  const allowed = schema["enum"];
  if (Array.isArray(allowed) && !(allowed as Json[]).includes(data)) return false;
  switch (schema["type"]) {
    case "object":
      return isObject(data) && objectFits(schema, data);
    case "array":
      return Array.isArray(data) && arrayFits(schema, data as readonly Json[]);
    case "integer":
      return Number.isInteger(data);
    case "number":
    case "string":
    case "boolean":
      return typeof data === schema["type"];
    default:
      return false;
  }
}

function objectFits(schema: JsonObject, data: JsonObject): boolean {
  const parts = isObject(schema["properties"]) ? schema["properties"] : {};
  const required = Array.isArray(schema["required"]) ? (schema["required"] as Json[]) : [];
  if (!required.every((name) => Object.hasOwn(data, String(name as string)))) return false;
  return Object.entries(data).every(([name, value]) => {
    const part = Object.hasOwn(parts, name) ? parts[name] : undefined;
    if (part === undefined) return schema["additionalProperties"] !== false;
    return isObject(part) && matchesSchema(part, value);
  });
}

function arrayFits(schema: JsonObject, data: readonly Json[]): boolean {
  const { minItems, maxItems, items } = schema;
  if (typeof minItems === "number" && data.length < minItems) return false;
  if (typeof maxItems === "number" && data.length > maxItems) return false;
  return isObject(items) && data.every((entry) => matchesSchema(items, entry));
}

const isObject = (value: Json | undefined): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);
