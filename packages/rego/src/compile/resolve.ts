// Walks rules and queries with a Scope and gives every name its meaning.
import { loadFailure } from "../errors.ts";
import { declaredNames } from "./names.ts";
import { isWildcard } from "../syntax/terms.ts";
import { bodyVars, termVars } from "../syntax/variables.ts";
import type { Body, Expr, ExprNode, Head, Location, Rule, Term, With } from "../syntax/ast.ts";
import type { Scope } from "./names.ts";

export function resolveRule(scope: Scope, rule: Rule): Rule {
  scope.push();
  const args = rule.head.args?.map((arg) => resolveArg(scope, arg));
  scope.announce(declaredNames(rule.body));
  const body = resolveExprs(scope, rule.body);
  const head = resolveHead(scope, rule.head, args);
  checkUsed(scope, body, [...head.ref, head.key, head.value], rule.body[0]?.loc ?? rule.loc);
  scope.pop();
  const otherwise = rule.otherwise && resolveRule(scope, rule.otherwise);
  return { ...rule, head, body, otherwise };
}

function resolveHead(scope: Scope, head: Head, args: readonly Term[] | undefined): Head {
  return {
    ...head,
    args,
    ref: head.ref.map((term, i) => (i === 0 ? term : resolveTerm(scope, term))),
    key: head.key && resolveTerm(scope, head.key),
    value: head.value && resolveTerm(scope, head.value),
  };
}

/** Arguments are patterns: their variables are declared by them, and may repeat. */
function resolveArg(scope: Scope, term: Term): Term {
  const visit = (part: Term): Term => {
    switch (part.kind) {
      case "var": {
        if (isWildcard(part.name)) return part;
        return { ...part, name: scope.argument(part.name, part.loc) };
      }
      case "array":
        return { ...part, items: part.items.map(visit) };
      case "object":
        return {
          ...part,
          entries: part.entries.map(([key, value]) => [visit(key), visit(value)] as const),
        };
      case "scalar":
        return part;
      default:
        return resolveTerm(scope, part);
    }
  };
  return visit(term);
}

/** A body with a scope of its own. */
export function resolveBody(scope: Scope, body: Body): Body {
  scope.push(declaredNames(body));
  const resolved = resolveExprs(scope, body);
  checkUsed(scope, resolved, [], body[0]?.loc);
  scope.pop();
  return resolved;
}

/** What `some` and `every` declare must be used. */
function checkUsed(
  scope: Scope,
  body: Body,
  terms: readonly (Term | undefined)[],
  at: Location | undefined,
): void {
  const unused = new Map(scope.declaredHere());
  if (unused.size === 0 || !at) return;
  const use = (name: string): unknown => unused.delete(name);
  bodyVars(body, use, { closures: true });
  for (const term of terms) if (term) termVars(term, use, { closures: true });
  const [name] = unused.values();
  if (name !== undefined)
    throw loadFailure("rego_compile_error", at, `declared var ${name} unused`);
}

export function resolveExprs(scope: Scope, body: Body): Body {
  const resolved: Expr[] = [];
  for (const expr of body) {
    const next = resolveExpr(scope, expr);
    if (next) resolved.push(next);
  }
  return resolved;
}

function resolveExpr(scope: Scope, expr: Expr): Expr | undefined {
  const { node } = expr;
  if (node.kind === "some") {
    for (const { name, loc } of node.vars)
      if (!isWildcard(name)) scope.declare(name, "declared", loc);
    return undefined;
  }
  if (node.kind === "eq" && node.assign && expr.negated) {
    throw loadFailure(
      "rego_compile_error",
      expr.loc,
      "cannot assign vars inside negated expression",
    );
  }
  // Modifiers are read before the expression declares anything.
  const withs = expr.withs.map((each) => resolveWith(scope, each));
  return { ...expr, withs, node: resolveNode(scope, node, expr.loc) };
}

function resolveWith(scope: Scope, item: With): With {
  const target = scope.resolveOperator(item.target);
  const builtin = scope.builtinNamed(item.value);
  if (builtin !== undefined)
    return { ...item, target, builtin, value: { kind: "scalar", value: true, loc: item.loc } };
  const value = resolveTerm(scope, item.value);
  return { ...item, target, value, isFunction: scope.isFunction(value) };
}

