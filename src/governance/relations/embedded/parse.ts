// Text -> syntax tree of the schema language. Grammar and precedence as in SpiceDB 1.56: `-` binds least, then `&`,
// then `+`. Our own, because the published parser refuses much that the server accepts: calls inside caveats
// (`timestamp("…")`, `size(x)`), `[]`, `type#...`, `a+b` without blanks, names that begin with `nil`.
import { schemaFault, type Position } from "./fault.ts";
import { FLAGS, tokenize, type Token } from "./tokens.ts";

export interface SubjectTypeSyntax {
  readonly at: Position;
  readonly type: string;
  /** Empty: the object itself. */
  readonly relation: string;
  readonly wildcard: boolean;
  /** Empty: none. */
  readonly caveat: string;
  readonly expiration: boolean;
}

export type ExpressionSyntax =
  | {
      readonly kind: "union" | "intersection" | "exclusion";
      readonly left: ExpressionSyntax;
      readonly right: ExpressionSyntax;
    }
  | {
      readonly kind: "arrow";
      readonly at: Position;
      readonly relation: string;
      readonly target: string;
      readonly all: boolean;
    }
  | { readonly kind: "reference"; readonly at: Position; readonly name: string }
  | { readonly kind: "nil" | "self" };

export interface RelationSyntax {
  readonly kind: "relation";
  readonly at: Position;
  readonly name: string;
  readonly allowed: readonly SubjectTypeSyntax[];
}
export interface PermissionSyntax {
  readonly kind: "permission";
  readonly at: Position;
  readonly name: string;
  readonly expression: ExpressionSyntax;
  /** Types promised by an annotation; null without one. */
  readonly annotated: readonly string[] | null;
}
interface PartialReferenceSyntax {
  readonly kind: "partial reference";
  readonly at: Position;
  readonly name: string;
}
export type MemberSyntax = RelationSyntax | PermissionSyntax | PartialReferenceSyntax;

export interface DefinitionSyntax {
  readonly kind: "definition" | "partial";
  readonly at: Position;
  readonly name: string;
  readonly members: readonly MemberSyntax[];
}
export interface ParameterTypeSyntax {
  readonly at: Position;
  readonly name: string;
  readonly of: readonly ParameterTypeSyntax[];
}
export interface CaveatSyntax {
  readonly kind: "caveat";
  readonly at: Position;
  readonly name: string;
  readonly parameters: readonly {
    readonly at: Position;
    readonly name: string;
    readonly type: ParameterTypeSyntax;
  }[];
  readonly expression: string;
  readonly expressionAt: Position;
}

export interface SchemaSyntax {
  readonly flags: ReadonlySet<string>;
  readonly definitions: readonly (DefinitionSyntax | CaveatSyntax)[];
}

const OPERATORS = [
  { symbol: "-", kind: "exclusion" },
  { symbol: "&", kind: "intersection" },
  { symbol: "+", kind: "union" },
] as const;

/** Parentheses nest at most this deep. */
const MAX_NESTING = 100;

export function parseSchema(text: string): SchemaSyntax {
  return new Parser(text).schema();
}

class Parser {
  readonly #text: string;
  readonly #tokens: readonly Token[];
  #next = 0;
  #nesting = 0;

  constructor(text: string) {
    this.#text = text;
    this.#tokens = tokenize(text);
  }

