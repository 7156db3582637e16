// The parser's position in the tokens, and the small questions every part of it asks.
import { loadFailure } from "../errors.ts";
import { lex } from "./lex.ts";
import type { Comment, Location, RegoVersion, VarTerm } from "../syntax/ast.ts";
import type { Lexed, Token } from "./lex.ts";

const BASE_KEYWORDS = [
  "package",
  "import",
  "as",
  "default",
  "else",
  "not",
  "null",
  "true",
  "false",
  "with",
  "some",
];
const V1_KEYWORDS = ["in", "every", "contains", "if"];
export const FUTURE_KEYWORDS: readonly string[] = [...V1_KEYWORDS, "not", "and", "or"];

// Deep enough for people, shallow enough for the stack: one level of nesting takes about ten calls.
const MAX_NESTING = 400;

export class Parser {
  readonly file: string;
  readonly source: string;
  readonly tokens: readonly Token[];
  readonly comments: readonly Comment[];
  readonly keywords: Set<string>;
  version: RegoVersion;
  /** `not { ... }` and `not (...)` take bodies (import future.keywords.not). */
  notBodies = false;
  /** What opening brackets turned out to be, by token; the formatter lays them out by this. */
  readonly brackets = new Map<number, "body" | "comprehension">();
  /** Head assignments written in the old way, by token: `p = 1` is `p := 1`. */
  readonly oldAssigns = new Set<number>();
  index = 0;
  wildcards = 0;
  depth = 0;

  constructor(file: string, source: string, version: RegoVersion) {
    const lexed: Lexed = lex(file, source);
    this.file = file;
    this.source = source;
    this.tokens = lexed.tokens;
    this.comments = lexed.comments;
    this.version = version;
    this.keywords = new Set(version === "v1" ? [...BASE_KEYWORDS, ...V1_KEYWORDS] : BASE_KEYWORDS);
  }

  get token(): Token {
    return this.tokens[this.index] as Token;
  }

  peek(ahead = 1): Token {
    return this.tokens[Math.min(this.index + ahead, this.tokens.length - 1)] as Token;
  }

  next(): Token {
    const token = this.token;
    if (token.kind !== "eof") this.index++;
    return token;
  }

  /** Where the token before this one ended. */
  get lastEnd(): number {
    return this.index > 0 ? (this.tokens[this.index - 1] as Token).end : 0;
  }

  loc(token = this.token): Location {
    return { file: this.file, line: token.line, column: token.column };
  }

  atEnd(): boolean {
    return this.token.kind === "eof";
  }

  isPunct(text: string): boolean {
    const token = this.token;
    return token.kind === "punct" && token.text === text;
  }

  isKeyword(text: string): boolean {
    const token = this.token;
    return (
      token.kind === "ident" && token.text === text && this.keywords.has(text) && !this.startsRef()
    );
  }

  /** A keyword may head a reference when `.` or `[` follows at once. */
  startsRef(): boolean {
    const after = this.peek();
    return after.kind === "punct" && (after.text === "." || after.text === "[") && !after.spaced;
  }

  /** A word usable as a variable here. */
  isName(): boolean {
    const token = this.token;
    if (token.kind !== "ident") return false;
    return !this.keywords.has(token.text) || token.text === "contains" || this.startsRef();
  }

  accept(text: string): boolean {
    if (!this.isPunct(text)) return false;
    this.index++;
    return true;
  }

  acceptKeyword(text: string): boolean {
    if (!this.isKeyword(text)) return false;
    this.index++;
    return true;
  }

  expect(text: string, note: string): void {
    if (!this.accept(text)) this.unexpected(note);
  }

  fail(message: string, at: Location = this.loc()): never {
    throw loadFailure("rego_parse_error", at, message);
  }

  unexpected(note = ""): never {
    const token = this.token;
    const kind = token.kind === "ident" && this.keywords.has(token.text) ? "keyword" : "token";
    const name = token.kind === "punct" || kind === "keyword" ? token.text : token.kind;
    this.fail(`unexpected ${name} ${kind}${note === "" ? "" : `: ${note}`}`);
  }

  variable(token: Token): VarTerm {
    const name = token.text === "_" ? `$${String(this.wildcards++)}` : token.text;
    return { kind: "var", name, loc: this.loc(token) };
  }

  /** Runs a part of the parser one level deeper. */
  nested<T>(parse: () => T): T {
    if (++this.depth > MAX_NESTING) this.fail("max parsing recursion depth exceeded");
    const result = parse();
    this.depth--;
    return result;
  }

  /** Tries a reading; on failure the position is as before. */
  attempt<T>(parse: () => T | undefined): T | undefined {
    const { index, depth, wildcards } = this;
    let result: T | undefined;
    try {
      result = parse();
    } catch (error) {
      if (!isLoadFailure(error)) throw error;
    }
    if (result === undefined) {
      this.index = index;
      this.wildcards = wildcards;
    }
    this.depth = depth;
    return result;
  }
}

function isLoadFailure(error: unknown): boolean {
  return error instanceof Error && error.name === "LoadFailure";
}
