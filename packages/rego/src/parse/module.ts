// Whole modules and queries.
import { parseLiteral } from "./expression.ts";
import { parseRules } from "./rule.ts";
import { parseInfix, parseTerm } from "./term.ts";
import { FUTURE_KEYWORDS, Parser } from "./parser.ts";
import type { Body, Expr, Import, Module, RegoVersion, Rule, Term } from "../syntax/ast.ts";

export function parseModule(file: string, source: string, version: RegoVersion): Module {
  return readModule(new Parser(file, source, version));
}

/** As parseModule; the parser can be asked afterwards what it saw. */
export function readModule(p: Parser): Module {
  const { file, source } = p;
  const packageLoc = p.loc();
  if (!p.acceptKeyword("package")) {
    p.fail(p.token.kind === "eof" ? "empty module" : "package expected");
  }
  const path = parsePath(p);
  const imports: Import[] = [];
  const rules: Rule[] = [];
  // As in OPA statements need no line of their own, and no semicolon parts them.
  while (p.token.kind !== "eof") {
    if (p.isKeyword("import")) imports.push(parseImport(p, rules.length > 0));
    else if (p.isKeyword("package")) p.fail("unexpected package");
    else rules.push(...parseRules(p));
  }
  const { comments, version: finalVersion } = p;
  return { file, source, path, packageLoc, imports, rules, comments, version: finalVersion };
}

/** `a.b["c"]` as its segments. */
function parsePath(p: Parser): string[] {
  if (p.token.kind !== "ident") p.unexpected();
  const first = p.token;
  // Any word may start the path, also one that is a keyword.
  const term = p.isName() ? parseTerm(p) : p.variable(p.next());
  if (term.kind === "var") return [first.text];
  if (term.kind !== "ref") p.unexpected();
  return term.terms.map((part, i) => {
    if (i === 0 && part.kind === "var") return part.name;
    if (i > 0 && part.kind === "scalar" && typeof part.value === "string") return part.value;
    return p.fail(`unexpected ${part.kind} token: expecting string`, part.loc);
  });
}

function parseImport(p: Parser, afterRules: boolean): Import {
  const loc = p.loc();
  p.next();
  const path = parsePath(p);
  const [root] = path;
  if (root !== "data" && root !== "input" && root !== "future" && root !== "rego") {
    p.fail(
      `unexpected import path, must begin with one of: {data, future, input, rego}, got: ${String(root)}`,
      loc,
    );
  }
  let alias: string | undefined;
  if (p.acceptKeyword("as")) {
    if (p.token.kind !== "ident" || p.isKeyword(p.token.text)) p.unexpected("expected var");
    alias = p.next().text;
  }
  if (root === "future" || root === "rego") applyKeywords(p, path, alias, afterRules);
  else checkTail(p, path, alias);
  return { path, alias, loc };
}

function checkTail(p: Parser, path: readonly string[], alias: string | undefined): void {
  const last = path.at(-1) ?? "";
  if (alias === undefined && p.keywords.has(last)) {
    p.fail(`unexpected import path, must not end with a keyword, got: ${last}`);
  }
}

function applyKeywords(
  p: Parser,
  path: readonly string[],
  alias: string | undefined,
  late: boolean,
): void {
  const [root, second, word] = path;
  if (root === "rego") {
    if (path.length !== 2 || second !== "v1") {
      p.fail(`invalid import \`${path.join(".")}\`, must be \`rego.v1\``);
    }
    if (alias !== undefined) p.fail("`rego` imports cannot be aliased");
    p.version = "v1";
    for (const keyword of ["in", "every", "contains", "if"]) p.keywords.add(keyword);
    return;
  }
  if (second !== "keywords" || path.length > 3) {
    p.fail("invalid import, must be `future.keywords`");
  }
  if (alias !== undefined) p.fail("`future` imports cannot be aliased");
  if (late && word === undefined) p.fail("future keywords must be imported before rules");
  const words = word === undefined ? ["in", "every", "contains", "if"] : [word];
  for (const keyword of words) {
    if (!FUTURE_KEYWORDS.includes(keyword)) {
      p.fail(`unexpected keyword, must be one of [contains every if in], got: ${keyword}`);
    }
    p.keywords.add(keyword);
    if (keyword === "not") p.notBodies = true;
    if (keyword === "every") p.keywords.add("in");
  }
}

/** A query: expressions separated by `;` or new lines. */
export function parseQuery(file: string, source: string, version: RegoVersion): Body {
  const p = new Parser(file, source, version);
  if (p.token.kind === "eof") p.fail("empty query");
  const body: Expr[] = [];
  while (p.token.kind !== "eof") {
    body.push(parseLiteral(p));
    const separated = p.accept(";") || p.token.newline;
    if (!separated && !p.atEnd()) p.unexpected("expected \\n or ; or eof");
  }
  return body;
}

/** A single term, such as the text of an input document in Rego notation. */
export function parseTermText(source: string): Term {
  const p = new Parser("term", source, "v1");
  const term = parseInfix(p);
  if (p.token.kind !== "eof") p.unexpected();
  return term;
}
