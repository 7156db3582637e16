import { numberText, toDouble } from "../values/number.ts";
import { RegoObject, isArray, isNumber } from "../values/value.ts";
import type { Value } from "../values/value.ts";
import { valueText } from "../values/text.ts";
import { ANY, BOOLEAN, NUMBER, STRING, anyOf, arrayOf, objectOf, setOf } from "../types/type.ts";
import { sprintf } from "../go/format.ts";
import type { FormatArg } from "../go/format.ts";
import type { Builtin, BuiltinContext } from "./builtin.ts";
import {
  arg,
  array,
  asInt64,
  badOperand,
  fail,
  fn,
  int,
  list,
  object,
  string,
  stringList,
  wrongElement,
  wrongType,
} from "./operands.ts";
import type { Args } from "./operands.ts";
import { replaceAll } from "./replacer.ts";

const STRINGS_TYPE = anyOf(arrayOf(STRING), setOf(STRING));
const STRING_OR_MANY = anyOf(STRING, arrayOf(STRING), setOf(STRING));

/** Longer results end the call: a few nested `replace` calls would otherwise fill the memory. */
export const MAX_STRING = 64 * 1024 * 1024;

function bounded(text: string, ctx: BuiltinContext): string {
  if (text.length > MAX_STRING) fail(`result is longer than ${MAX_STRING} characters`);
  ctx.tick(1 + (text.length >> 6));
  return text;
}

function concat(args: Args, ctx: BuiltinContext): Value {
  const separator = string(args, 1);
  const whole = arg(args, 2);
  const parts = list(args, 2, "set", "array").map((item) =>
    typeof item === "string" ? item : wrongElement(2, whole, item, "string"),
  );
  const size = parts.reduce((sum, part) => sum + part.length + separator.length, 0);
  if (size > MAX_STRING) return fail(`result is longer than ${MAX_STRING} characters`);
  return bounded(parts.join(separator), ctx);
}

/** Positions count code points, not UTF-16 units. */
function positions(args: Args, limit: number, ctx: BuiltinContext): number[] {
  const text = string(args, 1);
  const search = string(args, 2);
  if (search === "") fail("empty search character");
  const found: number[] = [];
  let points = 0;
  let from = 0;
  for (let at = text.indexOf(search); at >= 0; at = text.indexOf(search, at + 1)) {
    ctx.tick();
    for (; from < at; from++) if (!isTrail(text, from)) points++;
    if (isTrail(text, at)) continue;
    found.push(points);
    if (found.length >= limit) break;
  }
  return found;
}

function isTrail(text: string, i: number): boolean {
  const unit = text.charCodeAt(i);
  if (unit < 0xdc00 || unit > 0xdfff || i === 0) return false;
  const before = text.charCodeAt(i - 1);
  return before >= 0xd800 && before <= 0xdbff;
}

function substring(args: Args): Value {
  const text = string(args, 1);
  const start = int(args, 2);
  const length = int(args, 3);
  if (start < 0) return fail("negative offset");
  const runes = Array.from(text);
  return runes.slice(start, length < 0 ? undefined : start + length).join("");
}

export function split(text: string, separator: string): string[] {
  return separator === "" ? Array.from(text) : text.split(separator);
}

function splitN(args: Args, ctx: BuiltinContext): Value {
  const text = string(args, 1);
  const separator = string(args, 2);
  const n = int(args, 3);
  const parts = split(text, separator);
  ctx.tick(parts.length);
  return n >= 0 ? parts.slice(0, n) : parts.slice(Math.max(parts.length + n, 0));
}

function count(text: string, search: string): number {
  return search === "" ? Array.from(text).length + 1 : text.split(search).length - 1;
}

function replaceN(args: Args, ctx: BuiltinContext): Value {
  const patterns = object(args, 1);
  const text = string(args, 2);
  const pairs = patterns.entries().map(([key, value]): [string, string] => {
    if (typeof key !== "string") return badOperand(1, "non-string key found in pattern object");
    if (typeof value !== "string") return badOperand(1, "non-string value found in pattern object");
    return [key, value];
  });
  return bounded(replaceAll(text, pairs, MAX_STRING, ctx), ctx);
}

function trimWhile(text: string, cut: string, left: boolean, right: boolean): string {
  const set = new Set(cut);
  const runes = Array.from(text);
  let start = 0;
  let end = runes.length;
  if (left) while (start < end && set.has(runes[start] as string)) start++;
  if (right) while (end > start && set.has(runes[end - 1] as string)) end--;
  return runes.slice(start, end).join("");
}

const trimmer = (name: string, left: boolean, right: boolean): Builtin =>
  fn(name, [STRING, STRING], STRING, (a) => trimWhile(string(a, 1), string(a, 2), left, right));

// Go's unicode.IsSpace: JS also trims U+FEFF, Go also trims U+0085.
const SPACE =
  "[\\t\\n\\v\\f\\r \\u0085\\u00a0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000]";
const LEADING = new RegExp(`^${SPACE}+`);

export function trimSpace(text: string): string {
  const start = LEADING.exec(text)?.[0].length ?? 0;
  let end = text.length;
  while (end > start && LEADING.test(text.charAt(end - 1))) end--;
  return text.slice(start, end);
}

/** Go maps code point by code point: no special casing such as ß to SS. */
function mapCase(text: string, map: (char: string) => string): string {
  let out = "";
  for (const char of text) {
    const mapped = map(char);
    out += Array.from(mapped).length === 1 ? mapped : char;
  }
  return out;
}

