// Terms: operators by precedence, references, calls, literals.
import { parseComposite } from "./composite.ts";
import { parseLiteral } from "./expression.ts";
import { parseNumber } from "../values/number.ts";
import type { Expr, Location, RefTerm, Term } from "../syntax/ast.ts";
import type { Parser } from "./parser.ts";

/** Binary operators, loosest first; `in` is looser still. */
const LEVELS: readonly Readonly<Record<string, string>>[] = [
  { "==": "equal", "!=": "neq", "<": "lt", ">": "gt", "<=": "lte", ">=": "gte" },
  { "|": "or" },
  { "&": "and" },
  { "+": "plus", "-": "minus" },
  { "*": "mul", "/": "div", "%": "rem" },
];

export function operator(name: string, loc: Location): RefTerm {
  const [head = "", ...path] = name.split(".");
  return {
    kind: "ref",
    loc,
    terms: [
      { kind: "var", name: head, loc },
      ...path.map((value): Term => ({ kind: "scalar", value, loc })),
    ],
  };
}

/** A term with operators. In lists a comma ends it; elsewhere `k, v in xs` is one term. */
export function parseInfix(p: Parser, inList = false, first?: Term): Term {
  return p.nested(() => {
    let left = parseLevel(p, 0, first);
    if (!inList && p.isPunct(",")) {
      const pair = p.attempt(() => parseKeyedMembership(p, left));
      if (pair) left = pair;
    }
    while (p.isKeyword("in")) {
      const loc = p.loc();
      p.next();
      const domain = parseLevel(p, 0);
      left = {
        kind: "call",
        op: operator("internal.member_2", loc),
        args: [left, domain],
        loc: left.loc,
      };
    }
    return left;
  });
}

function parseKeyedMembership(p: Parser, key: Term): Term | undefined {
  p.next();
  const value = parseLevel(p, 0);
  if (!p.isKeyword("in")) return undefined;
  const loc = p.loc();
  p.next();
  const args = [key, value, parseLevel(p, 0)];
  return { kind: "call", op: operator("internal.member_3", loc), args, loc: key.loc };
}

function parseLevel(p: Parser, level: number, first?: Term): Term {
  const names = LEVELS[level];
  if (!names) return first ?? parseTerm(p);
  let left = parseLevel(p, level + 1, first);
  for (;;) {
    const { token } = p;
    const name =
      token.kind === "punct" && Object.hasOwn(names, token.text) ? names[token.text] : undefined;
    if (name === undefined) return left;
    p.next();
    const right = parseLevel(p, level + 1);
    left = { kind: "call", op: operator(name, p.loc(token)), args: [left, right], loc: left.loc };
  }
}

export function parseTerm(p: Parser): Term {
  return p.nested(() => parseSuffix(p, parsePrimary(p)));
}

function parsePrimary(p: Parser): Term {
  const { token } = p;
  const loc = p.loc();
  switch (token.kind) {
    case "number":
      return parseNumberTerm(p, "");
    case "string":
      p.next();
      return { kind: "scalar", value: token.text, loc };
    case "template":
      return parseTemplate(p);
    case "ident":
      return parseWord(p);
    case "punct":
      if (token.text === "-") return parseMinus(p);
      if (token.text === ".") return parseNumberTerm(p, "");
      if (token.text === "[" || token.text === "{") return parseComposite(p);
      if (token.text === "(") return parseParens(p);
      return p.unexpected();
    case "eof":
      return p.unexpected();
  }
}

function parseWord(p: Parser): Term {
  const { token } = p;
  const loc = p.loc();
  const isCall = !p.peek().spaced && p.peek().text === "(" && p.peek().kind === "punct";
  // `and(x, y)` and `or(x, y)` are the set built-ins even where the words are operators.
  if (p.isName() || (isCall && (token.text === "and" || token.text === "or"))) {
    return p.variable(p.next());
  }
  const constants: Readonly<Record<string, boolean | null>> = {
    true: true,
    false: false,
    null: null,
  };
  if (!Object.hasOwn(constants, token.text)) p.unexpected();
  p.next();
  return { kind: "scalar", value: constants[token.text] as boolean | null, loc };
}

function parseMinus(p: Parser): Term {
  const loc = p.loc();
  p.next();
  if (!p.isName()) return { ...parseNumberTerm(p, "-"), loc };
  const zero: Term = { kind: "scalar", value: 0, loc };
  return {
    kind: "call",
    op: operator("minus", loc),
    args: [zero, parseSuffix(p, parseWord(p))],
    loc,
  };
}