  schema(): SchemaSyntax {
    const flags = new Set<string>();
    const definitions: (DefinitionSyntax | CaveatSyntax)[] = [];
    for (;;) {
      this.#endOfStatement();
      const token = this.#peek();
      if (token.kind === "end") return { flags, definitions };
      if (token.kind === "name" && token.value === "use")
        flags.add(this.#use(definitions.length > 0));
      else if (this.#isKeyword("definition") || this.#isKeyword("partial"))
        definitions.push(this.#definition());
      else if (this.#isKeyword("caveat")) definitions.push(this.#caveat());
      else if (this.#isKeyword("import"))
        throw this.#fault(
          token,
          "`import` is not supported: put the imported definitions into this text",
        );
      else throw this.#unexpected("`definition`, `caveat` or `use`");
    }
  }

  #use(afterDefinition: boolean): string {
    const use = this.#take();
    const flag = this.#take();
    if (!FLAGS.includes(flag.value))
      throw this.#fault(
        flag,
        `there is no feature \`${flag.value}\`: expected one of ${FLAGS.join(", ")}`,
      );
    if (afterDefinition) throw this.#fault(use, "`use` must stand before the first definition");
    return flag.value;
  }

  #definition(): DefinitionSyntax {
    const start = this.#take();
    const name = this.#path();
    this.#symbol("{");
    const members: MemberSyntax[] = [];
    while (!this.#trySymbol("}")) {
      if (this.#isKeyword("relation")) members.push(this.#relation());
      else if (this.#isKeyword("permission")) members.push(this.#permission());
      else if (this.#isSymbol("...")) members.push(this.#partialReference());
      if (!this.#endOfStatement())
        throw this.#unexpected("the end of the statement (a new line or `;`)");
    }
    return {
      kind: start.value === "partial" ? "partial" : "definition",
      at: start.at,
      name,
      members,
    };
  }

  #partialReference(): PartialReferenceSyntax {
    const { at } = this.#take();
    return { kind: "partial reference", at, name: this.#name() };
  }

  #relation(): RelationSyntax {
    const { at } = this.#take();
    const name = this.#name();
    this.#symbol(":");
    const allowed = [this.#subjectType()];
    while (this.#trySymbol("|")) allowed.push(this.#subjectType());
    return { kind: "relation", at, name, allowed };
  }

  #subjectType(): SubjectTypeSyntax {
    const { at } = this.#peek();
    const type = this.#path();
    let relation = "";
    let wildcard = false;
    if (this.#trySymbol(":")) {
      this.#symbol("*");
      wildcard = true;
    } else if (this.#trySymbol("#") && !this.#trySymbol("...")) {
      relation = this.#name();
    }
    return { at, type, relation, wildcard, ...this.#traits() };
  }

  #traits(): { caveat: string; expiration: boolean } {
    if (!this.#tryKeyword("with")) return { caveat: "", expiration: false };
    let caveat = "";
    if (!this.#isKeyword("expiration")) {
      caveat = this.#path();
      if (!this.#tryKeyword("and")) return { caveat, expiration: false };
    }
    if (!this.#tryKeyword("expiration")) throw this.#unexpected("`expiration`");
    if (this.#isKeyword("and"))
      throw this.#fault(this.#peek(), "the caveat comes first: `with <caveat> and expiration`");
    return { caveat, expiration: true };
  }

  #permission(): PermissionSyntax {
    const { at } = this.#take();
    const name = this.#name();
    let annotated: string[] | null = null;
    if (this.#trySymbol(":")) {
      annotated = [this.#name()];
      while (this.#trySymbol("|")) annotated.push(this.#name());
    }
    this.#symbol("=");
    return { kind: "permission", at, name, expression: this.#expression(0), annotated };
  }

  #expression(level: number): ExpressionSyntax {
    const operator = OPERATORS[level];
    if (operator === undefined) return this.#operand();
    let left = this.#expression(level + 1);
    while (this.#trySymbol(operator.symbol))
      left = { kind: operator.kind, left, right: this.#expression(level + 1) };
    return left;
  }

  #operand(): ExpressionSyntax {
    const token = this.#peek();
    if (this.#trySymbol("(")) {
      if (++this.#nesting > MAX_NESTING)
        throw this.#fault(token, "too many parentheses inside each other");
      const inner = this.#expression(0);
      this.#symbol(")");
      this.#nesting -= 1;
      return inner;
    }
    if (this.#tryKeyword("nil")) return { kind: "nil" };
    if (this.#tryKeyword("self")) return { kind: "self" };
    if (token.kind !== "name") throw this.#unexpected("a relation or permission, `nil` or `(`");
    return this.#arrow(this.#take());
  }

  #arrow(start: Token): ExpressionSyntax {
    const { at, value: relation } = start;
    let expression: ExpressionSyntax = { kind: "reference", at, name: relation };
    if (this.#trySymbol("->")) {
      expression = { kind: "arrow", at, relation, target: this.#name(), all: false };
    } else if (this.#trySymbol(".")) {
      const how = this.#peek();
      if (how.value !== "any" && how.value !== "all") throw this.#unexpected("`any` or `all`");
      this.#take();
      this.#symbol("(");
      expression = { kind: "arrow", at, relation, target: this.#name(), all: how.value === "all" };
      this.#symbol(")");
    }
    if (expression.kind === "arrow" && (this.#isSymbol("->") || this.#isSymbol(".")))
      throw this.#fault(
        this.#peek(),
        "an arrow may not follow an arrow: give the first one a permission of its own",
      );
    return expression;
  }

  #caveat(): CaveatSyntax {
    const { at } = this.#take();
    const name = this.#path();
    this.#symbol("(");
    const parameters: CaveatSyntax["parameters"][number][] = [];
    do {
      const parameter = this.#peek();
      parameters.push({ at: parameter.at, name: this.#name(), type: this.#parameterType() });
    } while (this.#trySymbol(","));
    this.#symbol(")");
    this.#symbol("{");
    return { kind: "caveat", at, name, parameters, ...this.#caveatBody() };
  }

  #parameterType(): ParameterTypeSyntax {
    const { at } = this.#peek();
    const name = this.#name();
    const of: ParameterTypeSyntax[] = [];
    if (this.#trySymbol("<")) {
      do of.push(this.#parameterType());
      while (this.#trySymbol(","));
      this.#symbol(">");
    }
    return { at, name, of };
  }

  /** CEL has a grammar of its own: take everything up to the matching brace. */
  #caveatBody(): { expression: string; expressionAt: Position } {
    const start = this.#peek();
    let end = start.at;
    for (let depth = 1; ;) {
      const token = this.#peek();
      if (token.kind === "end") throw this.#unexpected("`}` at the end of the caveat");
      if (token.kind === "symbol" && token.value === "{") depth += 1;
      if (token.kind === "symbol" && token.value === "}" && --depth === 0) break;
      end = token.at + token.value.length;
      this.#take();
    }
    this.#take();
    const expression = this.#text.slice(start.at, end);
    if (expression.trim() === "") throw this.#fault(start, "a caveat needs an expression");
    return { expression, expressionAt: start.at };
  }

  #path(): string {
    let path = this.#name();
    while (this.#trySymbol("/")) path += `/${this.#name()}`;
    return path;
  }

  #name(): string {
    const token = this.#peek();
    if (token.kind !== "name") throw this.#unexpected("a name");
    return this.#take().value;
  }

  #peek(): Token {
    return this.#tokens[this.#next] ?? { kind: "end", value: "", at: this.#text.length };
  }

  #take(): Token {
    const token = this.#peek();
    this.#next += 1;
    return token;
  }

  #isSymbol(value: string): boolean {
    const token = this.#peek();
    return token.kind === "symbol" && token.value === value;
  }

  #isKeyword(value: string): boolean {
    const token = this.#peek();
    return token.kind === "keyword" && token.value === value;
  }

  #trySymbol(value: string): boolean {
    if (!this.#isSymbol(value)) return false;
    this.#next += 1;
    return true;
  }

  #tryKeyword(value: string): boolean {
    if (!this.#isKeyword(value)) return false;
    this.#next += 1;
    return true;
  }

  #symbol(value: string): void {
    if (!this.#trySymbol(value)) throw this.#unexpected(`\`${value}\``);
  }

  #endOfStatement(): boolean {
    if (this.#peek().kind !== "end-of-line" && !this.#isSymbol(";")) return false;
    this.#next += 1;
    return true;
  }

  #unexpected(expected: string): Error {
    const token = this.#peek();
    const found =
      token.kind === "end"
        ? "the end of the text"
        : token.kind === "end-of-line"
          ? "the end of the line"
          : `\`${token.value}\``;
    return this.#fault(token, `expected ${expected}, found ${found}`);
  }

  #fault(token: Token, message: string): Error {
    return schemaFault(this.#text, token.at, message);
  }
}
