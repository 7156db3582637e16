// Fills a schema from what a page says about itself: linked data, tables, lists, named values. By name, never by guess.
import type { Json, JsonObject } from "../../contract/call.ts";
import type { PageFacts } from "./browser.ts";
import { badArgument, fault } from "./faults.ts";

const KNOWN = new Set([
  "$schema",
  "title",
  "description",
  "type",
  "properties",
  "required",
  "items",
  "enum",
  "additionalProperties",
  "default",
  "examples",
  "minItems",
  "maxItems",
]);
const MAX_DEPTH = 5;
const MAX_FIELDS = 200;

/** Data that fits the schema, or schema_not_satisfied with every field that was not found. */
export function fill(schema: JsonObject, facts: PageFacts): Json {
  requireKnown(schema, "/schema", { depth: 0, fields: 0 });
  const missing: string[] = [];
  const linked = linkedObjects(facts);
  const data = build(schema, { facts, objects: linked, row: null }, "", missing);
  if (missing.length === 0 && data !== undefined) return data;
  throw fault(
    "schema_not_satisfied",
    `the page has no value for ${missing.slice(0, 20).join(", ") || "the schema"}`,
    "name fields as the page does (labels, table headers, meta names), make them optional, or extract text",
  );
}

interface Sources {
  readonly facts: PageFacts;
  /** JSON-LD objects, outermost first. */
  readonly objects: readonly JsonObject[];
  /** Inside a table: one row by header. */
  readonly row: ReadonlyMap<string, string> | null;
}

/** Undefined when the page has nothing for it. */
function build(
  schema: JsonObject,
  from: Sources,
  path: string,
  missing: string[],
): Json | undefined {
  switch (typeOf(schema)) {
    case "object":
      return buildObject(schema, from, path, missing);
    case "array":
      return buildArray(schema, from, path, missing);
    default: {
      const name = path.split("/").at(-1) ?? "";
      for (const found of candidates(name, from)) {
        const value = convert(found, schema);
        if (value !== undefined) return value;
      }
      missing.push(path || "/");
      return undefined;
    }
  }
}

function buildObject(
  schema: JsonObject,
  from: Sources,
  path: string,
  missing: string[],
): JsonObject {
  const required = new Set(arrayOf(schema["required"]).map(String));
  const result: Record<string, Json> = {};
  for (const [name, part] of Object.entries(objectOf(schema["properties"]))) {
    const own: string[] = [];
    const value = build(objectOf(part), from, `${path}/${name}`, own);
    if (value !== undefined && own.length === 0) result[name] = value;
    else if (required.has(name)) missing.push(...own);
  }
  return result;
}

function buildArray(
  schema: JsonObject,
  from: Sources,
  path: string,
  missing: string[],
): Json | undefined {
  const items = objectOf(schema["items"]);
  const name = words(path.split("/").at(-1) ?? "");
  const found =
    typeOf(items) === "object" ? rowsFor(items, from, name) : valuesFor(items, from, name);
  const most = typeof schema["maxItems"] === "number" ? schema["maxItems"] : 10_000;
  const least = typeof schema["minItems"] === "number" ? schema["minItems"] : 0;
  if (found && found.length >= least) return found.slice(0, most);
  missing.push(path || "/");
  return undefined;
}

/** From linked data of that name, else from the table whose headers answer most of the fields. */
function rowsFor(items: JsonObject, from: Sources, name: string): Json[] | null {
  const linked = from.objects
    .map((object) => get(object, name))
    .find((value) => Array.isArray(value));
  const tables = from.facts.tables.filter((table) => table.headers.length > 0);
  const fields = Object.keys(objectOf(items["properties"])).map(words);
  const score = (headers: readonly string[]) =>
    fields.filter((field) => headers.some((header) => words(header) === field)).length;
  const best = tables.toSorted((a, b) => score(b.headers) - score(a.headers))[0];
  const sources: Sources[] =
    linked !== undefined
      ? (linked as Json[]).map((entry) => ({ facts: EMPTY, objects: [objectOf(entry)], row: null }))
      : best && score(best.headers) > 0
        ? best.rows.map((row) => ({
            facts: EMPTY,
            objects: [],
            row: new Map(best.headers.map((header, at) => [words(header), row[at] ?? ""])),
          }))
        : [];
  const built = sources.flatMap((source) => {
    const missing: string[] = [];
    const value = buildObject(items, source, "", missing);
    return missing.length === 0 ? [value] : [];
  });
  return built.length > 0 ? built : null;
}

function valuesFor(items: JsonObject, from: Sources, name: string): Json[] | null {
  const linked = from.objects
    .map((object) => get(object, name))
    .find((value) => value !== undefined);
  const list = from.facts.lists.find((one) => words(one.name) === name)?.items;
  const column = from.facts.tables.flatMap((table) => {
    const at = table.headers.findIndex((header) => words(header) === name);
    return at < 0 ? [] : [table.rows.map((row) => row[at] ?? "")];
  })[0];
  const pairs = from.facts.pairs.filter(([key]) => words(key) === name).map(([, value]) => value);
  const found: readonly Json[] = linked !== undefined ? arrayOf(linked) : (list ?? column ?? pairs);
  const values = found.map((value) => convert(value, items)).filter((value) => value !== undefined);
  return values.length > 0 ? values : null;
}