function parseNumberTerm(p: Parser, sign: string): Term {
  const loc = p.loc();
  const point = p.accept(".") ? "." : "";
  const { token } = p;
  if (token.kind !== "number" || (point !== "" && token.spaced)) p.unexpected("expected number");
  p.next();
  const value = parseNumber(sign + (point === "" ? "" : "0.") + token.text);
  if (value === undefined) return p.fail("invalid float", loc);
  const size = typeof value === "number" ? 0 : value.decimal.digits.length + value.decimal.exponent;
  // OPA refuses exponents beyond 2^100000; so do we, to keep arithmetic bounded.
  if (Math.abs(size) > 30_103) p.fail("number too big", loc);
  return { kind: "scalar", value, loc };
}

function parseParens(p: Parser): Term {
  p.next();
  const inner = parseInfix(p);
  p.expect(")", "non-terminated expression");
  return inner;
}

/** The `.name`, `[term]` and `(args)` that follow a term without a space between. */
function parseSuffix(p: Parser, head: Term): Term {
  let path: Term[] = [head];
  const asTerm = (): Term => {
    const [only] = path;
    const isRoot = head.kind === "var" && (head.name === "data" || head.name === "input");
    if (path.length === 1 && only && !(isRoot && only === head)) return only;
    return { kind: "ref", terms: path, loc: head.loc };
  };
  while (p.token.kind === "punct" && !p.token.spaced) {
    const sign = p.token.text;
    if (sign !== "." && sign !== "[" && sign !== "(") break;
    if (path.length === 1 && (head.kind === "scalar" || head.kind === "template")) {
      p.fail(`illegal ref (head cannot be ${head.kind})`, head.loc);
    }
    if (sign === ".") path.push(parseDotName(p));
    else if (sign === "[") path.push(parseBracket(p));
    else path = [parseCall(p, { kind: "ref", terms: path, loc: head.loc })];
  }
  return asTerm();
}

function parseDotName(p: Parser): Term {
  p.next();
  const { token } = p;
  if (token.kind !== "ident" || token.spaced) p.unexpected("expected ident");
  p.next();
  return { kind: "scalar", value: token.text, loc: p.loc(token) };
}

function parseBracket(p: Parser): Term {
  p.next();
  const key = parseInfix(p);
  p.expect("]", "expected ]");
  return key;
}

function parseCall(p: Parser, op: RefTerm): Term {
  p.next();
  const args = parseTermList(p, ")");
  const [name] = op.terms;
  if (args.length === 0 && op.terms.length === 1 && name?.kind === "var" && name.name === "set") {
    return { kind: "set", items: [], loc: op.loc };
  }
  return { kind: "call", op, args, loc: op.loc };
}

/** Terms up to and including the closing sign; a comma may stand before it. */
export function parseTermList(p: Parser, end: string, first?: Term): readonly Term[] {
  const items: Term[] = first ? [first] : [];
  if (first && !p.isPunct(end)) p.expect(",", `expected "," or "${end}"`);
  while (!p.accept(end)) {
    items.push(parseInfix(p, true));
    if (!p.isPunct(end)) p.expect(",", `expected "," or "${end}"`);
  }
  return items;
}

function parseTemplate(p: Parser): Term {
  const loc = p.loc();
  const raw = p.token.raw;
  const parts: (string | Expr)[] = [];
  for (;;) {
    const part = p.next();
    if (part.text !== "") parts.push(part.text);
    if (part.last) return { kind: "template", raw, parts, loc };
    const expr = p.nested(() => parseLiteral(p));
    checkTemplateExpr(p, expr);
    parts.push(expr);
    if (p.token.kind !== "template") p.fail("expected } to end template string expression");
  }
}

function checkTemplateExpr(p: Parser, expr: Expr): void {
  const where = "in template-string expression";
  if (expr.negated || expr.node.kind === "not")
    p.fail(`unexpected negation ('not') ${where}`, expr.loc);
  if (expr.node.kind === "eq") {
    const what = expr.node.assign ? "assignment (':=')" : "unification ('=')";
    p.fail(`unexpected ${what} ${where}`, expr.loc);
  }
  if (expr.node.kind === "every") p.fail(`unexpected 'every' ${where}`, expr.loc);
  if (expr.node.kind === "some" || expr.node.kind === "someIn") {
    p.fail(`unexpected 'some' ${where}`, expr.loc);
  }
}
