// JSON as we accept it and as we hash it: one parse, no ambiguity, canonical form by RFC 8785.
import { isAscii, isUtf8 } from "node:buffer";
import type { Json, JsonObject } from "../call.ts";

export class JsonFault extends Error {
  readonly kind: "syntax" | "ambiguous";
  constructor(kind: "syntax" | "ambiguous", message: string) {
    super(message);
    this.kind = kind;
  }
}

const MAX_DEPTH = 64;

/**
 * Parses a body strictly: UTF-8 only, no duplicate keys, no `__proto__`, no number that JavaScript would change.
 * JSON.parse does the work; one walk over the value and one scan over the text find what it lets through.
 */
export function parseStrict(body: Uint8Array): Json {
  const text = textOf(Buffer.isBuffer(body) ? body : Buffer.from(body));
  let value: Json;
  try {
    value = JSON.parse(text) as Json;
  } catch (cause) {
    throw new JsonFault("syntax", cause instanceof Error ? cause.message : "not JSON");
  }
  const walked = { keys: 0, bigNumber: false };
  walk(value, 0, walked);
  // JSON.parse keeps the last of two equal keys, so a repeated key makes the counts differ.
  if (walked.keys !== countKeys(text)) throw new JsonFault("ambiguous", "an object repeats a key");
  if (walked.bigNumber && hasLossyInteger(text)) {
    throw new JsonFault(
      "ambiguous",
      "an integer beyond 2^53 would lose digits; send it as a string",
    );
  }
  return value;
}

function textOf(body: Buffer): string {
  // Most bodies are plain ASCII, which needs no decoding.
  if (isAscii(body)) return body.toString("latin1");
  if (!isUtf8(body)) throw new JsonFault("syntax", "the body is not valid UTF-8");
  return body.toString("utf8");
}

function walk(value: Json, depth: number, seen: { keys: number; bigNumber: boolean }): void {
  if (typeof value === "number") {
    if (!Number.isFinite(value)) throw new JsonFault("ambiguous", "a number is too large");
    if (value > Number.MAX_SAFE_INTEGER || value < -Number.MAX_SAFE_INTEGER) seen.bigNumber = true;
    return;
  }
  if (typeof value !== "object" || value === null) return;
  if (depth >= MAX_DEPTH) throw new JsonFault("ambiguous", `nested deeper than ${MAX_DEPTH}`);
  if (Array.isArray(value)) {
    for (const item of value as readonly Json[]) walk(item, depth + 1, seen);
    return;
  }
  for (const key of Object.keys(value)) {
    if (key === "__proto__") throw new JsonFault("ambiguous", "the key __proto__ is not allowed");
    seen.keys++;
    walk((value as Record<string, Json>)[key] ?? null, depth + 1, seen);
  }
}

/** Colons outside strings; the text is known to be valid JSON. */
function countKeys(text: string): number {
  let keys = 0;
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i);
    if (c === COLON) keys++;
    else if (c === QUOTE) i = endOfString(text, i);
  }
  return keys;
}

const QUOTE = 34;
const COLON = 58;
const BACKSLASH = 92;

/** Jumps from quote to quote; one behind an odd number of backslashes does not end the string. */
function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); ; end = text.indexOf('"', end + 1)) {
    let before = end - 1;
    while (text.charCodeAt(before) === BACKSLASH) before--;
    if ((end - before) % 2 === 1) return end;
  }
}

function hasLossyInteger(text: string): boolean {
  const withoutStrings = text.replace(/"(?:[^"\\]|\\.)*"/gs, '""');
  for (const [literal] of withoutStrings.matchAll(/-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g)) {
    // What JavaScript would print as it came in has lost nothing.
    if (literal.length > 15 && /^-?\d+$/.test(literal) && String(Number(literal)) !== literal)
      return true;
  }
  return false;
}

/** RFC 8785: keys in UTF-16 order, numbers as ECMAScript prints them, no white space. */
export function canonicalJson(value: Json | undefined): string {
  if (value === undefined) return "null";
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${(value as readonly Json[]).map(canonicalJson).join(",")}]`;
  const object = value as { readonly [key: string]: Json | undefined };
  const parts: string[] = [];
  for (const key of Object.keys(object).sort()) {
    if (object[key] !== undefined)
      parts.push(`${JSON.stringify(key)}:${canonicalJson(object[key])}`);
  }
  return `{${parts.join(",")}}`;
}

/** What a JSON pointer leads to; undefined for what is absent or null. */
export function valueAt(given: JsonObject, pointer: string): Json | undefined {
  let value: Json = given;
  for (const step of pointer.split("/").slice(1)) {
    const key = step.replaceAll("~1", "/").replaceAll("~0", "~");
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, key)) return undefined;
    // It is there, so it is no undefined.
    value = (value as Record<string, Json>)[key] as Json;
  }
  return value ?? undefined;
}