function* candidates(name: string, { facts, objects, row }: Sources): Generator<Json> {
  const wanted = words(name);
  const cell = row?.get(wanted);
  if (cell !== undefined) yield cell;
  for (const object of objects) {
    const value = get(object, wanted);
    if (value !== undefined) yield value;
  }
  for (const [key, value] of facts.pairs) if (words(key) === wanted) yield value;
  // `og:price:amount` answers to price amount, then to its last word.
  for (const [key, value] of facts.pairs) if (words(key).endsWith(` ${wanted}`)) yield value;
}

const EMPTY: PageFacts = { title: "", url: "", pairs: [], tables: [], lists: [], linkedData: [] };

function convert(value: Json, schema: JsonObject): Json | undefined {
  const made = convertTo(value, typeOf(schema));
  const allowed = schema["enum"];
  if (made === undefined || !Array.isArray(allowed)) return made;
  const same = (option: Json) =>
    option === made ||
    (typeof option === "string" && typeof made === "string" && words(option) === words(made));
  return (allowed as Json[]).find(same);
}

function convertTo(value: Json, type: string): Json | undefined {
  if (Array.isArray(value))
    return value.length === 1 ? convertTo(value[0] as Json, type) : undefined;
  if (typeof value === "object" && value !== null) {
    const inner = (value as JsonObject)["name"] ?? (value as JsonObject)["@value"];
    return inner === undefined ? undefined : convertTo(inner, type);
  }
  const text = String(value ?? "").trim();
  switch (type) {
    case "string":
      return text === "" ? undefined : text;
    case "boolean":
      if (/^(true|yes|on|1|in ?stock)$/i.test(text)) return true;
      return /^(false|no|off|0|out of stock)$/i.test(text) ? false : undefined;
    case "integer":
    case "number": {
      const number = numberIn(text);
      return number === undefined || (type === "integer" && !Number.isInteger(number))
        ? undefined
        : number;
    }
    default:
      return undefined;
  }
}

/** `1,234.50 €` and `1.234,50` alike; nothing when the text holds more than one number. */
function numberIn(text: string): number | undefined {
  const found = text.match(/[-−]?\d[\d.,'\u00a0 ]*\d|[-−]?\d/g) ?? [];
  if (found.length !== 1) return undefined;
  const digits = (found[0] ?? "").replace("−", "-").replaceAll(/['\u00a0 ]/g, "");
  const mark =
    /[.,](?=\d{1,2}$|\d{4,}$)/.exec(digits) ??
    (/^-?0[.,]\d+$/.test(digits) ? /[.,]/.exec(digits) : null);
  const whole = mark ? digits.slice(0, mark.index) : digits;
  const number = Number(
    whole.replaceAll(/[.,]/g, "") + (mark ? `.${digits.slice(mark.index + 1)}` : ""),
  );
  return Number.isFinite(number) ? number : undefined;
}

/** Lower-case words: `unitPrice`, `unit_price` and `Unit price` are one name. */
function words(name: string): string {
  return name
    .replaceAll(/(\p{Ll})(\p{Lu})/gu, "$1 $2")
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]+/gu, " ")
    .trim();
}

function get(object: JsonObject, name: string): Json | undefined {
  const key = Object.keys(object).find((one) => words(one) === name);
  return key === undefined ? undefined : object[key];
}

/** Every object of the page's JSON-LD, outer ones first, up to a bound. */
function linkedObjects(facts: PageFacts): JsonObject[] {
  const found: JsonObject[] = [];
  const queue: Json[] = facts.linkedData.flatMap((text) => {
    try {
      return [JSON.parse(text) as Json];
    } catch {
      return [];
    }
  });
  while (queue.length > 0 && found.length < 1_000) {
    const value = queue.shift() ?? null;
    if (Array.isArray(value)) queue.push(...(value as Json[]).slice(0, 1_000));
    else if (typeof value === "object" && value !== null) {
      found.push(value as JsonObject);
      queue.push(
        ...Object.values(value as JsonObject).filter((inner) => typeof inner === "object"),
      );
    }
  }
  return found;
}

/** Only what can be promised is accepted: a keyword that we would ignore might be one the data breaks. */
function requireKnown(
  schema: JsonObject,
  path: string,
  seen: { depth: number; fields: number },
): void {
  const unknown = Object.keys(schema).find((keyword) => !KNOWN.has(keyword));
  if (unknown !== undefined)
    throw badArgument(
      `${path}/${unknown}`,
      `the schema keyword ${unknown} is not understood here`,
      "use type, properties, required, items, enum, minItems and maxItems",
    );
  if (!/^(object|array|string|number|integer|boolean)$/.test(typeOf(schema)))
    throw badArgument(
      `${path}/type`,
      "each part of the schema needs a type: object, array, string, number, integer or boolean",
      "add it",
    );
  if (++seen.fields > MAX_FIELDS || seen.depth >= MAX_DEPTH)
    throw badArgument(
      path,
      `the schema has more than ${MAX_FIELDS} parts or ${MAX_DEPTH} levels`,
      "ask for less at a time",
    );
  const inner = { depth: seen.depth + 1, fields: seen.fields };
  for (const [name, part] of Object.entries(objectOf(schema["properties"])))
    requireKnown(objectOf(part), `${path}/properties/${name}`, inner);
  if (typeOf(schema) === "array") requireKnown(objectOf(schema["items"]), `${path}/items`, inner);
  seen.fields = inner.fields;
}

const typeOf = (schema: JsonObject): string =>
  typeof schema["type"] === "string" ? schema["type"] : "";
const arrayOf = (value: Json | undefined): readonly Json[] =>
  Array.isArray(value) ? (value as readonly Json[]) : value === undefined ? [] : [value];
const objectOf = (value: Json | undefined): JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? (value as JsonObject) : {};
