// Go's encoding/json for Rego values: exact numbers, Go's error texts, HTML-safe output.
import { parseNumber } from "../values/number.ts";
import { keyText } from "../values/json.ts";
import { MAX_DEPTH, Num, RegoObject, RegoSet, compareStrings } from "../values/value.ts";
import type { Value } from "../values/value.ts";

export class JsonError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "JsonError";
  }
}

const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
// eslint-disable-next-line no-control-regex -- JSON strings exclude exactly these
const PLAIN = /[^"\\\u0000-\u001f]*/y;

const ESCAPES: Readonly<Record<string, string>> = {
  '"': '"',
  "\\": "\\",
  "/": "/",
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
};

class Parser {
  private at = 0;
  private readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  run(): Value {
    const value = this.value(0);
    this.space();
    if (this.at < this.text.length) throw this.unexpected(this.afterValue());
    return value;
  }

  /** Go reads on for a second value before it complains. */
  private afterValue(): string {
    const start = /^["{[\-0-9tfn]/.test(this.text.slice(this.at, this.at + 1));
    return start ? "after top-level value" : "looking for beginning of value";
  }

  private unexpected(where: string): JsonError {
    const code = this.text.codePointAt(this.at);
    if (code === undefined) return new JsonError(/\S/.test(this.text) ? "unexpected EOF" : "EOF");
    return new JsonError(`invalid character ${quoteChar(code)} ${where}`);
  }

  private space(): void {
    for (;;) {
      const code = this.text.charCodeAt(this.at);
      if (code !== 32 && code !== 10 && code !== 13 && code !== 9) return;
      this.at++;
    }
  }

  private value(depth: number): Value {
    if (depth > MAX_DEPTH) throw new JsonError("exceeded max depth");
    this.space();
    const char = this.text.charAt(this.at);
    switch (char) {
      case "{":
        return this.object(depth);
      case "[":
        return this.array(depth);
      case '"':
        return this.string();
      case "t":
        return this.word("true", true);
      case "f":
        return this.word("false", false);
      case "n":
        return this.word("null", null);
      default:
        return this.number();
    }
  }

  private word(word: string, value: Value): Value {
    for (let i = 0; i < word.length; i++, this.at++) {
      if (this.text.charAt(this.at) === word.charAt(i)) continue;
      const rest = `in literal ${word} (expecting '${word.charAt(i)}')`;
      throw this.unexpected(rest);
    }
    return value;
  }

  private number(): Value {
    NUMBER.lastIndex = this.at;
    const match = NUMBER.exec(this.text);
    if (match === null) {
      if (this.text.charAt(this.at) !== "-")
        throw this.unexpected("looking for beginning of value");
      this.at++;
      throw this.unexpected("in numeric literal");
    }
    this.at += match[0].length;
    const next = this.text.charAt(this.at);
    if (next === "." || next === "e" || next === "E") {
      this.at++;
      if (next !== "." && /^[+-]$/.test(this.text.charAt(this.at))) this.at++;
      throw this.unexpected(
        next === "." ? "after decimal point in numeric literal" : "in exponent of numeric literal",
      );
    }
    return parseNumber(match[0]) ?? 0;
  }

  private string(): string {
    this.at++;
    let out = "";
    for (;;) {
      PLAIN.lastIndex = this.at;
      const plain = PLAIN.exec(this.text)?.[0] ?? "";
      out += plain;
      this.at += plain.length;
      const char = this.text.charAt(this.at);
      if (char === '"') {
        this.at++;
        return out.isWellFormed() ? out : repairSurrogates(out);
      }
      if (char !== "\\") throw this.unexpected("in string literal");
      this.at++;
      out += this.escape();
    }
  }

  private escape(): string {
    const char = this.text.charAt(this.at);
    if (char !== "u") {
      const plain = ESCAPES[char];
      if (plain === undefined) throw this.unexpected("in string escape code");
      this.at++;
      return plain;
    }
    this.at++;
    const start = this.at;
    for (; this.at < start + 4; this.at++) {
      if (!/^[0-9a-fA-F]$/.test(this.text.charAt(this.at))) {
        throw this.unexpected("in \\u hexadecimal character escape");
      }
    }
    return String.fromCharCode(parseInt(this.text.slice(start, start + 4), 16));
  }

  private array(depth: number): Value {
    this.at++;
    const items: Value[] = [];
    this.space();
    if (this.text.charAt(this.at) === "]") {
      this.at++;
      return items;
    }
    for (;;) {
      items.push(this.value(depth + 1));
      this.space();
      const char = this.text.charAt(this.at);
      if (char !== "," && char !== "]") throw this.unexpected("after array element");
      this.at++;
      if (char === "]") return items;
    }
  }

  private object(depth: number): Value {
    this.at++;
    const entries: [Value, Value][] = [];
    this.space();
    if (this.text.charAt(this.at) === "}") {
      this.at++;
      return RegoObject.EMPTY;
    }
    for (;;) {
      this.space();
      if (this.text.charAt(this.at) !== '"') {
        throw this.unexpected("looking for beginning of object key string");
      }
      const key = this.string();
      this.space();
      if (this.text.charAt(this.at) !== ":") throw this.unexpected("after object key");
      this.at++;
      entries.push([key, this.value(depth + 1)]);
      this.space();
      const char = this.text.charAt(this.at);
      if (char !== "," && char !== "}") throw this.unexpected("after object key:value pair");
      this.at++;
      if (char === "}") return RegoObject.of(entries);
    }
  }
}

function quoteChar(code: number): string {
  if (code === 0x27) return `'\\''`;
  if (code === 0x22) return `'"'`;
  const text = JSON.stringify(String.fromCodePoint(code)).slice(1, -1);
  return `'${text}'`;
}

/** Half a pair of \u escapes is U+FFFD to Go; raw bytes that are no UTF-8 are too. */
const repairSurrogates = (text: string): string => text.toWellFormed();

export function parseJson(text: string): Value {
  return new Parser(text).run();
}

const HTML_UNSAFE = /[<>&\u2028\u2029]/g;

function stringText(text: string): string {
  return JSON.stringify(text.toWellFormed()).replace(
    HTML_UNSAFE,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

export interface Indent {
  readonly prefix: string;
  readonly indent: string;
}

/** json.Marshal, or json.MarshalIndent when an indent is given. */
export function marshalJson(value: Value, indent?: Indent, depth = 0): string {
  if (depth > MAX_DEPTH) throw new JsonError("exceeded max depth");
  if (typeof value === "string") return stringText(value);
  if (typeof value !== "object" || value === null || value instanceof Num) return String(value);
  if (value instanceof RegoObject) return marshalObject(value, indent, depth);
  const items = value instanceof RegoSet ? value.items() : value;
  return enclose(
    "[",
    "]",
    items.map((item) => marshalJson(item, indent, depth + 1)),
    indent,
    depth,
  );
}

function marshalObject(value: RegoObject, indent: Indent | undefined, depth: number): string {
  const colon = indent === undefined ? ":" : ": ";
  const entries = value
    .entries()
    .map(([key, item]): [string, Value] => [keyText(key), item])
    .sort((a, b) => compareStrings(a[0], b[0]))
    .map(([key, item]) => stringText(key) + colon + marshalJson(item, indent, depth + 1));
  return enclose("{", "}", entries, indent, depth);
}

function enclose(
  open: string,
  close: string,
  parts: readonly string[],
  indent: Indent | undefined,
  depth: number,
): string {
  if (parts.length === 0 || indent === undefined) return open + parts.join(",") + close;
  const line = (level: number): string => `\n${indent.prefix}${indent.indent.repeat(level)}`;
  return open + line(depth + 1) + parts.join(`,${line(depth + 1)}`) + line(depth) + close;
}
