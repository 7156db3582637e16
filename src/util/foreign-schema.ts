// Values against a JSON Schema of somebody else's: interpreted, never compiled to code, and bounded in size.
import { Validator } from "@cfworker/json-schema";
import type { Json, JsonObject } from "../call.ts";

const MAX_DEPTH = 32;
const MAX_PARTS = 2_000;

/** Why a schema is not taken; null when it is fine. */
export function schemaFault(schema: JsonObject): string | null {
  let parts = 0;
  const tooMuch = (value: Json, depth: number): string | null => {
    if (typeof value !== "object" || value === null) return null;
    if (depth > MAX_DEPTH) return `it is more than ${MAX_DEPTH} levels deep`;
    if (++parts > MAX_PARTS) return `it has more than ${MAX_PARTS} parts`;
    for (const [key, inner] of Object.entries(value)) {
      if (key === "$ref" && typeof inner === "string" && !inner.startsWith("#")) return `it refers to ${JSON.stringify(inner)}; only references within it are followed`; // prettier-ignore
      // Matching foreign patterns can take forever.
      if (key === "patternProperties" || (key === "pattern" && typeof inner === "string")) return `${key} is not supported`; // prettier-ignore
      const fault = tooMuch(inner, depth + 1);
      if (fault !== null) return fault;
    }
    return null;
  };
  return tooMuch(schema, 0);
}

/** What does not fit, at most ten; empty when all does. */
export function schemaErrors(schema: JsonObject, value: Json): { path: string; message: string }[] {
  const fault = schemaFault(schema);
  if (fault !== null) return [{ path: "", message: `the schema cannot be used: ${fault}` }];
  try {
    // It writes into what it is given.
    const { valid, errors } = new Validator(structuredClone(schema), "2020-12", false).validate(
      value,
    );
    if (valid) return [];
    return errors.slice(0, 10).map(({ instanceLocation, error }) => ({ path: instanceLocation.replace(/^#/, ""), message: error })); // prettier-ignore
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : "it is not understood";
    return [{ path: "", message: `the schema cannot be used: ${why}` }];
  }
}
