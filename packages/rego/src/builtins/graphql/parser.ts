// What queries and schemas share: tokens, names, values, types and directives.
import { GraphqlError, VALUE_KINDS } from "./ast.ts";
import type {
  Argument,
  ChildValue,
  CommentGroup,
  Directive,
  Position,
  TypeRef,
  ValueKind,
  ValueNode,
} from "./ast.ts";
import { Lexer, tokenText } from "./lex.ts";
import type { Token } from "./lex.ts";

const MAX_NESTING = 500;

const SCALARS: Readonly<Record<string, ValueKind>> = {
  Int: "int",
  Float: "float",
  String: "string",
  BlockString: "block",
};

export class Parser {
  private readonly lexer: Lexer;
  private peeked: Token | undefined;
  private depth = 0;
  /** The comment right before the next token. */
  comment: CommentGroup | undefined;
  /** The comment before the bracket that closed the last list. */
  closing: CommentGroup | undefined;

  constructor(source: string) {
    this.lexer = new Lexer(source);
  }

  peek(): Token {
    if (this.peeked !== undefined) return this.peeked;
    const comments: { Value: string }[] = [];
    let token = this.lexer.next();
    for (; token.kind === "Comment"; token = this.lexer.next())
      comments.push({ Value: token.value });
    if (comments.length > 0) this.comment = { List: comments };
    this.peeked = token;
    return token;
  }

  next(): Token {
    const token = this.peek();
    if (token.problem !== undefined) throw token.problem;
    this.peeked = undefined;
    this.comment = undefined;
    return token;
  }

  is(kind: string): boolean {
    return this.peek().kind === kind;
  }

  isKeyword(word: string): boolean {
    const token = this.peek();
    return token.kind === "Name" && token.value === word;
  }

  skip(kind: string): boolean {
    if (!this.is(kind)) return false;
    this.next();
    return true;
  }

  expect(kind: string): Token {
    const token = this.peek();
    if (token.kind === kind) return this.next();
    throw new GraphqlError(
      `Expected ${kind}, found ${token.kind === "Name" ? "Name" : token.kind}`,
      token.at,
    );
  }

  keyword(word: string): Token {
    if (this.isKeyword(word)) return this.next();
    throw new GraphqlError(`Expected "${word}", found ${tokenText(this.peek())}`, this.peek().at);
  }

  unexpected(token: Token = this.peek()): GraphqlError {
    return new GraphqlError(`Unexpected ${tokenText(token)}`, token.at);
  }

  name(): string {
    return this.expect("Name").value;
  }

  at(): Position {
    return this.peek().at;
  }

  /** Bounds recursion: a query of ten thousand braces must not exhaust the stack. */
  nested<T>(run: () => T): T {
    if (++this.depth > MAX_NESTING) throw new GraphqlError("nested too deeply", this.at());
    const result = run();
    this.depth--;
    return result;
  }

  /** An optional list in brackets that must not be empty. */
  some<T>(open: string, close: string, item: () => T): T[] {
    this.closing = undefined;
    if (!this.skip(open)) return [];
    const items: T[] = [];
    while (!this.is(close)) items.push(item());
    if (items.length === 0) {
      throw new GraphqlError(
        `expected at least one definition, found ${this.peek().kind}`,
        this.at(),
      );
    }
    this.peek();
    const { comment } = this;
    this.next();
    this.closing = comment;
    return items;
  }

  many<T>(open: string, close: string, item: () => T): T[] {
    if (!this.skip(open)) return [];
    const items: T[] = [];
    while (!this.is(close)) items.push(item());
    this.next();
    return items;
  }

  arguments(isConst: boolean): Argument[] {
    return this.some("(", ")", () => {
      const at = this.at();
      const comment = this.comment;
      const name = this.name();
      this.expect(":");
      return { Name: name, Value: this.value(isConst), Comment: comment, at };
    });
  }

  directives(isConst: boolean): Directive[] {
    const found: Directive[] = [];
    while (this.skip("@")) {
      const at = this.at();
      found.push({ Name: this.name(), Arguments: this.arguments(isConst), Location: "", at });
    }
    return found;
  }

  type(): TypeRef {
    return this.nested(() => {
      if (this.skip("[")) {
        const at = this.at();
        const elem = this.type();
        this.expect("]");
        return { NamedType: "", Elem: elem, NonNull: this.skip("!"), at };
      }
      const at = this.at();
      const name = this.name();
      return { NamedType: name, NonNull: this.skip("!"), at };
    });
  }

  value(isConst: boolean): ValueNode {
    const token = this.peek();
    const comment = this.comment;
    const node = (
      kind: ValueKind,
      raw: string,
      children: readonly ChildValue[] = [],
    ): ValueNode => ({
      Raw: raw,
      Children: children,
      Kind: VALUE_KINDS.indexOf(kind),
      ExpectedTypeHasDefault: false,
      ...(kind === "list" || kind === "object" ? { Comment: comment } : {}),
      at: token.at,
    });
    switch (token.kind) {
      case "[":
        return this.nested(() => {
          const items = this.many("[", "]", () => ({
            Name: "",
            Value: this.value(isConst),
            at: token.at,
          }));
          return node("list", "", items);
        });
      case "{":
        return this.nested(() =>
          node(
            "object",
            "",
            this.many("{", "}", () => this.objectField(isConst)),
          ),
        );
      case "$":
        if (isConst) throw this.unexpected();
        this.next();
        return node("variable", this.name());
      case "Name": {
        this.next();
        const { value } = token;
        const kind =
          value === "true" || value === "false" ? "boolean" : value === "null" ? "null" : "enum";
        return node(kind, value);
      }
      default: {
        const kind = SCALARS[token.kind];
        if (kind === undefined) throw this.unexpected();
        this.next();
        return node(kind, token.value);
      }
    }
  }

  private objectField(isConst: boolean): ChildValue {
    const at = this.at();
    const name = this.name();
    this.expect(":");
    return { Name: name, Value: this.value(isConst), at };
  }
}
