// A schema of an OpenAPI document as JSON Schema 2020-12: references put in place, bounded, and nothing in it that
// leads out.
import type { Json, JsonObject } from "../../contract/call.ts";
import { schemaFault } from "../../util/schema/foreign-schema.ts";
import {
  isObject,
  pointer,
  shown,
  targetOf,
  valueIn,
  type ApiDocument,
  type ConversionNote,
} from "./document.ts";

export interface Conversion {
  readonly document: ApiDocument;
  /** input: what only answers have is left out; output: what only requests have. */
  readonly direction: "input" | "output";
  readonly notes: ConversionNote[];
  /** Objects and lists that may still be made. */
  partsLeft: number;
}

/** Below the limits of what may be approved, so that a wrapper fits round it. */
const MAX_LEVELS = 24;
export const MAX_PARTS = 1_000;
const MAX_VALUE_CHARS = 4_000;
const MAX_TEXT_CHARS = 1_000;

const NUMBERS = [
  "multipleOf",
  "maximum",
  "minimum",
  "maxLength",
  "minLength",
  "maxItems",
  "minItems",
  "maxProperties",
  "minProperties",
  "minContains",
  "maxContains",
] as const;
const TEXTS = ["title", "description", "format", "contentEncoding", "contentMediaType"] as const;
const FLAGS = ["uniqueItems", "deprecated"] as const;
const INNER = [
  "items",
  "additionalProperties",
  "not",
  "contains",
  "propertyNames",
  "if",
  "then",
  "else",
] as const;
const LISTS = ["allOf", "anyOf", "oneOf", "prefixItems"] as const;
const TYPES = ["string", "number", "integer", "boolean", "object", "array", "null"];
/** Words beside a reference that say nothing about what fits. */
const ANNOTATIONS = new Set([
  "title",
  "description",
  "deprecated",
  "default",
  "example",
  "examples",
  "summary",
]);

interface Spot {
  /** JSON pointer of what is read. */
  readonly at: string;
  /** How deep what is written stands. */
  readonly level: number;
  /** References that lead here: one that comes again is a circle. */
  readonly through: readonly string[];
}

export function convertSchema(given: Json | undefined, at: string, to: Conversion): Json {
  return convert(given ?? true, { at, level: 0, through: [] }, to);
}

function convert(given: Json, spot: Spot, to: Conversion): Json {
  if (typeof given === "boolean") return given ? {} : { not: {} };
  const note = (message: string): JsonObject => {
    to.notes.push({ path: spot.at, message });
    return {};
  };
  if (!isObject(given))
    return note(`expected a schema, got ${shown(given)}; anything is taken here`);
  if (spot.level > MAX_LEVELS)
    return note(`more than ${MAX_LEVELS} levels deep; anything is taken below`);
  if (--to.partsLeft < 0) return note("the schema is too large; anything is taken from here on");
  const { $ref: reference, ...beside } = given;
  if (reference !== undefined) return behind(reference, beside, spot, to, note);
  if (given["$dynamicRef"] !== undefined)
    return note("$dynamicRef is not followed; anything is taken here");
  const made: Record<string, Json> = { ...plainWords(given, spot, to), ...inner(given, spot, to) };
  return to.document.version === "3.0" ? asNullable(made, given) : made;
}

/** What a reference stands for, with the words beside it. */
function behind(
  reference: Json,
  beside: JsonObject,
  spot: Spot,
  to: Conversion,
  note: (message: string) => JsonObject,
): Json {
  const target = targetOf(reference);
  if (target === null)
    return note(
      `refers to ${shown(reference)}; only references within the document are followed, so anything is taken here`,
    );
  if (spot.through.includes(target))
    return note(`${target} refers to itself; anything is taken below`);
  const value = valueIn(to.document.root, target);
  if (value === undefined)
    return note(`refers to ${shown(reference)}, which is not there; anything is taken here`);
  const made = convert(
    value,
    { at: target, level: spot.level, through: [...spot.through, target] },
    to,
  );
  // 3.0 reads nothing beside a reference.
  if (to.document.version === "3.0" || Object.keys(beside).length === 0 || !isObject(made))
    return made;
  const words = Object.fromEntries(TEXTS.flatMap((key) => textAt(beside, key)));
  if (Object.keys(beside).every((key) => ANNOTATIONS.has(key))) return { ...made, ...words };
  return { allOf: [made, convert(beside, { ...spot, level: spot.level + 2 }, to)] };
}

