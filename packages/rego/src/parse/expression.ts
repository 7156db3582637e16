// Bodies and the expressions in them.
import { parseLogicalStart, parseLogicalTail } from "./logical.ts";
import { parseInfix, parseTerm } from "./term.ts";
import type {
  Body,
  Expr,
  ExprNode,
  Location,
  RefTerm,
  Term,
  VarTerm,
  With,
} from "../syntax/ast.ts";
import type { Parser } from "./parser.ts";

/** Expressions up to and including the closing sign. */
export function parseBody(p: Parser, end: string): Body {
  return p.nested(() => {
    if (p.tokens[p.index - 1]?.text === "{") p.brackets.set(p.index - 1, "body");
    if (p.isPunct(end)) p.fail("found empty body");
    const body: Expr[] = [];
    for (;;) {
      body.push(parseLiteral(p));
      if (p.accept(";")) continue;
      if (p.accept(end)) return body;
      if (!p.token.newline) p.unexpected(`expected \\n or ; or ${end}`);
    }
  });
}

export function makeExpr(node: ExprNode, loc: Location, withs: readonly With[] = []): Expr {
  return { node, loc, withs, negated: false };
}

export function parseLiteral(p: Parser): Expr {
  const loc = p.loc();
  const group = parseLogicalStart(p);
  if (group) return group;
  const negated = p.acceptKeyword("not");
  if (negated && p.notBodies && p.isPunct("{")) {
    p.next();
    const node: ExprNode = { kind: "not", body: parseBody(p, "}"), explicit: true };
    return parseLogicalTail(p, { body: [makeExpr(node, loc)], explicit: false, loc });
  }
  if (p.isKeyword("some")) {
    if (negated) p.unexpected("illegal negation of 'some'");
    return parseSome(p);
  }
  if (p.isKeyword("every")) {
    if (negated) p.unexpected("illegal negation of 'every'");
    return parseEvery(p);
  }
  return parsePlainLiteral(p, negated, loc);
}

function parsePlainLiteral(p: Parser, negated: boolean, loc: Location): Expr {
  const expr = parseExpr(p);
  const withLoc = p.loc();
  const withs = parseWiths(p);
  const finished = negate(p, { ...expr, withs }, negated, loc);
  if (!p.isKeyword("and") && !p.isKeyword("or")) return finished;
  if (withs.length > 0) {
    p.fail(`\`with\` modifier is not allowed on operand of \`${p.token.text}\``, withLoc);
  }
  return parseLogicalTail(p, { body: [finished], explicit: false, loc });
}

/** `not` over an expression; with future.keywords.not it covers everything the expression needs. */
export function negate(p: Parser, expr: Expr, negated: boolean, loc: Location): Expr {
  if (!negated) return expr;
  if (!p.notBodies) return { ...expr, negated: true, loc };
  const inner: Expr = { ...expr, withs: [] };
  return makeExpr({ kind: "not", body: [inner], explicit: false }, loc, expr.withs);
}

export function parseExpr(p: Parser): Expr {
  const loc = p.loc();
  const left = parseInfix(p);
  const assign = p.isPunct(":=");
  if (assign || p.isPunct("=")) {
    p.next();
    return makeExpr({ kind: "eq", left, right: parseInfix(p), assign }, loc);
  }
  if (left.kind === "call") return makeExpr({ kind: "call", op: left.op, args: left.args }, loc);
  return makeExpr({ kind: "term", term: left }, loc);
}

export function parseWiths(p: Parser): readonly With[] {
  const withs: With[] = [];
  while (p.isKeyword("with")) {
    const loc = p.loc();
    p.next();
    if (p.token.kind !== "ident") p.unexpected("expected ident");
    const target = parseTerm(p);
    if (target.kind !== "ref" && target.kind !== "var") p.unexpected("expected with target path");
    if (!p.acceptKeyword("as")) p.unexpected("expected as keyword");
    withs.push({ target: asRef(target), value: parseInfix(p), loc });
  }
  return withs;
}

function asRef(term: RefTerm | VarTerm): RefTerm {
  return term.kind === "ref" ? term : { kind: "ref", terms: [term], loc: term.loc };
}

function parseSome(p: Parser): Expr {
  const loc = p.loc();
  p.next();
  const membership = p.attempt(() => {
    const term = parseInfix(p);
    return term.kind === "call" ? term : undefined;
  });
  if (membership) {
    const parts = memberParts(membership);
    if (!parts) p.unexpected("expected `x in xs` or `x, y in xs` expression");
    return makeExpr({ kind: "someIn", ...parts }, loc, parseWiths(p));
  }
  const vars: VarTerm[] = [];
  do {
    if (p.token.kind !== "ident" || p.isKeyword(p.token.text)) p.unexpected("expected var");
    vars.push(p.variable(p.next()));
  } while (p.accept(","));
  return makeExpr({ kind: "some", vars }, loc);
}

interface MemberParts {
  readonly key: Term | undefined;
  readonly value: Term;
  readonly domain: Term;
}

function memberParts(term: Term): MemberParts | undefined {
  if (term.kind !== "call" || term.op.terms.length !== 2) return undefined;
  const [head, name] = term.op.terms;
  if (head?.kind !== "var" || head.name !== "internal" || name?.kind !== "scalar") return undefined;
  const [a, b, c] = term.args;
  if (name.value === "member_2" && a && b) return { key: undefined, value: a, domain: b };
  if (name.value === "member_3" && a && b && c) return { key: a, value: b, domain: c };
  return undefined;
}

function parseEvery(p: Parser): Expr {
  const loc = p.loc();
  p.next();
  const parts = memberParts(parseInfix(p));
  if (!parts) p.unexpected("expected `x[, y] in xs { ... }` expression");
  const { key, value, domain } = parts;
  if (key !== undefined && key.kind !== "var") p.unexpected("expected key to be a variable");
  if (value.kind !== "var") p.unexpected("expected value to be a variable");
  p.expect("{", "missing body");
  const body = parseBody(p, "}");
  return makeExpr({ kind: "every", key, value, domain, body }, loc, parseWiths(p));
}
