// Source text to tokens. Keywords are left to the parser: which words are keywords depends on imports.
import { loadFailure } from "../errors.ts";
import type { Location } from "../builtins/builtin.ts";
import type { Comment } from "../syntax/ast.ts";

export type TokenKind = "ident" | "number" | "string" | "template" | "punct" | "eof";

export interface Token {
  readonly kind: TokenKind;
  /** The word, the sign, the number as written or the decoded string. */
  readonly text: string;
  readonly offset: number;
  readonly end: number;
  readonly line: number;
  readonly column: number;
  /** White space or a comment precedes it. */
  readonly spaced: boolean;
  readonly newline: boolean;
  /** A template part: does it open one, is it the last, and is it a raw one? */
  readonly opens: boolean;
  readonly last: boolean;
  readonly raw: boolean;
}

export interface Lexed {
  readonly tokens: readonly Token[];
  readonly comments: readonly Comment[];
}

const PLAIN = { opens: false, last: false, raw: false };
const RAW = { ...PLAIN, raw: true };

interface Template {
  readonly raw: boolean;
  depth: number;
}

const IDENT = /[A-Za-z_][A-Za-z0-9_]*/y;
const NUMBER = /\d*(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const PUNCT = /:=|==|!=|<=|>=|[-[\]{}(),:+*/%&|=<>;.]/y;

class Lexer {
  readonly file: string;
  readonly source: string;
  readonly tokens: Token[] = [];
  readonly comments: Comment[] = [];
  offset = 0;
  line = 1;
  lineStart = 0;
  spaced = false;
  newline = false;
  readonly templates: Template[] = [];

  constructor(file: string, source: string) {
    this.file = file;
    this.source = source;
  }

  at(offset = this.offset): Location {
    return { file: this.file, line: this.line, column: offset - this.lineStart + 1 };
  }

  push(kind: TokenKind, text: string, start: number, flags = PLAIN): void {
    this.tokens.push({
      kind,
      text,
      offset: start,
      end: this.offset,
      line: this.line,
      column: start - this.lineStart + 1,
      spaced: this.spaced,
      newline: this.newline,
      ...flags,
    });
    this.spaced = false;
    this.newline = false;
  }

  match(pattern: RegExp): string {
    pattern.lastIndex = this.offset;
    return pattern.exec(this.source)?.[0] ?? "";
  }

  fail(message: string, at = this.at()): never {
    throw loadFailure("rego_parse_error", at, message);
  }
}

export function lex(file: string, source: string): Lexed {
  const lexer = new Lexer(file, source);
  if (source.charCodeAt(0) === 0xfeff) lexer.offset = lexer.lineStart = 1;
  while (lexer.offset < source.length) scan(lexer);
  lexer.push("eof", "", lexer.offset);
  return { tokens: lexer.tokens, comments: lexer.comments };
}

function scan(lexer: Lexer): void {
  const char = lexer.source[lexer.offset] as string;
  if (char === "\n") {
    lexer.offset++;
    lexer.line++;
    lexer.lineStart = lexer.offset;
    lexer.spaced = lexer.newline = true;
  } else if (char === " " || char === "\t" || char === "\r") {
    lexer.offset++;
    lexer.spaced = true;
  } else if (char === "#") scanComment(lexer);
  else if (char === '"') scanQuoted(lexer);
  else if (char === "`") scanRaw(lexer);
  else if (char === "$") scanTemplateStart(lexer);
  else if (char >= "0" && char <= "9") scanNumber(lexer);
  else scanWord(lexer, char);
}

function scanComment(lexer: Lexer): void {
  const end = lexer.source.indexOf("\n", lexer.offset);
  const stop = end < 0 ? lexer.source.length : end;
  const text = lexer.source.slice(lexer.offset + 1, stop).replace(/\r$/, "");
  lexer.comments.push({ text, loc: lexer.at(), offset: lexer.offset });
  lexer.offset = stop;
  lexer.spaced = true;
}

function scanNumber(lexer: Lexer): void {
  const start = lexer.offset;
  const text = lexer.match(NUMBER);
  lexer.offset += text.length;
  const next = lexer.source[lexer.offset] ?? "";
  if (/[A-Za-z_]/.test(next)) {
    lexer.fail(/[eE]/.test(next) ? "expected exponent" : "illegal number format");
  }
  if (next === "." && !text.includes(".") && !/[eE]/.test(text)) lexer.fail("expected fraction");
  if (/^0\d/.test(text)) {
    lexer.fail("unexpected number token: expected number without leading zero", lexer.at(start));
  }
  lexer.push("number", text, start);
}

function scanWord(lexer: Lexer, char: string): void {
  const start = lexer.offset;
  const word = lexer.match(IDENT);
  if (word !== "") {
    lexer.offset += word.length;
    lexer.push("ident", word, start);
    return;
  }
  const sign = lexer.match(PUNCT);
  if (sign === "") lexer.fail(char === "!" ? "illegal ! character" : "illegal token");
  const template = lexer.templates.at(-1);
  if (template && sign === "{") template.depth++;
  if (template && sign === "}" && template.depth-- === 0) {
    lexer.offset++;
    scanTemplatePart(lexer, template.raw, start);
    return;
  }
  lexer.offset += sign.length;
  lexer.push("punct", sign, start);
}

function scanQuoted(lexer: Lexer): void {
  const start = lexer.offset++;
  for (;;) {
    const char = lexer.source[lexer.offset];
    if (char === undefined || char === "\n") lexer.fail("non-terminated string", lexer.at(start));
    lexer.offset++;
    if (char === '"') break;
    if (char === "\\") skipEscape(lexer, false);
  }
  const text = decode(lexer, lexer.source.slice(start, lexer.offset), start);
  lexer.push("string", text, start, PLAIN);
}

function skipEscape(lexer: Lexer, template: boolean): void {
  const char = lexer.source[lexer.offset] ?? "";
  if (!'\\"/bfnrtu'.includes(char) && !(template && char === "{")) {
    lexer.fail("illegal escape sequence");
  }
  if (char === "") lexer.fail("non-terminated string");
  lexer.offset++;
}

// The escapes of Rego strings are those of JSON; control characters may stand as they are.
function decode(lexer: Lexer, quoted: string, start: number): string {
  const inner = quoted.slice(1, -1);
  if (!inner.includes("\\")) return inner;
  try {
    const safe = [...inner].map(escapeControl).join("");
    return JSON.parse(`"${safe}"`) as string;
  } catch {
    return lexer.fail(`illegal string literal: ${quoted}`, lexer.at(start));
  }
}

function escapeControl(char: string): string {
  return char < " " ? `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}` : char;
}

function countLines(lexer: Lexer, from: number, to: number): void {
  for (
    let i = lexer.source.indexOf("\n", from);
    i >= 0 && i < to;
    i = lexer.source.indexOf("\n", i + 1)
  ) {
    lexer.line++;
    lexer.lineStart = i + 1;
  }
}

function scanRaw(lexer: Lexer): void {
  const start = lexer.offset;
  const end = lexer.source.indexOf("`", start + 1);
  if (end < 0) lexer.fail("non-terminated string");
  lexer.offset = end + 1;
  lexer.push("string", lexer.source.slice(start + 1, end), start, RAW);
  countLines(lexer, start, end);
}

function scanTemplateStart(lexer: Lexer): void {
  const start = lexer.offset;
  const quote = lexer.source[start + 1];
  if (quote !== '"' && quote !== "`") lexer.fail("illegal $ character");
  const raw = quote === "`";
  lexer.templates.push({ raw, depth: 0 });
  lexer.offset += 2;
  scanTemplatePart(lexer, raw, start);
}

/** From after the opening quote or the closing brace of an expression to the next one. */
function scanTemplatePart(lexer: Lexer, raw: boolean, start: number): void {
  const from = lexer.offset;
  let last = false;
  for (;;) {
    const char = lexer.source[lexer.offset];
    if (char === undefined || (char === "\n" && !raw))
      lexer.fail("non-terminated string", lexer.at(start));
    lexer.offset++;
    if (char === (raw ? "`" : '"')) last = true;
    if (last || char === "{") break;
    if (char === "\\") {
      if (!raw) skipEscape(lexer, true);
      else if (lexer.source[lexer.offset] === "{") lexer.offset++;
    }
  }
  const written = lexer.source
    .slice(from, lexer.offset - 1)
    .replace(/(\\\\)|\\\{/g, (all, slashes) => (slashes ? all : "{"));
  const rawText = lexer.source.slice(from, lexer.offset - 1).replaceAll("\\{", "{");
  const text = raw ? rawText : decode(lexer, `"${written}"`, start);
  if (last) lexer.templates.pop();
  else (lexer.templates.at(-1) as Template).depth = 0;
  const opens = lexer.source[start] === "$";
  lexer.push("template", text, start, { opens, last, raw });
  countLines(lexer, from, lexer.offset);
}
