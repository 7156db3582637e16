// Zod's issues as the faults people read: JSON pointer, what is wrong, what was probably meant.
import type { z } from "zod";
import type { Json, JsonObject } from "../../contract/call.ts";
import type { FieldFault } from "../../contract/errors.ts";
import { nearest } from "../../util/text/nearest.ts";

const MAX_FAULTS = 10;

export function faultsOf(
  issues: readonly z.core.$ZodIssue[],
  value: unknown,
  schema: JsonObject,
): FieldFault[] {
  const faults: FieldFault[] = [];
  for (const issue of issues) {
    if (faults.length >= MAX_FAULTS) break;
    if (issue.code === "unrecognized_keys") {
      const known = propertiesAt(schema, issue.path);
      for (const key of issue.keys.slice(0, MAX_FAULTS)) {
        faults.push(unknownField([...issue.path, key], key, known));
      }
    } else {
      const meant = issue.code === "invalid_union" ? meantBranch(issue) : null;
      if (meant) faults.push(...faultsOf(meant, value, schema));
      else faults.push(faultOfIssue(issue, value));
    }
  }
  return faults.slice(0, MAX_FAULTS);
}

/** The faults in the one branch whose type the value has; null where there is no such branch. */
function meantBranch(issue: z.core.$ZodIssueInvalidUnion): z.core.$ZodIssue[] | null {
  const fitting = issue.errors.filter(
    (issues) => !issues.some(({ code, path }) => code === "invalid_type" && path.length === 0),
  );
  const [only, ...more] = fitting;
  if (!only || more.length > 0) return null;
  return only.map((inner) => ({ ...inner, path: [...issue.path, ...inner.path] }));
}

function faultOfIssue(issue: z.core.$ZodIssue, value: unknown): FieldFault {
  const path = pointer(issue.path);
  const given = valueAt(value, issue.path);
  if (given === undefined && issue.path.length > 0 && issue.code !== "custom") {
    return { path, message: "is required" };
  }
  if (issue.code === "invalid_value") {
    const values = issue.values.map(String);
    const near = typeof given === "string" ? nearest(given, values) : null;
    return {
      path,
      message: `expected one of ${values.join(", ")}`,
      ...(near === null ? {} : { suggestion: `did you mean ${JSON.stringify(near)}?` }),
    };
  }
  const text = issue.message.replace(/^Invalid input: |^Too (?:small|big): /, "");
  return { path, message: text };
}

function unknownField(
  path: readonly PropertyKey[],
  key: string,
  known: readonly string[],
): FieldFault {
  const near = nearest(key, known);
  const others =
    known.length > 0 ? `known fields: ${known.join(", ")}` : "no fields are taken here";
  return {
    path: pointer(path),
    message: "unknown field",
    suggestion: near === null ? others : `did you mean ${JSON.stringify(near)}?`,
  };
}

/** RFC 6901. */
export function pointer(path: readonly PropertyKey[]): string {
  return path
    .map((part) => `/${String(part).replaceAll("~", "~0").replaceAll("/", "~1")}`)
    .join("");
}

function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  let at = value;
  for (const part of path) {
    if (typeof at !== "object" || at === null) return undefined;
    at = (at as Record<PropertyKey, unknown>)[part];
  }
  return at;
}

function propertiesAt(schema: JsonObject, path: readonly PropertyKey[]): string[] {
  let at: Json | undefined = schema;
  for (const part of path) {
    const properties = objectOf(keyword(at, "properties"));
    at = typeof part === "number" ? keyword(at, "items") : properties?.[String(part)];
  }
  return Object.keys(objectOf(keyword(at, "properties")) ?? {});
}

/** Of the schema itself, or of the branch that has it. */
function keyword(schema: Json | undefined, name: string): Json | undefined {
  const at = objectOf(schema);
  const branches = (at?.["anyOf"] ?? []) as readonly Json[];
  return at?.[name] ?? branches.map((branch) => keyword(branch, name)).find(Boolean);
}

function objectOf(value: Json | undefined): JsonObject | undefined {
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as JsonObject)
    : undefined;
}
