// Words of the schema language. Line ends matter as in SpiceDB: after a name, a keyword, `}`, `)` or `*` they end a
// statement.
import { schemaFault, type Position } from "./fault.ts";

type TokenKind = "name" | "keyword" | "symbol" | "text" | "end-of-line" | "end";

export interface Token {
  readonly kind: TokenKind;
  readonly value: string;
  readonly at: Position;
}

const KEYWORDS = new Set(["definition", "caveat", "relation", "permission", "nil", "with"]);

/** Words that are keywords only once `use <flag>` stands above. */
const FLAG_KEYWORDS: Readonly<Record<string, readonly string[]>> = {
  expiration: ["expiration", "and"],
  typechecking: ["typechecking"],
  self: ["self"],
  partial: ["partial"],
  import: ["import"],
};
export const FLAGS = Object.keys(FLAG_KEYWORDS);

const NAME = /[\p{L}\p{Nd}_]+/uy;
const BLANK = /[ \t]+|\/\/[^\r\n]*/y;
const COMMENT = /\/\*[^]*?\*\//y;
const TEXT = /"""[^]*?"""|'''[^]*?'''|"(?:\\.|[^"\\\r\n])*"|'(?:\\.|[^'\\\r\n])*'/y;
const SYMBOL = /\.\.\.|->|&&|\|\||[<>=!]=|[{}()[\]+|&?!%<>,=:;#*.\-/]/y;

function match(pattern: RegExp, text: string, at: number): string | undefined {
  pattern.lastIndex = at;
  return pattern.exec(text)?.[0];
}

const endsStatement = (token: Token | undefined): boolean =>
  token !== undefined &&
  (token.kind === "name" ||
    token.kind === "keyword" ||
    (token.kind === "symbol" &&
      (token.value === "}" || token.value === ")" || token.value === "*")));

export function tokenize(text: string): readonly Token[] {
  const tokens: Token[] = [];
  const keywords = new Set(KEYWORDS);
  let at = 0;
  const push = (kind: TokenKind, value: string): void => {
    tokens.push({ kind, value, at });
    at += value.length;
  };
  while (at < text.length) {
    const skipped = match(BLANK, text, at) ?? match(COMMENT, text, at);
    if (skipped !== undefined) {
      at += skipped.length;
      continue;
    }
    const char = text.charAt(at);
    if (char === "\n" || char === "\r") {
      if (endsStatement(tokens.at(-1))) push("end-of-line", char);
      else at += 1;
      continue;
    }
    const name = match(NAME, text, at);
    if (name !== undefined) {
      // `use self` makes a keyword of `self`, but not after the first definition.
      if (tokens.at(-1)?.value === "use" && !tokens.some(startsDefinition))
        for (const word of FLAG_KEYWORDS[name] ?? []) keywords.add(word);
      push(keywords.has(name) ? "keyword" : "name", name);
      continue;
    }
    const literal = match(TEXT, text, at);
    if (literal !== undefined) {
      push("text", literal);
      continue;
    }
    const symbol = match(SYMBOL, text, at);
    if (symbol === undefined || text.startsWith("/*", at))
      throw schemaFault(text, at, unreadable(text, at));
    push("symbol", symbol);
  }
  tokens.push({ kind: "end", value: "", at });
  return tokens;
}

const startsDefinition = (token: Token): boolean =>
  token.kind === "keyword" && (token.value === "definition" || token.value === "caveat");

function unreadable(text: string, at: number): string {
  if (text.startsWith("/*", at)) return "this comment has no end (`*/`)";
  const char = String.fromCodePoint(text.codePointAt(at) ?? 0);
  if (char === '"' || char === "'") return "this text has no end";
  return `unexpected character ${JSON.stringify(char)}`;
}
