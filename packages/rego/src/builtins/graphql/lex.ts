import { GraphqlError } from "./ast.ts";
import type { Position } from "./ast.ts";

export interface Token {
  readonly kind: string;
  readonly value: string;
  readonly at: Position;
  /** Why the token is "<Invalid>". */
  readonly problem?: GraphqlError;
}

const PUNCTUATION = "!$&():=@[]{}|";
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

/** How a token is named in an error. */
export function tokenText(token: Token): string {
  return token.value === "" ? token.kind : `${token.kind} ${JSON.stringify(token.value)}`;
}

export class Lexer {
  private pos = 0;
  private line = 1;
  private lineStart = 0;
  private readonly chars: readonly string[];

  constructor(source: string) {
    this.chars = Array.from(source);
  }

  private here(): Position {
    return { line: this.line, column: this.pos - this.lineStart + 1 };
  }

  private newLine(): void {
    this.line++;
    this.lineStart = this.pos;
  }

  private space(): void {
    for (; this.pos < this.chars.length;) {
      const char = this.chars[this.pos];
      if (char === "\n" || char === "\r") {
        this.pos++;
        this.newLine();
        if (char === "\r" && this.chars[this.pos] === "\n") this.pos++;
      } else if (char === " " || char === "\t" || char === "," || char === "\ufeff") this.pos++;
      else return;
    }
  }

  private match(pattern: RegExp): string {
    let end = this.pos;
    while (end < this.chars.length && pattern.test(this.chars[end] as string)) end++;
    const text = this.chars.slice(this.pos, end).join("");
    this.pos = end;
    return text;
  }

  next(): Token {
    try {
      return this.read();
    } catch (error) {
      if (!(error instanceof GraphqlError)) throw error;
      return { kind: "<Invalid>", value: "", at: error.at ?? this.here(), problem: error };
    }
  }

  private read(): Token {
    this.space();
    const at = this.here();
    const char = this.chars[this.pos];
    if (char === undefined) return { kind: "<EOF>", value: "", at };
    if (PUNCTUATION.includes(char)) {
      this.pos++;
      return { kind: char, value: "", at };
    }
    if (char === "." && this.chars[this.pos + 1] === "." && this.chars[this.pos + 2] === ".") {
      this.pos += 3;
      return { kind: "...", value: "", at };
    }
    // eslint-disable-next-line no-control-regex -- a comment ends at a control character
    if (char === "#") return { kind: "Comment", value: this.match(/^[^\x00-\x08\x0a-\x1f]$/), at };
    if (/^[A-Za-z_]$/.test(char)) return { kind: "Name", value: this.match(/^[A-Za-z0-9_]$/), at };
    if (/^[-0-9]$/.test(char)) return this.number(at);
    if (char === '"') {
      const block = this.chars[this.pos + 1] === '"' && this.chars[this.pos + 2] === '"';
      return block ? this.blockString(at) : this.string(at);
    }
    throw this.unexpected(char);
  }

  private unexpected(char: string): GraphqlError {
    const code = char.charCodeAt(0);
    if (code < 0x20) {
      return this.error(
        `Cannot contain the invalid character "\\u${code.toString(16).padStart(4, "0")}"`,
      );
    }
    if (char === "'") {
      return this.error(
        "Unexpected single quote character ('), did you mean to use a double quote (\")?",
      );
    }
    return this.error(`Cannot parse the unexpected character "${char}".`);
  }

  private error(message: string): GraphqlError {
    return new GraphqlError(message, this.here());
  }

  private describeNext(): string {
    const char = this.chars[this.pos];
    return char === undefined ? "<EOF>" : `"${char}"`;
  }

  private digits(): string {
    const digits = this.match(/^[0-9]$/);
    if (digits === "") {
      throw this.error(`Invalid number, expected digit but got: ${this.describeNext()}.`);
    }
    return digits;
  }

  private accept(set: string): string {
    const char = this.chars[this.pos];
    if (char === undefined || !set.includes(char)) return "";
    this.pos++;
    return char;
  }

