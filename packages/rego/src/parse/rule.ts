// Rules: heads, bodies, else branches. v0 shapes are read too and judged by the version.
import { makeExpr, parseBody, parseLiteral } from "./expression.ts";
import { parseInfix, parseTerm } from "./term.ts";
import { isGround } from "../syntax/terms.ts";
import type { Body, Head, Location, Rule, Term } from "../syntax/ast.ts";
import type { Parser } from "./parser.ts";

function trueTerm(loc: Location): Term {
  return { kind: "scalar", value: true, loc };
}

function trueBody(loc: Location): Body {
  return [makeExpr({ kind: "term", term: trueTerm(loc) }, loc)];
}

/** One rule; several when v0 bodies are chained: `p { ... } { ... }`. */
export function parseRules(p: Parser): readonly Rule[] {
  const loc = p.loc();
  const start = p.token.offset;
  if (p.acceptKeyword("default")) return [parseDefault(p, loc, start)];
  if (!p.isName()) p.unexpected();
  const head = parseHead(p);
  const hasIf = p.isKeyword("if");
  if (!hasIf && !p.isPunct("{")) return [bareRule(p, head, loc, start)];
  const isFunction = head.args !== undefined;
  if (p.version === "v1" && !hasIf) {
    p.fail(`\`if\` keyword is required before ${isFunction ? "function" : "rule"} body`, loc);
  }
  const finished = finishHead(p, head, hasIf);
  const body = hasIf ? parseIfBody(p) : parseBraced(p);
  const otherwise = parseElse(p, finished);
  const rule = make(p, { head: finished, body, otherwise, loc, start });
  const rules: Rule[] = [rule];
  while (!hasIf && !otherwise && p.isPunct("{")) {
    const at = p.loc();
    const from = p.token.offset;
    const more = parseBraced(p);
    rules.push(
      make(p, {
        head: { ...finished, loc: at },
        body: more,
        otherwise: undefined,
        loc: at,
        start: from,
      }),
    );
  }
  return rules;
}

interface RuleParts {
  readonly head: Head;
  readonly body: Body;
  readonly otherwise: Rule | undefined;
  readonly loc: Location;
  readonly start: number;
  readonly isDefault?: boolean;
  readonly bare?: boolean;
}

function make(p: Parser, parts: RuleParts): Rule {
  const { start, head, body, otherwise, loc } = parts;
  const last = p.tokens[p.index - 1];
  return {
    head,
    body,
    otherwise,
    loc,
    isDefault: parts.isDefault === true,
    bare: parts.bare === true,
    endLine: last ? last.line : loc.line,
    span: [start, p.lastEnd],
  };
}

function parseBraced(p: Parser): Body {
  p.expect("{", "expected rule body");
  return parseBody(p, "}");
}

/** After `if`: one literal or a braced body. `{ x }` is a body, never a set. */
function parseIfBody(p: Parser): Body {
  p.next();
  if (!p.isPunct("{")) return [parseLiteral(p)];
  const literal = p.attempt(() => {
    const expr = parseLiteral(p);
    if (expr.node.kind === "term" && expr.node.term.kind === "set") return undefined;
    return [expr];
  });
  return literal ?? parseBraced(p);
}

function parseHead(p: Parser): Head {
  const loc = p.loc();
  const term = parseTerm(p);
  const [ref, args] = headParts(p, term);
  const base = { ref, args, loc, key: undefined, value: undefined, assign: false };
  if (p.isKeyword("contains")) {
    if (args) {
      p.unexpected("the contains keyword can only be used with multi-value rule definitions");
    }
    p.next();
    return { ...base, key: parseInfix(p) };
  }
  const assign = p.isPunct(":=");
  if (!assign && !p.isPunct("=")) return base;
  if (!assign) p.oldAssigns.add(p.index);
  p.next();
  return { ...base, assign, value: parseInfix(p) };
}

function headParts(p: Parser, term: Term): [readonly Term[], readonly Term[] | undefined] {
  if (term.kind === "var") return [[term], undefined];
  if (term.kind === "ref" && term.terms[0]?.kind === "var") return [term.terms, undefined];
  if (term.kind === "call" && term.op.terms[0]?.kind === "var") return [term.op.terms, term.args];
  return p.fail(`${term.kind} cannot be used for rule name`, term.loc);
}

