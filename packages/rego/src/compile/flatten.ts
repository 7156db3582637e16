// After ordering: lookups and comprehensions inside other terms get variables of their own, so that
// the evaluator sees them only as a whole expression or as one side of a unification.
import { generated } from "./expand.ts";
import type { Body, Expr, RefTerm, Term, VarTerm, With } from "../syntax/ast.ts";
import type { NameSource } from "./names.ts";

export function flattenBody(names: NameSource, body: Body): Body {
  const result: Expr[] = [];
  for (const expr of body) flattenExpr(names, expr, result);
  return result;
}

function flattenExpr(names: NameSource, given: Expr, out: Expr[]): void {
  const withs = given.withs.map((item) => ({
    ...item,
    value: flattenTop(names, item.value, [], out),
  }));
  const expr: Expr = { ...given, withs };
  const { node } = expr;
  const one = (term: Term): Term => flattenOne(names, term, withs, out);
  const top = (term: Term): Term => flattenTop(names, term, withs, out);
  switch (node.kind) {
    case "term":
      out.push({ ...expr, node: { ...node, term: top(node.term) } });
      return;
    case "eq": {
      const left = top(node.left);
      out.push({ ...expr, node: { ...node, left, right: top(node.right) } });
      return;
    }
    case "call": {
      const [left, right] = node.args;
      // `a == b` as a whole expression is a test of both sides, like `=` with everything bound.
      if (isEqual(node.op) && left && right && node.args.length === 2) {
        const first = top(left);
        out.push({ ...expr, node: { kind: "eq", left: first, right: top(right), assign: false } });
        return;
      }
      out.push({ ...expr, node: { ...node, args: node.args.map(one) } });
      return;
    }
    case "every":
      out.push({
        ...expr,
        node: { ...node, domain: one(node.domain), body: flattenBody(names, node.body) },
      });
      return;
    case "not":
      out.push({ ...expr, node: { ...node, body: flattenBody(names, node.body) } });
      return;
    case "and":
    case "or": {
      const left = flattenBody(names, node.left);
      out.push({ ...expr, node: { ...node, left, right: flattenBody(names, node.right) } });
      return;
    }
    case "some":
    case "someIn":
      return;
  }
}

function isEqual(op: RefTerm): boolean {
  const [head] = op.terms;
  return op.terms.length === 1 && head?.kind === "var" && head.name === "equal";
}

/** At the top of an expression a lookup or comprehension may stay where it is. */
function flattenTop(names: NameSource, term: Term, withs: readonly With[], out: Expr[]): Term {
  if (term.kind === "ref") return flattenPath(names, term, withs, out);
  const closure = flattenClosure(names, term);
  return closure ?? flattenOne(names, term, withs, out);
}

function flattenPath(
  names: NameSource,
  ref: RefTerm,
  withs: readonly With[],
  out: Expr[],
): RefTerm {
  const [head, ...path] = ref.terms;
  const terms = path.map((part) => flattenOne(names, part, withs, out));
  return { ...ref, terms: [head as Term, ...terms] };
}

function flattenClosure(names: NameSource, term: Term): Term | undefined {
  switch (term.kind) {
    case "arrayComprehension":
    case "setComprehension":
    case "objectComprehension":
      return { ...term, body: flattenBody(names, term.body) };
    default:
      return undefined;
  }
}

export function flattenOne(
  names: NameSource,
  term: Term,
  withs: readonly With[],
  out: Expr[],
): Term {
  const sub = (part: Term): Term => flattenOne(names, part, withs, out);
  switch (term.kind) {
    case "ref":
      return toLocal(names, flattenPath(names, term, withs, out), withs, out);
    case "array":
    case "set":
      return { ...term, items: term.items.map(sub) };
    case "object":
      return {
        ...term,
        entries: term.entries.map(([key, value]) => [sub(key), sub(value)] as const),
      };
    default: {
      const closure = flattenClosure(names, term);
      return closure ? toLocal(names, closure, withs, out) : term;
    }
  }
}

function toLocal(names: NameSource, term: Term, withs: readonly With[], out: Expr[]): VarTerm {
  const local: VarTerm = { kind: "var", name: names.fresh(), loc: term.loc };
  out.push(generated({ kind: "eq", left: local, right: term, assign: true }, term.loc, withs));
  return local;
}
