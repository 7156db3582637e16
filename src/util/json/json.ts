// JSON as we accept it and as we hash it: one parse, no ambiguity, canonical form by RFC 8785.
import { isAscii, isUtf8 } from "node:buffer";
import type { Json, JsonObject } from "../../contract/call.ts";

export class JsonFault extends Error {
  /** size: it holds more values than are taken. */
  readonly kind: "syntax" | "ambiguous" | "size";
  constructor(kind: "syntax" | "ambiguous" | "size", message: string) {
    super(message);
    this.kind = kind;
  }
}

const MAX_DEPTH = 64;
/** Time goes with the number of values, not of bytes: beyond these a body of some MB would delay all other requests. */
export const MAX_VALUES = 200_000;
export const MAX_KEYS = 30_000;
/** No shorter text can hold too many: a value takes two characters, a key with its value five. */
const COUNTED_FROM = Math.min(2 * MAX_VALUES, 5 * MAX_KEYS);

/**
 * Parses a body strictly: UTF-8 only, no duplicate keys, no `__proto__`, no number that JavaScript would change, not
 * more values than can be worked through at once. JSON.parse does the work; one walk over the value and one scan over
 * the text find what it lets through.
 */
export function parseStrict(body: Uint8Array): Json {
  const text = textOf(Buffer.isBuffer(body) ? body : Buffer.from(body));
  const keysInText = text.length < COUNTED_FROM ? null : countedKeys(text);
  let value: Json;
  try {
    value = JSON.parse(text) as Json;
  } catch (cause) {
    throw new JsonFault("syntax", cause instanceof Error ? cause.message : "not JSON");
  }
  const walked = { keys: 0, bigNumber: false };
  walk(value, 0, walked);
  // JSON.parse keeps the last of two equal keys, so a repeated key makes the counts differ.
  if (walked.keys !== (keysInText ?? countedKeys(text)))
    throw new JsonFault("ambiguous", "an object repeats a key");
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

/** Whether a text is no larger than what is parsed strictly: few enough values, and not too deep. */
export function isModest(text: string): boolean {
  if (text.length < MAX_DEPTH) return true;
  let depth = 0;
  try {
    countedKeys(text, (opened) => {
      depth += opened;
      if (depth > MAX_DEPTH) throw new JsonFault("size", "too deep");
    });
    return true;
  } catch (cause) {
    if (cause instanceof JsonFault) return false;
    throw cause;
  }
}

/**
 * Colons outside strings. Throws as soon as there is too much of anything; what is no JSON at all is found out later.
 */
function countedKeys(text: string, onBracket?: (opened: 1 | -1) => void): number {
  let keys = 0;
  let values = 0;
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i);
    if (c === QUOTE) i = endOfString(text, i);
    else if (c === COLON) keys++;
    else if (c === COMMA) values++;
    else if (c === BRACKET || c === BRACE) {
      values++;
      onBracket?.(1);
    } else if (onBracket && (c === BRACKET_END || c === BRACE_END)) onBracket(-1);
    else continue;
    if (keys > MAX_KEYS) throw new JsonFault("size", `more than ${MAX_KEYS} keys`);
    if (values > MAX_VALUES) throw new JsonFault("size", `more than ${MAX_VALUES} values`);
  }
  return keys;
}

const QUOTE = 34;
const COMMA = 44;
const COLON = 58;
const BRACKET = 91;
const BACKSLASH = 92;
const BRACKET_END = 93;
const BRACE = 123;
const BRACE_END = 125;

/**
 * The first jump finds the end of most strings. From the first escaped quote on it goes character by character: in a
 * text of nothing but such quotes each further jump would cost more than the characters it passes.
 */
function endOfString(text: string, start: number): number {
  const quote = text.indexOf('"', start + 1);
  if (quote < 0) return text.length;
  let backslashes = quote - 1;
  while (text.charCodeAt(backslashes) === BACKSLASH) backslashes--;
  if ((quote - backslashes) % 2 === 1) return quote;
  for (let at = quote + 1; at < text.length; at++) {
    const c = text.charCodeAt(at);
    if (c === QUOTE) return at;
    if (c === BACKSLASH) at++;
  }
  return text.length;
}

/** The text is known to be valid JSON. */
function hasLossyInteger(text: string): boolean {
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i);
    if (c === QUOTE) i = endOfString(text, i);
    else if (isOfNumber(c)) {
      const start = i;
      while (isOfNumber(text.charCodeAt(i + 1))) i++;
      if (i - start < 15) continue;
      const literal = text.slice(start, i + 1);
      // What JavaScript would print as it came in has lost nothing.
      if (/^-?\d+$/.test(literal) && String(Number(literal)) !== literal) return true;
    }
  }
  return false;
}

/** Digits, `+`, `-`, `.` and the exponent's letter. */
const isOfNumber = (c: number): boolean =>
  (c >= 48 && c <= 57) || c === 43 || c === 45 || c === 46 || c === 69 || c === 101;

/** RFC 8785: keys in UTF-16 order, numbers as ECMAScript prints them, no white space. */
export function canonicalJson(value: Json | undefined): string {
  if (value === undefined || value === null) return "null";
  if (typeof value === "number") return Number.isFinite(value) ? `${value}` : "null";
  if (typeof value !== "object") return JSON.stringify(value);
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
