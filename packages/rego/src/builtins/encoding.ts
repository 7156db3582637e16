import { RegoObject, RegoSet, isArray } from "../values/value.ts";
import type { Value } from "../values/value.ts";
import { keyText } from "../values/json.ts";
import { compareStrings } from "../values/value.ts";
import { BOOLEAN, STRING, anyOf, arrayOf, objectOf, setOf } from "../types/type.ts";
import { CorruptInput, decodeBase64, encodeBase64, encodeHex } from "../go/base64.ts";
import type { Alphabet } from "../go/base64.ts";
import {
  UrlError,
  hostname,
  parseQuery,
  parseUrl,
  port,
  queryEscape,
  unescape,
} from "../go/url.ts";
import { decodeUtf8, encodeUtf8 } from "../go/utf8.ts";
import type { Builtin } from "./builtin.ts";
import { arg, badOperand, fail, fn, string, wrongType } from "./operands.ts";
import type { Args } from "./operands.ts";

/** Runs Go-like code and turns its own errors into failures of the built-in. */
function guarded<T>(run: () => T): T {
  try {
    return run();
  } catch (error) {
    if (error instanceof CorruptInput || error instanceof UrlError) return fail(error.message);
    throw error;
  }
}

export function base64Bytes(text: string, kind: Alphabet = "standard"): Uint8Array {
  return guarded(() => decodeBase64(encodeUtf8(text), kind));
}

/** base64url with or without padding. */
export function base64UrlBytes(text: string): Uint8Array {
  const size = encodeUtf8(text).length;
  let padded = text;
  if (!text.endsWith("=")) {
    if (size % 4 === 1) return fail(`illegal base64url string: ${text}`);
    padded += "=".repeat((4 - (size % 4)) % 4);
  }
  return base64Bytes(padded, "url");
}

export function hexText(args: Args): Value {
  const bytes = encodeUtf8(string(args, 1));
  const bad = bytes.findIndex((byte) => !/^[0-9a-fA-F]$/.test(String.fromCharCode(byte)));
  // An odd length is only found once all whole pairs were read.
  if (bad >= 0) return fail(`encoding/hex: invalid byte: ${describeByte(bytes[bad] ?? 0)}`);
  if (bytes.length % 2 === 1) return fail("encoding/hex: odd length hex string");
  const pairs = decodeUtf8(bytes).match(/../g) ?? [];
  return decodeUtf8(Uint8Array.from(pairs, (pair) => parseInt(pair, 16)));
}

function describeByte(byte: number): string {
  const code = `U+${byte.toString(16).toUpperCase().padStart(4, "0")}`;
  const char = String.fromCharCode(byte);
  return /^[\p{L}\p{M}\p{N}\p{P}\p{S} ]$/u.test(char) ? `${code} '${char}'` : code;
}

function isBase64(args: Args): Value {
  const text = arg(args, 1);
  if (typeof text !== "string") return false;
  try {
    decodeBase64(encodeUtf8(text), "standard");
    return true;
  } catch (error) {
    if (error instanceof CorruptInput) return false;
    throw error;
  }
}

const VALUES_WRONG = "values must be string, array[string], or set[string]";

function encodeObject(args: Args): Value {
  const source = arg(args, 1);
  if (!(source instanceof RegoObject)) return wrongType(1, source, "object");
  const pairs = source.entries().map(([key, value]): [string, readonly Value[]] => {
    if (typeof value === "string") return [keyText(key), [value]];
    if (isArray(value)) return [keyText(key), value];
    return value instanceof RegoSet ? [keyText(key), value.items()] : badOperand(1, VALUES_WRONG);
  });
  return pairs
    .sort((a, b) => compareStrings(a[0], b[0]))
    .flatMap(([key, values]) =>
      values.map((value) =>
        typeof value === "string"
          ? `${queryEscape(key)}=${queryEscape(value)}`
          : badOperand(1, VALUES_WRONG),
      ),
    )
    .join("&");
}

function decodeObject(args: Args): Value {
  const grouped = new Map<string, string[]>();
  for (const [key, value] of guarded(() => parseQuery(string(args, 1)))) {
    const values = grouped.get(key);
    if (values === undefined) grouped.set(key, [value]);
    else values.push(value);
  }
  return RegoObject.of(grouped);
}

function uriParts(args: Args): Value {
  const url = guarded(() => parseUrl(string(args, 1)));
  const parts: [string, string][] = [
    ["scheme", url.scheme],
    ["hostname", hostname(url)],
    ["port", port(url)],
    ["path", url.path],
    ["raw_path", url.path === "" ? "" : url.rawPath || url.path],
    ["raw_query", url.rawQuery],
    ["fragment", url.fragment],
  ];
  return RegoObject.of(parts.filter(([, text]) => text !== ""));
}

function isUri(args: Args): Value {
  const text = arg(args, 1);
  if (typeof text !== "string" || text === "") return false;
  try {
    parseUrl(text);
    return true;
  } catch (error) {
    if (error instanceof UrlError) return false;
    throw error;
  }
}

const encoder = (name: string, kind: Alphabet, padded: boolean): Builtin =>
  fn(name, [STRING], STRING, (a) => encodeBase64(encodeUtf8(string(a, 1)), kind, padded));

const MANY = anyOf(STRING, arrayOf(STRING), setOf(STRING));

export const ENCODING: readonly Builtin[] = [
  encoder("base64.encode", "standard", true),
  encoder("base64url.encode", "url", true),
  encoder("base64url.encode_no_pad", "url", false),
  fn("base64.decode", [STRING], STRING, (a) => decodeUtf8(base64Bytes(string(a, 1)))),
  fn("base64.is_valid", [STRING], BOOLEAN, isBase64),
  fn("base64url.decode", [STRING], STRING, (a) => decodeUtf8(base64UrlBytes(string(a, 1)))),
  fn("hex.encode", [STRING], STRING, (a) => encodeHex(encodeUtf8(string(a, 1)))),
  fn("hex.decode", [STRING], STRING, hexText),
  fn("urlquery.encode", [STRING], STRING, (a) => queryEscape(string(a, 1))),
  fn("urlquery.decode", [STRING], STRING, (a) => {
    const text = string(a, 1);
    return guarded(() => unescape(text, "query"));
  }),
  fn("urlquery.encode_object", [objectOf(STRING, MANY)], STRING, encodeObject),
  fn("urlquery.decode_object", [STRING], objectOf(STRING, arrayOf(STRING)), decodeObject),
  fn("uri.parse", [STRING], objectOf(STRING, STRING), uriParts),
  fn("uri.is_valid", [STRING], BOOLEAN, isUri),
];