const lower = (text: string): string => mapCase(text, (c) => (c === "İ" ? "i" : c.toLowerCase()));
const upper = (text: string): string => mapCase(text, (c) => GREEK_UPPER.get(c) ?? c.toUpperCase());

/** Greek letters with iota below have a one-letter capital that JS does not choose. */
const GREEK_UPPER = new Map<string, string>([
  ...[0x1f80, 0x1f90, 0x1fa0].flatMap((start) =>
    Array.from({ length: 8 }, (_, i): [string, string] => [
      String.fromCharCode(start + i),
      String.fromCharCode(start + i + 8),
    ]),
  ),
  ...["\u1fb3", "\u1fc3", "\u1ff3"].map((c): [string, string] => [
    c,
    String.fromCharCode(c.charCodeAt(0) + 9),
  ]),
]);

export function reverse(text: string): string {
  return Array.from(text).reverse().join("");
}

function oneOrMany(args: Args, pos: number): readonly string[] {
  const value = arg(args, pos);
  if (typeof value === "string") return [value];
  if (
    isArray(value) ||
    !(value === null || typeof value !== "object" || value instanceof RegoObject || isNumber(value))
  ) {
    return stringList(args, pos);
  }
  return wrongType(pos, value, "string", "set", "array");
}

const anyMatch = (name: string, holds: (text: string, part: string) => boolean): Builtin =>
  fn(name, [STRING_OR_MANY, STRING_OR_MANY], BOOLEAN, (a, ctx) => {
    const texts = oneOrMany(a, 1);
    const parts = oneOrMany(a, 2);
    return parts.some((part) => {
      ctx.tick(texts.length);
      return texts.some((text) => holds(text, part));
    });
  });

/** How a Rego value reaches Go's fmt. */
export function formatArg(value: Value): FormatArg {
  if (typeof value === "string") return { kind: "string", value };
  if (!isNumber(value)) return { kind: "string", value: valueText(value) };
  const small = asInt64(value);
  if (small !== undefined) return { kind: "int", value: small, big: false };
  const text = numberText(value);
  if (/[.eE]/.test(text)) {
    const near = toDouble(value);
    if (Number.isFinite(near)) return { kind: "float", value: near };
  } else if (/^-?\d+$/.test(text)) return { kind: "int", value: BigInt(text), big: true };
  return { kind: "string", value: text };
}

const test = (name: string, holds: (text: string, part: string) => boolean): Builtin =>
  fn(name, [STRING, STRING], BOOLEAN, (a) => holds(string(a, 1), string(a, 2)));

export const STRINGS: readonly Builtin[] = [
  fn("concat", [STRING, STRINGS_TYPE], STRING, concat),
  test("contains", (text, part) => text.includes(part)),
  test("startswith", (text, part) => text.startsWith(part)),
  test("endswith", (text, part) => text.endsWith(part)),
  anyMatch("strings.any_prefix_match", (text, part) => text.startsWith(part)),
  anyMatch("strings.any_suffix_match", (text, part) => text.endsWith(part)),
  fn("indexof", [STRING, STRING], NUMBER, (a, ctx) => positions(a, 1, ctx)[0] ?? -1),
  fn("indexof_n", [STRING, STRING], arrayOf(NUMBER), (a, ctx) => positions(a, Infinity, ctx)),
  fn("substring", [STRING, NUMBER, NUMBER], STRING, substring),
  fn("strings.count", [STRING, STRING], NUMBER, (a) => count(string(a, 1), string(a, 2))),
  fn("lower", [STRING], STRING, (a) => lower(string(a, 1))),
  fn("upper", [STRING], STRING, (a) => upper(string(a, 1))),
  fn("split", [STRING, STRING], arrayOf(STRING), (a, ctx) => {
    const parts = split(string(a, 1), string(a, 2));
    ctx.tick(parts.length);
    return parts;
  }),
  fn("strings.split_n", [STRING, STRING, NUMBER], arrayOf(STRING), splitN),
  fn("replace", [STRING, STRING, STRING], STRING, (a, ctx) => {
    const text = string(a, 1);
    return bounded(replaceAll(text, [[string(a, 2), string(a, 3)]], MAX_STRING, ctx), ctx);
  }),
  fn("strings.replace_n", [objectOf(STRING, STRING), STRING], STRING, replaceN),
  trimmer("trim", true, true),
  trimmer("trim_left", true, false),
  trimmer("trim_right", false, true),
  fn("trim_prefix", [STRING, STRING], STRING, (a) => {
    const [text, part] = [string(a, 1), string(a, 2)];
    return text.startsWith(part) ? text.slice(part.length) : text;
  }),
  fn("trim_suffix", [STRING, STRING], STRING, (a) => {
    const [text, part] = [string(a, 1), string(a, 2)];
    return text.endsWith(part) ? text.slice(0, text.length - part.length) : text;
  }),
  fn("trim_space", [STRING], STRING, (a) => trimSpace(string(a, 1))),
  fn("strings.reverse", [STRING], STRING, (a) => reverse(string(a, 1))),
  fn("sprintf", [STRING, arrayOf(ANY)], STRING, (a, ctx) =>
    bounded(sprintf(string(a, 1), array(a, 2).map(formatArg)), ctx),
  ),
];
