// Every variable must be bound before it is needed. Expressions are put in an order that does so,
// keeping the written order where possible; what cannot be ordered is an unsafe variable.
import { writtenName } from "../compile/names.ts";
import { bodyVars, closureVars, exprVars, isRoot, termVars } from "../syntax/variables.ts";
import type { Body, Expr, ExprNode, RefTerm, Term } from "../syntax/ast.ts";
import type { LoadError } from "../errors.ts";

/** The number of inputs a function takes; undefined when there is no such function. */
export type Arity = (op: RefTerm) => number | undefined;

export interface SafetyContext {
  readonly arity: Arity;
  readonly errors: LoadError[];
}

/** Orders a body given the variables that are bound already, and adds those it binds to them. */
export function orderBody(ctx: SafetyContext, bound: Set<string>, body: Body): Body {
  const inBody = new Set<string>();
  bodyVars(body, (name) => inBody.add(name));
  const outer = new Set(bound);
  const waiting = body.map((expr) => ({ expr, needs: needsOf(expr, inBody, outer) }));
  const ordered: Expr[] = [];
  let rest = waiting;
  while (rest.length > 0) {
    const blocked: typeof waiting = [];
    for (const item of rest) {
      const outputs = outputsOf(ctx.arity, item.expr, bound);
      if (isReady(item.needs, outputs, bound)) {
        for (const name of item.needs.own) bound.add(name);
        ordered.push(item.expr);
      } else blocked.push(item);
    }
    if (blocked.length === rest.length) {
      for (const item of blocked) reportUnsafe(ctx, item.expr, item.needs, bound);
      break;
    }
    rest = blocked;
  }
  return orderClosures(ctx, outer, ordered);
}

interface Needs {
  readonly own: ReadonlySet<string>;
  /** Variables that nested bodies share with this one; the expression cannot bind them itself. */
  readonly closed: ReadonlySet<string>;
}

function needsOf(expr: Expr, inBody: ReadonlySet<string>, outer: ReadonlySet<string>): Needs {
  const own = new Set<string>();
  exprVars(expr, (name) => own.add(name));
  const closed = new Set<string>();
  closureVars(expr, (name) => {
    if (inBody.has(name) && !outer.has(name)) closed.add(name);
  });
  return { own, closed };
}

function isReady(needs: Needs, outputs: ReadonlySet<string>, bound: ReadonlySet<string>): boolean {
  for (const name of needs.own) if (!bound.has(name) && !outputs.has(name)) return false;
  for (const name of needs.closed) if (!bound.has(name)) return false;
  return true;
}

function reportUnsafe(
  ctx: SafetyContext,
  expr: Expr,
  needs: Needs,
  bound: ReadonlySet<string>,
): void {
  const outputs = outputsOf(ctx.arity, expr, bound);
  const seen = new Set<string>();
  for (const name of [...needs.own, ...needs.closed]) {
    const written = writtenName(name);
    // A variable of our own making is unsafe only because a written one is.
    if (bound.has(name) || outputs.has(name) || name.startsWith("#") || seen.has(written)) continue;
    seen.add(written);
    const { file, line, column } = expr.loc;
    const message = `var ${written} is unsafe`;
    ctx.errors.push({ code: "rego_unsafe_var_error", file, line, column, message });
  }
}

/** Nested bodies see the variables of everything before them. */
function orderClosures(ctx: SafetyContext, outer: ReadonlySet<string>, body: Body): Body {
  const bound = new Set(outer);
  return body.map((expr) => {
    const node = orderNode(ctx, expr.node, bound);
    const withs = expr.withs.map((item) => ({ ...item, value: orderTerm(ctx, item.value, bound) }));
    exprVars(expr, (name) => bound.add(name));
    return { ...expr, node, withs };
  });
}

function orderNode(ctx: SafetyContext, node: ExprNode, bound: ReadonlySet<string>): ExprNode {
  const sub = (term: Term): Term => orderTerm(ctx, term, bound);
  switch (node.kind) {
    case "term":
      return { ...node, term: sub(node.term) };
    case "call":
      return { ...node, args: node.args.map(sub) };
    case "eq":
      return { ...node, left: sub(node.left), right: sub(node.right) };
    case "every": {
      const inner = new Set(bound);
      if (node.key) inner.add(node.key.name);
      inner.add(node.value.name);
      return { ...node, domain: sub(node.domain), body: orderBody(ctx, inner, node.body) };
    }
    case "not":
      return { ...node, body: orderBody(ctx, new Set(bound), node.body) };
    case "and":
    case "or": {
      const left = orderBody(ctx, new Set(bound), node.left);
      return { ...node, left, right: orderBody(ctx, new Set(bound), node.right) };
    }
    case "some":
    case "someIn":
      return node;
  }
}

export function orderTerm(ctx: SafetyContext, term: Term, bound: ReadonlySet<string>): Term {
  const sub = (part: Term): Term => orderTerm(ctx, part, bound);
  switch (term.kind) {
    case "ref":
      return { ...term, terms: term.terms.map(sub) };
    case "array":
    case "set":
      return { ...term, items: term.items.map(sub) };
    case "object":
      return {
        ...term,
        entries: term.entries.map(([key, value]) => [sub(key), sub(value)] as const),
      };
    case "arrayComprehension":
    case "setComprehension": {
      const inner = new Set(bound);
      const body = orderBody(ctx, inner, term.body);
      checkHead(ctx, term.head, inner);
      return { ...term, body };
    }
    case "objectComprehension": {
      const inner = new Set(bound);
      const body = orderBody(ctx, inner, term.body);
      checkHead(ctx, term.key, inner);
      checkHead(ctx, term.value, inner);
      return { ...term, body };
    }
    default:
      return term;
  }
}