function resolveNode(scope: Scope, node: ExprNode, loc: Location): ExprNode {
  switch (node.kind) {
    case "term":
      return { kind: "term", term: resolveTerm(scope, node.term) };
    case "call":
      return resolveCall(scope, node, loc);
    case "eq": {
      if (!node.assign) {
        return {
          ...node,
          left: resolveTerm(scope, node.left),
          right: resolveTerm(scope, node.right),
        };
      }
      const right = resolveTerm(scope, node.right);
      return { ...node, left: declarePattern(scope, node.left, "assigned"), right };
    }
    case "some":
      return node;
    case "someIn":
      return resolveSomeIn(scope, node, loc);
    case "every":
      return resolveEvery(scope, node);
    case "not":
      return { ...node, body: resolveBody(scope, node.body) };
    case "and":
    case "or":
      return {
        ...node,
        left: node.explicitLeft ? resolveBody(scope, node.left) : resolveExprs(scope, node.left),
        right: node.explicitRight
          ? resolveBody(scope, node.right)
          : resolveExprs(scope, node.right),
      };
  }
}

function resolveCall(scope: Scope, node: ExprNode & { kind: "call" }, loc: Location): ExprNode {
  const op = scope.resolveOperator(node.op);
  const metadata = scope.metadataCall(op);
  if (metadata !== undefined)
    return { kind: "term", term: { kind: "scalar", value: metadata, loc } };
  const [head] = op.terms;
  if (op.terms.length === 1 && head?.kind === "var" && head.name === "print") {
    // What is printed may be undefined, and printing never fails.
    const items = node.args.map((arg) => captureTerm(scope, arg));
    const args: Term[] = [{ kind: "array", items, loc }];
    return { kind: "call", op: operatorRef(["internal", "print"], loc), args };
  }
  return { kind: "call", op, args: node.args.map((arg) => resolveTerm(scope, arg)) };
}

/** `some v in xs` is `v = xs[_]` with v declared. */
function resolveSomeIn(scope: Scope, node: ExprNode & { kind: "someIn" }, loc: Location): ExprNode {
  const domain = resolveTerm(scope, node.domain);
  const key: Term = node.key
    ? declarePattern(scope, node.key, "declared")
    : { kind: "var", name: scope.names.fresh("$"), loc };
  const value = declarePattern(scope, node.value, "declared");
  const inside = domain.kind === "ref" ? [...domain.terms, key] : [domain, key];
  return {
    kind: "eq",
    left: value,
    right: { kind: "ref", terms: inside, loc: domain.loc },
    assign: false,
  };
}

function resolveEvery(scope: Scope, node: ExprNode & { kind: "every" }): ExprNode {
  const domain = resolveTerm(scope, node.domain);
  scope.push();
  const key = node.key && (declarePattern(scope, node.key, "declared") as typeof node.key);
  const value = declarePattern(scope, node.value, "declared") as typeof node.value;
  const body = resolveBody(scope, node.body);
  checkUsed(scope, body, [], node.value.loc);
  scope.pop();
  return { kind: "every", key, value, domain, body };
}

/** The left side of `:=` or `some ... in`: its variables are new. */
function declarePattern(scope: Scope, term: Term, as: "assigned" | "declared"): Term {
  switch (term.kind) {
    case "var":
      return isWildcard(term.name)
        ? term
        : { ...term, name: scope.declare(term.name, as, term.loc) };
    case "array":
      return { ...term, items: term.items.map((item) => declarePattern(scope, item, as)) };
    case "object":
      return {
        ...term,
        entries: term.entries.map(
          ([key, value]) => [resolveTerm(scope, key), declarePattern(scope, value, as)] as const,
        ),
      };
    case "ref": {
      const [root] = term.terms;
      if (term.terms.length === 1 && root?.kind === "var") {
        throw loadFailure(
          "rego_compile_error",
          term.loc,
          `variables must not shadow ${root.name} (use a different variable name)`,
        );
      }
      break;
    }
    case "scalar":
      // `some [1, x] in xs` matches; only the whole left side of := must not be a constant.
      return term;
    default:
      break;
  }
  if (as === "declared") return resolveTerm(scope, term);
  throw loadFailure("rego_compile_error", term.loc, `cannot assign to ${term.kind}`);
}

