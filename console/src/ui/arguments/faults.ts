// What a schema says against a value, with an evaluator that makes no code: the content security policy allows none.
import { type OutputUnit, type Schema, Validator } from "@cfworker/json-schema";
import type { FieldFault } from "../../api/failure.ts";

/** Keywords that only say that something below them is wrong. */
const WRAPPERS = new Set(["properties", "items", "prefixItems", "additionalProperties", "$ref"]);
const MAX_FAULTS = 50;

export function faultsIn(schema: Readonly<Record<string, unknown>>, value: unknown): FieldFault[] {
  try {
    const { errors } = new Validator(withoutPatterns(schema) as Schema, "2020-12", false).validate(
      value,
    );
    return errors.flatMap(faultOf).slice(0, MAX_FAULTS);
  } catch {
    // A schema that this evaluator does not know: the server judges the call in any case.
    return [];
  }
}

export function isValid(schema: unknown, value: unknown, root: unknown): boolean {
  const definitions = (root as { $defs?: unknown } | undefined)?.$defs;
  const whole =
    typeof schema === "object" && schema !== null
      ? { ...(definitions === undefined ? {} : { $defs: definitions }), ...schema }
      : (schema as Schema);
  try {
    return new Validator(withoutPatterns(whole) as Schema, "2020-12").validate(value).valid;
  } catch {
    return false;
  }
}

function faultOf({ keyword, instanceLocation, error }: OutputUnit): FieldFault[] {
  if (WRAPPERS.has(keyword) && !error.startsWith("False boolean")) return [];
  const at = instanceLocation.replace(/^#/, "");
  const missing = /required property "([^"]+)"/.exec(error)?.[1];
  if (keyword === "required" && missing !== undefined)
    return [{ path: `${at}/${missing}`, message: "is required" }];
  return [{ path: at, message: error }];
}

/** A pattern of somebody else's schema may take the browser minutes; the server tests it in bounded time. */
function withoutPatterns(schema: unknown, depth = 0): unknown {
  if (depth > 64 || typeof schema !== "object" || schema === null) return schema;
  if (Array.isArray(schema)) return schema.map((one) => withoutPatterns(one, depth + 1));
  const entries = Object.entries(schema).filter(
    ([key, value]) =>
      !(key === "pattern" && typeof value === "string") && key !== "patternProperties",
  );
  return Object.fromEntries(
    entries.map(([key, value]) => [key, withoutPatterns(value, depth + 1)]),
  );
}
