// The canonical layout of a module, as `opa fmt` has it: tabs, one space where one belongs, bodies
// on lines of their own. Works on tokens, so comments and the author's line breaks are kept.
import { layOut } from "./lines.ts";
import { readModule } from "../parse/module.ts";
import { Parser } from "../parse/parser.ts";
import type { Item, Statement } from "./lines.ts";
import type { Module, RegoVersion, Rule } from "../syntax/ast.ts";
import type { Token } from "../parse/lex.ts";

/** Throws a LoadFailure when the source does not parse. Formatting twice changes nothing more. */
export function format(file: string, source: string, version: RegoVersion = "v1"): string {
  const p = new Parser(file, source, version);
  return layOut(itemsOf(p, statementsOf(readModule(p), p)));
}

/** Where statements start, by offset of their first token. */
function statementsOf(module: Module, p: Parser): ReadonlyMap<number, Statement> {
  const starts = new Map<number, Statement>();
  const imports = new Set(
    module.imports.map(({ loc }) => `${String(loc.line)}:${String(loc.column)}`),
  );
  p.tokens.forEach((token, i) => {
    if (i === 0) starts.set(token.offset, "package");
    if (imports.has(`${String(token.line)}:${String(token.column)}`))
      starts.set(token.offset, "import");
  });
  for (const rule of module.rules) starts.set(rule.span[0], isOneLiner(rule, p) ? "line" : "rule");
  return starts;
}

function isOneLiner(rule: Rule, p: Parser): boolean {
  if (newlines(p.source, rule.span[0], rule.span[1]) > 0) return false;
  return ![...p.brackets].some(([index, role]) => {
    const { offset } = p.tokens[index] as Token;
    return role === "body" && offset >= rule.span[0] && offset < rule.span[1];
  });
}

/** Tokens and comments in the order they stand, templates as one piece. */
function itemsOf(p: Parser, starts: ReadonlyMap<number, Statement>): readonly Item[] {
  const items: Item[] = [];
  for (let i = 0; i < p.tokens.length; i++) {
    const token = p.tokens[i] as Token;
    if (token.kind === "eof") break;
    const end = token.kind === "template" ? templateEnd(p.tokens, i) : i;
    const last = p.tokens[end] as Token;
    items.push({
      kind: token.kind,
      text: p.oldAssigns.has(i) ? ":=" : p.source.slice(token.offset, last.end),
      offset: token.offset,
      end: last.end,
      line: token.line,
      endLine: token.line + newlines(p.source, token.offset, last.end),
      spaced: token.spaced,
      role: p.brackets.get(i) ?? "plain",
      isKeyword: token.kind === "ident" && p.keywords.has(token.text),
      statement: starts.get(token.offset),
    });
    i = end;
  }
  return withComments(p, items);
}

function withComments(p: Parser, items: readonly Item[]): readonly Item[] {
  const templates = items.filter((item) => item.kind === "template");
  const comments = p.comments
    // Comments inside a template's expressions are part of its text.
    .filter(({ offset }) => !templates.some((outer) => offset > outer.offset && offset < outer.end))
    .map(({ text, offset, loc }): Item => ({
      kind: "comment",
      text: `#${text.trimEnd()}`,
      offset,
      end: offset + text.length + 1,
      line: loc.line,
      endLine: loc.line,
      spaced: true,
      role: "plain",
      isKeyword: false,
      statement: undefined,
    }));
  return [...items, ...comments].sort((a, b) => a.offset - b.offset);
}

function newlines(source: string, from: number, to: number): number {
  let count = 0;
  for (let i = source.indexOf("\n", from); i >= 0 && i < to; i = source.indexOf("\n", i + 1))
    count++;
  return count;
}

/** The index of the token that closes the template starting at `start`. */
function templateEnd(tokens: readonly Token[], start: number): number {
  let depth = 0;
  for (let i = start; i < tokens.length; i++) {
    const token = tokens[i] as Token;
    if (token.kind !== "template") continue;
    if (token.opens) depth++;
    if (token.last && --depth === 0) return i;
  }
  return tokens.length - 1;
}
