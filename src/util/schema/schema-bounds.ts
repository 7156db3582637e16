// JSON Schemas from outside: what is too large, leads out, or cannot be checked in linear time is not taken.
import type { Json, JsonObject } from "../../contract/call.ts";
import { linearPattern } from "./linear-pattern.ts";

/** Of the JSON, not of the schemas: a property of a property is four levels down. */
const MAX_DEPTH = 64;
const MAX_PARTS = 5_000;
const MAX_BYTES = 262_144;
const MAX_PATTERNS = 200;

const DRAFTS =
  /^https?:\/\/json-schema\.org\/(?:draft-0[4-7]|draft\/(?:2019-09|2020-12))\/schema#?$/;
/** What stands below them is data, or names that are no keywords. */
const DATA = new Set(["const", "default", "enum", "example", "examples"]);
const MAPS = new Set([
  "properties",
  "patternProperties",
  "$defs",
  "definitions",
  "dependentSchemas",
  "dependencies",
]);
const REFERENCES = new Set(["$ref", "$dynamicRef", "$recursiveRef"]);

/** Why a schema is not taken; null when it is fine. Takes no longer for a hostile one than for a large one. */
export function boundsOf(schema: JsonObject): string | null {
  const walk = {
    parts: 0,
    characters: 0,
    patterns: 0,
    ids: new Set<string>(),
    references: [] as string[],
  };
  const fault = faultIn(schema, "schema", 0, walk);
  if (fault !== null) return fault;
  const outside = walk.references.find((reference) => !isInside(reference, walk.ids));
  return outside === undefined
    ? null
    : `it refers to ${shown(outside)}; only references within it are followed`;
}

interface Walk {
  parts: number;
  characters: number;
  patterns: number;
  readonly ids: Set<string>;
  readonly references: string[];
}

type Place = "schema" | "names" | "data";

/** Ends at the first bound that is passed, so that neither depth nor size can hurt. */
function faultIn(value: Json, place: Place, depth: number, walk: Walk): string | null {
  if (typeof value === "string") walk.characters += value.length;
  if (walk.characters > MAX_BYTES) return `it takes more than ${MAX_BYTES} characters`;
  if (typeof value !== "object" || value === null) return null;
  if (depth > MAX_DEPTH) return `it is more than ${MAX_DEPTH} levels deep`;
  if (++walk.parts > MAX_PARTS) return `it has more than ${MAX_PARTS} parts`;
  if (Array.isArray(value)) {
    walk.characters += value.length;
    for (const item of value as readonly Json[]) {
      const fault = faultIn(item, place, depth + 1, walk);
      if (fault !== null) return fault;
    }
    return null;
  }
  for (const [key, inner] of Object.entries(value)) {
    walk.characters += key.length + 4;
    const fault =
      (place === "schema" ? keywordFault(key, inner, walk) : null) ??
      faultIn(inner, below(place, key), depth + 1, walk);
    if (fault !== null) return fault;
  }
  return null;
}

function below(place: Place, key: string): Place {
  if (place === "names") return "schema";
  if (place === "data" || DATA.has(key)) return "data";
  return MAPS.has(key) ? "names" : "schema";
}

function keywordFault(key: string, value: Json, walk: Walk): string | null {
  if (REFERENCES.has(key)) {
    if (typeof value !== "string") return `${key}: expected a text`;
    walk.references.push(value);
  }
  if ((key === "$id" || key === "id") && typeof value === "string")
    walk.ids.add(value.replace(/#$/, ""));
  if (key === "$schema" && !(typeof value === "string" && DRAFTS.test(value)))
    return `$schema is ${shown(value)}: expected a draft of json-schema.org, 4 to 2020-12`;
  if (key === "pattern" && typeof value === "string") return patternFault(value, walk);
  if (key === "patternProperties" && typeof value === "object" && value !== null)
    for (const pattern of Object.keys(value)) {
      const fault = patternFault(pattern, walk);
      if (fault !== null) return fault;
    }
  return null;
}

function patternFault(pattern: string, walk: Walk): string | null {
  if (++walk.patterns > MAX_PATTERNS) return `it has more than ${MAX_PATTERNS} patterns`;
  try {
    linearPattern(pattern);
    return null;
  } catch (cause) {
    return `the pattern ${shown(pattern)} cannot be matched in linear time: ${(cause as Error).message}`;
  }
}

/** A fragment, or a part of it that has that name. */
function isInside(reference: string, ids: ReadonlySet<string>): boolean {
  if (reference.startsWith("#")) return true;
  const [target = ""] = reference.split("#", 1);
  return [...ids].some(
    (id) => id === target || absolute(target, [...ids][0]) === absolute(id, [...ids][0]),
  );
}

function absolute(reference: string, base: string | undefined): string {
  const from = base !== undefined && URL.canParse(base) ? base : "schema:/";
  return URL.canParse(reference, from) ? new URL(reference, from).href : reference;
}

function shown(value: Json): string {
  const text = JSON.stringify(value);
  return text.length > 120 ? `${text.slice(0, 117)}…` : text;
}