/** Says what a head without a written value means. */
function finishHead(p: Parser, head: Head, hasIf: boolean): Head {
  if (head.key !== undefined || head.value !== undefined) return head;
  const [, member] = head.ref;
  // v0 without `if`: p[x] { ... } defines a set.
  if (!hasIf && !head.args && head.ref.length === 2 && member) {
    return { ...head, ref: head.ref.slice(0, 1), key: member };
  }
  return { ...head, value: trueTerm(head.loc) };
}

function bareRule(p: Parser, head: Head, loc: Location, start: number): Rule {
  const what = head.args ? "function" : "rule";
  let finished = head;
  if (head.value === undefined && head.key === undefined) {
    if (head.ref.length === 1 && !head.args) p.fail("var cannot be used for rule name", loc);
    if (p.version === "v1") {
      p.fail(
        head.ref.length === 2 && !head.args
          ? "`contains` keyword is required for partial set rules"
          : `${what} must have value assignment and/or body declaration`,
        loc,
      );
    }
    finished = finishHead(p, head, false);
  }
  return make(p, {
    head: finished,
    body: trueBody(loc),
    otherwise: undefined,
    loc,
    start,
    bare: true,
  });
}

function parseElse(p: Parser, head: Head): Rule | undefined {
  if (!p.isKeyword("else")) return undefined;
  const loc = p.loc();
  const start = p.token.offset;
  if (head.ref.some((term) => !isGround(term) && term !== head.ref[0])) {
    p.fail("else keyword cannot be used on rules with variables in head");
  }
  if (head.key !== undefined) p.fail("else keyword cannot be used on multi-value rules");
  p.next();
  const value = parseElseValue(p, loc);
  const next: Head = { ...head, value, loc };
  const hasIf = p.acceptKeyword("if");
  if (!hasIf && !p.isPunct("{")) {
    return make(p, {
      head: next,
      body: trueBody(loc),
      otherwise: undefined,
      loc,
      start,
      bare: true,
    });
  }
  if (p.version === "v1" && !hasIf) p.fail("`if` keyword is required before rule body", loc);
  const body = p.isPunct("{") ? parseBraced(p) : [parseLiteral(p)];
  const otherwise = p.nested(() => parseElse(p, head));
  return make(p, { head: next, body, otherwise, loc, start });
}

function parseElseValue(p: Parser, loc: Location): Term {
  if (p.isPunct("{") || p.isKeyword("if")) return trueTerm(loc);
  if (p.isPunct("=")) p.oldAssigns.add(p.index);
  if (!p.accept(":=") && !p.accept("=")) p.unexpected("expected else value term or rule body");
  return parseInfix(p);
}

function parseDefault(p: Parser, loc: Location, start: number): Rule {
  if (!p.isName()) p.unexpected();
  const head = parseHead(p);
  if (head.value === undefined) {
    p.fail(
      "unexpected default rule: expected default rule value term (e.g., default p := <VALUE>)",
      loc,
    );
  }
  checkDefault(p, head, loc);
  return make(p, {
    head,
    body: trueBody(loc),
    otherwise: undefined,
    loc,
    start,
    isDefault: true,
    bare: true,
  });
}

function checkDefault(p: Parser, head: Head, loc: Location): void {
  if (head.ref.some((term, i) => i > 0 && !isGround(term))) {
    p.fail("default rules with variables in the head are not allowed", loc);
  }
  const value = head.value as Term;
  if (hasLookup(value))
    p.fail(`illegal default rule (value cannot contain ${illegal(value)})`, loc);
  const names = new Set<string>();
  for (const arg of head.args ?? []) {
    if (arg.kind !== "var") {
      p.fail(`illegal default rule (arguments cannot contain ${arg.kind})`, loc);
    }
    if (names.has(arg.name))
      p.fail(`illegal default rule (arguments cannot be repeated ${arg.name})`, loc);
    names.add(arg.name);
  }
}

// Comprehensions are allowed: they are always defined. Lookups and calls may not be.
function hasLookup(term: Term): boolean {
  switch (term.kind) {
    case "var":
    case "ref":
    case "call":
      return true;
    case "array":
    case "set":
      return term.items.some(hasLookup);
    case "object":
      return term.entries.some(([key, value]) => hasLookup(key) || hasLookup(value));
    default:
      return false;
  }
}

function illegal(term: Term): string {
  return term.kind === "var" || term.kind === "call" ? term.kind : "ref";
}