function plainWords(given: JsonObject, spot: Spot, to: Conversion): Record<string, Json> {
  const made: Record<string, Json> = {};
  const note = (key: string, message: string): void =>
    void to.notes.push({ path: `${spot.at}/${key}`, message });
  const { type, pattern, enum: choices, required } = given;
  const types = [type ?? []].flat() as readonly Json[];
  if (types.length > 0) {
    if (types.every((one) => typeof one === "string" && TYPES.includes(one)))
      made["type"] = type ?? null;
    else note("type", `${shown(type)} is no type; any is taken`);
  }
  for (const key of TEXTS) Object.assign(made, Object.fromEntries(textAt(given, key)));
  for (const key of NUMBERS) if (typeof given[key] === "number") made[key] = given[key];
  for (const key of FLAGS) if (given[key] === true) made[key] = true;
  for (const [limit, excluded] of [
    ["minimum", "exclusiveMinimum"],
    ["maximum", "exclusiveMaximum"],
  ] as const) {
    const value = given[excluded];
    if (typeof value === "number") made[excluded] = value;
    if (value !== true || typeof made[limit] !== "number") continue;
    made[excluded] = made[limit];
    delete made[limit];
  }
  if (typeof pattern === "string") {
    const fault = schemaFault({ pattern });
    if (fault === null) made["pattern"] = pattern;
    else note("pattern", `left out: ${fault}`);
  }
  if (Array.isArray(choices) && choices.length > 0) {
    if (isSmall(choices as Json)) made["enum"] = choices as Json;
    else note("enum", "left out: too large");
  }
  for (const key of ["const", "default"] as const) {
    const value = given[key];
    if (value !== undefined && isSmall(value)) made[key] = value;
  }
  if (Array.isArray(required)) {
    const names = required.filter((name) => typeof name === "string");
    if (names.length > 0) made["required"] = names;
  }
  if (isObject(given["dependentRequired"]) && isSmall(given["dependentRequired"]))
    made["dependentRequired"] = given["dependentRequired"];
  return made;
}

function inner(given: JsonObject, spot: Spot, to: Conversion): Record<string, Json> {
  const made: Record<string, Json> = {};
  const below = (levels: number, ...steps: string[]): Spot => ({
    ...spot,
    at: `${spot.at}${pointer(...steps)}`,
    level: spot.level + levels,
  });
  for (const key of INNER) {
    const value = given[key];
    if (value === undefined) continue;
    // A list of schemas for `items` is of an older draft.
    made[key] = typeof value === "boolean" ? value : convert(value, below(1, key), to);
  }
  for (const key of LISTS) {
    const value = given[key];
    if (!Array.isArray(value) || value.length === 0) continue;
    made[key] = (value as readonly Json[]).map((one, index) =>
      convert(one, below(2, key, String(index)), to),
    );
  }
  for (const key of ["properties", "dependentSchemas", "patternProperties"] as const) {
    const value = given[key];
    if (!isObject(value)) continue;
    if (
      key === "patternProperties" &&
      schemaFault({
        patternProperties: Object.fromEntries(Object.keys(value).map((name) => [name, {}])),
      }) !== null
    ) {
      to.notes.push({
        path: `${spot.at}/${key}`,
        message: "left out: such patterns are not matched",
      });
      continue;
    }
    const kept = Object.entries(value).filter(
      ([, one]) => key !== "properties" || !isForOthers(one, to),
    );
    made[key] = Object.fromEntries(
      kept.map(([name, one]) => [name, convert(one, below(2, key, name), to)]),
    );
    const { required } = given;
    if (
      key !== "properties" ||
      !Array.isArray(required) ||
      kept.length === Object.keys(value).length
    )
      continue;
    const gone = new Set(Object.keys(value).filter((name) => !kept.some(([one]) => one === name)));
    made["required"] = required.filter((name) => typeof name === "string" && !gone.has(name));
  }
  return made;
}

/** A property that only the other direction has. */
function isForOthers(given: Json, { document, direction }: Conversion): boolean {
  const target = isObject(given) && given["$ref"] !== undefined ? targetOf(given["$ref"]) : null;
  const property = target === null ? given : valueIn(document.root, target);
  return isObject(property) && property[direction === "input" ? "readOnly" : "writeOnly"] === true;
}

/** `nullable` of 3.0 as a type of its own. */
function asNullable(made: Record<string, Json>, given: JsonObject): Json {
  if (given["nullable"] !== true) return made;
  const { type, enum: choices } = made;
  if (typeof type !== "string") return isEmpty(made) ? made : { anyOf: [made, { type: "null" }] };
  const withNull =
    Array.isArray(choices) && !choices.includes(null)
      ? { enum: [...(choices as readonly Json[]), null] }
      : {};
  return { ...made, type: [type, "null"], ...withNull };
}

const isEmpty = (made: object): boolean => Object.keys(made).length === 0;
const isSmall = (value: Json): boolean => JSON.stringify(value).length <= MAX_VALUE_CHARS;

function textAt(given: JsonObject, key: string): [string, string][] {
  const text = given[key];
  if (typeof text !== "string" || text === "") return [];
  return [[key, shortened(text, MAX_TEXT_CHARS)]];
}

export const shortened = (text: string, chars: number): string =>
  text.length > chars ? `${text.slice(0, chars - 1)}…` : text;