  private number(at: Position): Token {
    let value = this.accept("-");
    const zero = this.accept("0");
    if (zero !== "" && /^[0-9]$/.test(this.chars[this.pos] ?? "")) {
      throw this.error(`Invalid number, unexpected digit after 0: ${this.describeNext()}.`);
    }
    value += zero === "" ? this.digits() : zero;
    let kind = "Int";
    if (this.chars[this.pos] === ".") {
      kind = "Float";
      value += this.accept(".") + this.digits();
    }
    const e = this.accept("eE");
    if (e !== "") {
      kind = "Float";
      value += e + this.accept("+-") + this.digits();
    }
    return { kind, value, at };
  }

  private string(at: Position): Token {
    this.pos++;
    let value = "";
    for (;;) {
      const char = this.chars[this.pos];
      if (char === undefined || char === "\n" || char === "\r")
        throw this.error("Unterminated string.");
      if (char === '"') {
        this.pos++;
        return { kind: "String", value, at: { ...at, column: at.column + 1 } };
      }
      if (char < " " && char !== "\t") {
        const code = char.charCodeAt(0).toString(16).padStart(4, "0");
        throw this.error(`Invalid character within String: "\\u${code}".`);
      }
      this.pos++;
      value += char === "\\" ? this.escape() : char;
    }
  }

  private escape(): string {
    const char = this.chars[this.pos];
    if (char === undefined) throw this.error("Invalid character escape sequence.");
    if (char === "u") {
      const hex = this.chars.slice(this.pos + 1, this.pos + 5).join("");
      if (!/^[0-9a-fA-F]{4}$/.test(hex)) {
        throw this.error(`Invalid character escape sequence: \\u${hex}.`);
      }
      this.pos += 5;
      const code = parseInt(hex, 16);
      return code >= 0xd800 && code <= 0xdfff ? "\ufffd" : String.fromCharCode(code);
    }
    const plain = ESCAPES[char];
    if (plain === undefined) throw this.error(`Invalid character escape sequence: \\${char}.`);
    this.pos++;
    return plain;
  }

  private blockString(at: Position): Token {
    this.pos += 3;
    let raw = "";
    for (;;) {
      const char = this.chars[this.pos];
      if (char === undefined) throw this.error("Unterminated string.");
      if (char === '"') {
        let quotes = 0;
        while (this.chars[this.pos + quotes] === '"') quotes++;
        if (quotes >= 3) {
          this.pos += quotes;
          const value = blockValue(raw + '"'.repeat(quotes - 3));
          return { kind: "BlockString", value, at: { ...at, column: at.column + 3 } };
        }
      }
      if (char === "\\" && this.chars.slice(this.pos + 1, this.pos + 4).join("") === '"""') {
        raw += '"""';
        this.pos += 4;
        continue;
      }
      if (char < " " && !"\t\n\r".includes(char)) {
        const code = char.charCodeAt(0).toString(16).padStart(4, "0");
        throw this.error(`Invalid character within String: "\\u${code}".`);
      }
      this.pos++;
      if (char === "\r" && this.chars[this.pos] === "\n") this.pos++;
      if (char === "\n" || char === "\r") this.newLine();
      raw += char === "\r" ? "\n" : char;
    }
  }
}

/** Removes the common indent and blank lines at both ends. */
function blockValue(raw: string): string {
  const lines = raw.split("\n");
  const indentOf = (line: string): number => /^[ \t]*/.exec(line)?.[0].length ?? 0;
  const isBlank = (line: string): boolean => indentOf(line) === line.length;
  const indents = lines.filter((line) => !isBlank(line)).map(indentOf);
  const common = indents.length === 0 ? 0 : Math.min(...indents);
  const cut = lines.map((line, i) => (i === 0 ? line : line.slice(common)));
  let start = 0;
  let end = cut.length;
  while (start < end && isBlank(cut[start] as string)) start++;
  while (end > start && isBlank(cut[end - 1] as string)) end--;
  return cut.slice(start, end).join("\n");
}
