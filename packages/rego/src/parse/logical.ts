// `and` and `or` between expressions (import future.keywords.and / or). `and` binds tighter.
import { makeExpr, negate, parseBody, parseExpr, parseWiths } from "./expression.ts";
import type { Body, Expr, Location } from "../syntax/ast.ts";
import type { Parser } from "./parser.ts";

export interface Operand {
  readonly body: Body;
  /** Written in braces, so that it has a scope of its own. */
  readonly explicit: boolean;
  readonly loc: Location;
}

export function logicalWordsActive(p: Parser): boolean {
  return p.keywords.has("and") || p.keywords.has("or");
}

function atOperator(p: Parser): boolean {
  return p.isKeyword("and") || p.isKeyword("or");
}

/** A literal that starts with a braced operand or a parenthesised group, when it is one. */
export function parseLogicalStart(p: Parser): Expr | undefined {
  if (!logicalWordsActive(p)) return undefined;
  if (p.isPunct("{")) {
    const operand = p.attempt(() => {
      const body = parseBraced(p);
      return atOperator(p) ? body : undefined;
    });
    return operand && parseLogicalTail(p, operand);
  }
  if (p.isPunct("(")) {
    const group = parseGroup(p, false);
    return group && parseLogicalTail(p, group);
  }
  if (p.isKeyword("not") && p.notBodies && p.peek().text === "(") {
    const loc = p.loc();
    p.next();
    const group = parseGroup(p, true);
    if (group) return parseLogicalTail(p, negatedGroup(group, loc));
    p.index--;
  }
  return undefined;
}

function negatedGroup(group: Operand, loc: Location): Operand {
  const expr = makeExpr({ kind: "not", body: group.body, explicit: group.explicit }, loc);
  return { body: [expr], explicit: false, loc };
}

function parseBraced(p: Parser): Operand {
  const loc = p.loc();
  p.next();
  return { body: parseBody(p, "}"), explicit: true, loc };
}

/** What follows an operand: more operands, or nothing; then the modifiers of the whole. */
export function parseLogicalTail(p: Parser, first: Operand): Expr {
  const whole = parseOr(p, first);
  const withs = parseWiths(p);
  const [only] = whole.body;
  return { ...(only as Expr), withs: withs.length > 0 ? withs : (only as Expr).withs };
}

function parseOr(p: Parser, first: Operand): Operand {
  let left = parseAnd(p, first);
  while (p.acceptKeyword("or")) left = join("or", left, parseAnd(p, parseOperand(p)));
  return left;
}

function parseAnd(p: Parser, first: Operand): Operand {
  let left = first;
  while (p.acceptKeyword("and")) left = join("and", left, parseOperand(p));
  return left;
}

function join(kind: "and" | "or", left: Operand, right: Operand): Operand {
  const expr = makeExpr(
    {
      kind,
      left: left.body,
      right: right.body,
      explicitLeft: left.explicit,
      explicitRight: right.explicit,
    },
    left.loc,
  );
  return { body: [expr], explicit: false, loc: left.loc };
}

function parseOperand(p: Parser): Operand {
  if (p.isPunct("{")) return parseBraced(p);
  const loc = p.loc();
  const negated = p.acceptKeyword("not");
  if (negated && p.notBodies && p.isPunct("{")) return negatedGroup(parseBraced(p), loc);
  if (p.isPunct("(") && (!negated || p.notBodies)) {
    const group = parseGroup(p, true);
    if (group) return negated ? negatedGroup(group, loc) : group;
  }
  const expr = negate(p, parseExpr(p), negated, loc);
  return { body: [expr], explicit: false, loc };
}

/** `(a or b)`. Undefined when the parentheses hold an ordinary term, which is then read as one. */
function parseGroup(p: Parser, isOperand: boolean): Operand | undefined {
  return p.attempt(() =>
    p.nested(() => {
      const loc = p.loc();
      p.next();
      const first = parseOperand(p);
      if (atOperator(p)) {
        const expr = parseLogicalTail(p, first);
        p.expect(")", "expected ) to close parenthesized group");
        return { body: [expr], explicit: false, loc };
      }
      const [only] = first.body;
      if (first.explicit || !only) return undefined;
      const withs = parseWiths(p);
      p.expect(")", "expected ) to close parenthesized group");
      if (withs.length > 0) {
        return isOperand || atOperator(p)
          ? { body: [{ ...only, withs }], explicit: false, loc }
          : undefined;
      }
      const isGroup = only.negated || ["and", "or", "not"].includes(only.node.kind);
      return isGroup ? { body: first.body, explicit: false, loc } : undefined;
    }),
  );
}