/** The variables of a head must be bound by its body. */
export function checkHead(ctx: SafetyContext, term: Term, bound: ReadonlySet<string>): void {
  if (ctx.errors.length > 0) return;
  termVars(term, (name) => {
    if (bound.has(name)) return;
    const { file, line, column } = term.loc;
    const message = `var ${writtenName(name)} is unsafe`;
    ctx.errors.push({ code: "rego_unsafe_var_error", file, line, column, message });
  });
}

/** The variables an expression binds when those in `bound` are known. */
export function outputsOf(arity: Arity, expr: Expr, bound: ReadonlySet<string>): Set<string> {
  const outputs = new Set<string>();
  if (expr.negated) return outputs;
  let blocked = false;
  for (const item of expr.withs) {
    termVars(item.value, (name) => (blocked ||= !bound.has(name)));
  }
  if (blocked) return outputs;
  const { node } = expr;
  switch (node.kind) {
    case "term":
      refOutputs(node.term, bound, outputs);
      break;
    case "eq":
      refOutputs(node.left, bound, outputs);
      refOutputs(node.right, bound, outputs);
      unifyOutputs(node.left, node.right, node.assign, bound, outputs);
      break;
    case "call":
      callOutputs(arity(node.op), node.args, bound, outputs);
      break;
    case "every":
      refOutputs(node.domain, bound, outputs);
      break;
    default:
      break;
  }
  return outputs;
}

/** A lookup into something known binds the variables of its path. */
function refOutputs(term: Term, bound: ReadonlySet<string>, outputs: Set<string>): void {
  switch (term.kind) {
    case "ref": {
      const [head, ...path] = term.terms;
      if (head?.kind !== "var" || (!isRoot(head.name) && !bound.has(head.name))) return;
      for (const part of path) {
        termVars(part, (name) => outputs.add(name), { outputs: true });
        refOutputs(part, bound, outputs);
      }
      return;
    }
    case "array":
    case "set":
      for (const item of term.items) refOutputs(item, bound, outputs);
      return;
    case "object":
      for (const [key, value] of term.entries) {
        refOutputs(key, bound, outputs);
        refOutputs(value, bound, outputs);
      }
      return;
    default:
      return;
  }
}

function callOutputs(
  arity: number | undefined,
  args: readonly Term[],
  bound: ReadonlySet<string>,
  outputs: Set<string>,
): void {
  if (arity === undefined) return;
  for (const arg of args) refOutputs(arg, bound, outputs);
  let known = true;
  for (const arg of args.slice(0, arity)) {
    termVars(arg, (name) => (known &&= bound.has(name) || outputs.has(name)));
  }
  if (!known) return;
  for (const arg of args.slice(arity))
    termVars(arg, (name) => outputs.add(name), { outputs: true });
}

/** Unification binds the variables of one side when the other side is known, part by part. */
function unifyOutputs(
  left: Term,
  right: Term,
  oneWay: boolean,
  bound: ReadonlySet<string>,
  outputs: Set<string>,
): void {
  const pairs: [Term, Term][] = [];
  splitPairs(left, right, pairs);
  const known = (term: Term): boolean => {
    let result = true;
    termVars(term, (name) => (result &&= bound.has(name) || outputs.has(name)));
    return result;
  };
  const bind = (term: Term, other: Term, isLeft: boolean): boolean => {
    const before = outputs.size;
    if (canBind(term, other, isLeft))
      termVars(term, (name) => outputs.add(name), { outputs: true });
    return outputs.size > before;
  };
  for (let changed = true; changed;) {
    changed = false;
    for (const [a, b] of pairs) {
      if (known(b) && bind(a, b, true)) changed = true;
      if (!oneWay && known(a) && bind(b, a, false)) changed = true;
    }
  }
}

/**
 * A pattern binds nothing when what it is matched with can never have its shape. OPA also refuses an object on the
 * left of a comprehension, and some comprehensions on the left of a pattern; policies must mean the same here.
 */
function canBind(pattern: Term, other: Term, isLeft: boolean): boolean {
  switch (pattern.kind) {
    case "var":
      return true;
    case "array":
      if (!isLeft && other.kind.endsWith("omprehension"))
        return other.kind === "arrayComprehension";
      return !["scalar", "array", "object", "set"].includes(other.kind);
    case "object":
      if (other.kind.endsWith("omprehension"))
        return !isLeft && other.kind === "objectComprehension";
      return !["scalar", "array", "object", "set"].includes(other.kind);
    default:
      return false;
  }
}

/** Literals of the same shape are unified part by part. */
export function splitPairs(a: Term, b: Term, pairs: [Term, Term][]): void {
  if (a.kind === "array" && b.kind === "array" && a.items.length === b.items.length) {
    a.items.forEach((item, i) => {
      splitPairs(item, b.items[i] as Term, pairs);
    });
    return;
  }
  if (a.kind === "object" && b.kind === "object" && a.entries.length === b.entries.length) {
    const matched = a.entries.map(([key, value]) => [value, findEntry(b, key)] as const);
    if (matched.every(([, other]) => other !== undefined)) {
      for (const [value, other] of matched) splitPairs(value, other as Term, pairs);
      return;
    }
  }
  pairs.push([a, b]);
}

function findEntry(object: Term & { kind: "object" }, key: Term): Term | undefined {
  if (key.kind === "var") {
    return object.entries.find(([other]) => other.kind === "var" && other.name === key.name)?.[1];
  }
  if (key.kind !== "scalar") return undefined;
  return object.entries.find(
    ([other]) => other.kind === "scalar" && other.value === key.value,
  )?.[1];
}