export function resolveTerm(scope: Scope, term: Term): Term {
  switch (term.kind) {
    case "scalar":
      return term;
    case "var":
      return scope.resolveVar(term);
    case "ref":
      return resolveRef(scope, term);
    case "array":
    case "set":
      return { ...term, items: term.items.map((item) => resolveTerm(scope, item)) };
    case "object":
      return {
        ...term,
        entries: term.entries.map(
          ([key, value]) => [resolveTerm(scope, key), resolveTerm(scope, value)] as const,
        ),
      };
    case "call": {
      const op = scope.resolveOperator(term.op);
      const metadata = scope.metadataCall(op);
      if (metadata !== undefined) return { kind: "scalar", value: metadata, loc: term.loc };
      return { ...term, op, args: term.args.map((arg) => resolveTerm(scope, arg)) };
    }
    case "arrayComprehension":
    case "setComprehension": {
      scope.push(declaredNames(term.body));
      const body = resolveExprs(scope, term.body);
      const head = resolveTerm(scope, term.head);
      checkUsed(scope, body, [head], term.loc);
      scope.pop();
      return { ...term, head, body };
    }
    case "objectComprehension": {
      scope.push(declaredNames(term.body));
      const body = resolveExprs(scope, term.body);
      const key = resolveTerm(scope, term.key);
      const value = resolveTerm(scope, term.value);
      checkUsed(scope, body, [key, value], term.loc);
      scope.pop();
      return { ...term, key, value, body };
    }
    case "template":
      return resolveTemplate(scope, term);
  }
}

function resolveRef(scope: Scope, term: Term & { kind: "ref" }): Term {
  const [head, ...rest] = term.terms;
  const path = rest.map((part) => resolveTerm(scope, part));
  if (head?.kind !== "var") return { ...term, terms: [resolveTerm(scope, head as Term), ...path] };
  if (head.name === "data" || head.name === "input") return { ...term, terms: [head, ...path] };
  const base = scope.resolveVar(head);
  return { ...term, terms: [...(base.kind === "ref" ? base.terms : [base]), ...path] };
}

/** Each expression becomes a set of its values: empty when it is undefined. */
function resolveTemplate(scope: Scope, term: Term & { kind: "template" }): Term {
  const items = term.parts.map((part): Term => {
    if (typeof part === "string") return { kind: "scalar", value: part, loc: term.loc };
    return captureExpr(scope, part);
  });
  const parts: Term = { kind: "array", items, loc: term.loc };
  const op = operatorRef(["internal", "template_string"], term.loc);
  return { kind: "call", op, args: [parts], loc: term.loc };
}

function operatorRef(path: readonly string[], loc: Location): Term & { kind: "ref" } {
  const [head = "", ...rest] = path;
  const tail = rest.map((value): Term => ({ kind: "scalar", value, loc }));
  return { kind: "ref", terms: [{ kind: "var", name: head, loc }, ...tail], loc };
}

function captureExpr(scope: Scope, expr: Expr): Term {
  const { loc, node } = expr;
  const inner: Term =
    node.kind === "call"
      ? { kind: "call", op: node.op, args: node.args, loc }
      : node.kind === "term"
        ? node.term
        : { kind: "scalar", value: true, loc };
  return captureTerm(scope, inner, expr.withs);
}

/** `{x | x = term}`: the values of a term that may be undefined. */
export function captureTerm(scope: Scope, term: Term, withs: readonly With[] = []): Term {
  const { loc } = term;
  const capture: Term = { kind: "var", name: scope.names.fresh(), loc };
  const node: ExprNode = {
    kind: "eq",
    left: capture,
    right: resolveTerm(scope, term),
    assign: true,
  };
  const body: Body = [
    { node, loc, negated: false, withs: withs.map((each) => resolveWith(scope, each)) },
  ];
  return { kind: "setComprehension", head: capture, body, loc };
}
