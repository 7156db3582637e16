// `k=v` words become the arguments of a call, each value in the type the tool's schema asks for.
import { readFileSync } from "node:fs";
import type { Json, JsonObject } from "../contract/call.ts";
import { usage } from "./client/fail.ts";

interface SchemaNode {
  readonly type?: string | readonly string[];
  readonly properties?: Readonly<Record<string, SchemaNode>>;
  readonly items?: SchemaNode;
  readonly anyOf?: readonly SchemaNode[];
  readonly oneOf?: readonly SchemaNode[];
  readonly enum?: readonly Json[];
  readonly const?: Json;
}

/** Does any word need the schema? `k:=json` does not. */
export function needsSchema(words: readonly string[]): boolean {
  return words.some((word) => !/^[^=]*:=/.test(word));
}

export function parsePairs(
  words: readonly string[],
  schema: JsonObject | null,
): Record<string, Json> {
  const properties = ((schema ?? {}) as SchemaNode).properties ?? {};
  const result: Record<string, Json> = {};
  for (const word of words) {
    const at = word.indexOf("=");
    if (at < 1)
      throw usage(`expected name=value, got ${JSON.stringify(word)}`, "name=text, or name:=<json>");
    const forced = word[at - 1] === ":";
    const name = word.slice(0, forced ? at - 1 : at);
    const text = word.slice(at + 1);
    if (Object.hasOwn(result, name))
      throw usage(`${name} is given twice`, 'for a list write name=a,b or name:=\'["a","b"]\'');
    result[name] = forced ? parseJson(text, name) : typed(text, properties[name], name);
  }
  return result;
}

function typed(text: string, schema: SchemaNode | undefined, name: string): Json {
  const types = typesOf(schema);
  if (types.has("string") || types.size === 0) return text;
  if (
    (types.has("integer") || types.has("number")) &&
    /^-?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text)
  )
    return Number(text);
  if (types.has("boolean") && /^(true|false)$/i.test(text)) return text.toLowerCase() === "true";
  if (types.has("null") && text === "null") return null;
  if (types.has("array"))
    return text.trimStart().startsWith("[") ? parseJson(text, name) : listOf(text, schema, name);
  if (types.has("object")) return parseJson(text, name);
  return text; // the gate says what was expected, with the right words
}

function listOf(text: string, schema: SchemaNode | undefined, name: string): Json {
  const items =
    schema?.items ??
    [...(schema?.anyOf ?? []), ...(schema?.oneOf ?? [])].find((each) => each.items)?.items;
  return text === "" ? [] : text.split(",").map((item) => typed(item.trim(), items, name));
}

function typesOf(schema: SchemaNode | undefined): Set<string> {
  const found = new Set<string>();
  if (!schema) return found;
  for (const type of [schema.type ?? []].flat()) found.add(type);
  for (const value of [
    ...(schema.enum ?? []),
    ...(schema.const === undefined ? [] : [schema.const]),
  ])
    found.add(value === null ? "null" : typeof value);
  for (const each of [...(schema.anyOf ?? []), ...(schema.oneOf ?? [])])
    for (const type of typesOf(each)) found.add(type);
  return found;
}

/** `--args`, or the flag that is named: JSON, `@file`, or `-` for stdin. */
export function parseArgs(
  source: string,
  readStdin: () => string,
  flag = "--args",
): Record<string, Json> {
  let text: string;
  try {
    text =
      source === "-"
        ? readStdin()
        : source.startsWith("@")
          ? readFileSync(source.slice(1), "utf8")
          : source;
  } catch (cause) {
    throw usage(
      `${flag}: ${source} cannot be read (${(cause as NodeJS.ErrnoException).code ?? ""})`,
    );
  }
  const value = parseJson(text, flag);
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw usage(`${flag}: expected a JSON object`);
  return value as Record<string, Json>;
}

function parseJson(text: string, name: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch (cause) {
    throw usage(`${name}: not valid JSON: ${cause instanceof Error ? cause.message : ""}`);
  }
}
