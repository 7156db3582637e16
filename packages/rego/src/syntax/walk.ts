// Visits every expression and term of a rule or body, nested ones too.
import type { Body, Expr, Location, RefTerm, Rule, Term } from "./ast.ts";

export interface Visitor {
  term?(term: Term): void;
  expr?(expr: Expr): void;
}

export function walkRule(rule: Rule, visitor: Visitor): void {
  const { head } = rule;
  for (const term of [...head.ref.slice(1), ...(head.args ?? []), head.key, head.value]) {
    if (term) walkTerm(term, visitor);
  }
  walkBody(rule.body, visitor);
  if (rule.otherwise) walkRule(rule.otherwise, visitor);
}

export function walkBody(body: Body, visitor: Visitor): void {
  for (const expr of body) walkExpr(expr, visitor);
}

function walkExpr(expr: Expr, visitor: Visitor): void {
  visitor.expr?.(expr);
  for (const item of expr.withs) {
    walkTerm(item.target, visitor);
    walkTerm(item.value, visitor);
  }
  const { node } = expr;
  switch (node.kind) {
    case "term":
      walkTerm(node.term, visitor);
      return;
    case "call":
      for (const arg of node.args) walkTerm(arg, visitor);
      return;
    case "eq":
      walkTerm(node.left, visitor);
      walkTerm(node.right, visitor);
      return;
    case "someIn":
      if (node.key) walkTerm(node.key, visitor);
      walkTerm(node.value, visitor);
      walkTerm(node.domain, visitor);
      return;
    case "every":
      walkTerm(node.domain, visitor);
      walkBody(node.body, visitor);
      return;
    case "not":
      walkBody(node.body, visitor);
      return;
    case "and":
    case "or":
      walkBody(node.left, visitor);
      walkBody(node.right, visitor);
      return;
    case "some":
      return;
  }
}

export function walkTerm(term: Term, visitor: Visitor): void {
  visitor.term?.(term);
  switch (term.kind) {
    case "ref":
      for (const part of term.terms) walkTerm(part, visitor);
      return;
    case "array":
    case "set":
      for (const item of term.items) walkTerm(item, visitor);
      return;
    case "object":
      for (const [key, value] of term.entries) {
        walkTerm(key, visitor);
        walkTerm(value, visitor);
      }
      return;
    case "call":
      for (const arg of term.args) walkTerm(arg, visitor);
      return;
    case "arrayComprehension":
    case "setComprehension":
      walkTerm(term.head, visitor);
      walkBody(term.body, visitor);
      return;
    case "objectComprehension":
      walkTerm(term.key, visitor);
      walkTerm(term.value, visitor);
      walkBody(term.body, visitor);
      return;
    case "template":
      for (const part of term.parts) if (typeof part !== "string") walkExpr(part, visitor);
      return;
    case "scalar":
    case "var":
      return;
  }
}

/** Every call, as an expression or inside a term. */
export function eachCall(rule: Rule, found: (op: RefTerm, loc: Location) => void): void {
  walkRule(rule, {
    term: (term) => {
      if (term.kind === "call") found(term.op, term.loc);
    },
    expr: (expr) => {
      if (expr.node.kind === "call") found(expr.node.op, expr.loc);
    },
  });
}
