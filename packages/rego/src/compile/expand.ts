// Takes calls out of terms: f(g(x)) becomes g(x, tmp); f(tmp). As in OPA the parts come first, so
// an undefined part makes the whole expression undefined, also under `not`.
import type {
  Body,
  Expr,
  ExprNode,
  Head,
  Location,
  RefTerm,
  Rule,
  Term,
  VarTerm,
  With,
} from "../syntax/ast.ts";
import type { NameSource } from "./names.ts";

export function expandRule(names: NameSource, rule: Rule): Rule {
  const extra: Expr[] = [];
  const body = expandBody(names, rule.body);
  const head = expandHead(names, rule.head, extra);
  const otherwise = rule.otherwise && expandRule(names, rule.otherwise);
  return { ...rule, head, body: [...body, ...extra], otherwise };
}

function expandHead(names: NameSource, head: Head, extra: Expr[]): Head {
  const value = (term: Term | undefined): Term | undefined => term && toSimple(names, term, extra);
  const ref = head.ref.map((term, i) =>
    i === 0 || term.kind === "scalar" || term.kind === "var"
      ? term
      : toVar(names, hoist(names, term, extra, []), extra),
  );
  const args = head.args?.map((arg) => toSimple(names, arg, extra));
  return { ...head, ref, args, key: value(head.key), value: value(head.value) };
}

/** Without calls, and bound to a variable when it still looks something up. */
function toSimple(names: NameSource, term: Term, extra: Expr[]): Term {
  const hoisted = hoist(names, term, extra, []);
  return needsEvaluation(hoisted) ? toVar(names, hoisted, extra) : hoisted;
}

function needsEvaluation(term: Term): boolean {
  switch (term.kind) {
    case "scalar":
    case "var":
      return false;
    case "array":
    case "set":
      return term.items.some(needsEvaluation);
    case "object":
      return term.entries.some(([key, value]) => needsEvaluation(key) || needsEvaluation(value));
    default:
      return true;
  }
}

/** Binds a term to a new variable. */
function toVar(names: NameSource, term: Term, extra: Expr[], withs: readonly With[] = []): VarTerm {
  const { loc } = term;
  const local: VarTerm = { kind: "var", name: names.fresh(), loc };
  extra.push(generated({ kind: "eq", left: local, right: term, assign: false }, loc, withs));
  return local;
}

export function generated(node: ExprNode, loc: Location, withs: readonly With[]): Expr {
  return { node, loc, withs, negated: false, generated: true };
}

export function expandBody(names: NameSource, body: Body): Body {
  const result: Expr[] = [];
  for (const expr of body) expandExpr(names, expr, result);
  return result;
}

// The name of a function is not evaluated.
function withValue(names: NameSource, item: With, result: Expr[]): Term {
  return item.isFunction ? item.value : toSimple(names, item.value, result);
}

function expandExpr(names: NameSource, expr: Expr, result: Expr[]): void {
  const withs = expr.withs.map((item) => ({
    ...item,
    value: withValue(names, item, result),
  }));
  const sub = (term: Term): Term => hoist(names, term, result, withs);
  const { node } = expr;
  switch (node.kind) {
    case "term":
      result.push({ ...expr, withs, node: { kind: "term", term: sub(node.term) } });
      return;
    case "call":
      result.push({ ...expr, withs, node: { ...node, args: node.args.map(sub) } });
      return;
    case "eq": {
      const left = sub(node.left);
      result.push({ ...expr, withs, node: { ...node, left, right: sub(node.right) } });
      return;
    }
    case "every": {
      const domain = toVar(names, sub(node.domain), result, withs);
      result.push({
        ...expr,
        withs,
        node: { ...node, domain, body: expandBody(names, node.body) },
      });
      return;
    }
    case "not":
      result.push({ ...expr, withs, node: { ...node, body: expandBody(names, node.body) } });
      return;
    case "and":
    case "or": {
      const left = expandBody(names, node.left);
      result.push({
        ...expr,
        withs,
        node: { ...node, left, right: expandBody(names, node.right) },
      });
      return;
    }
    case "some":
    case "someIn":
      result.push({ ...expr, withs });
  }
}

function hoist(names: NameSource, term: Term, extra: Expr[], withs: readonly With[]): Term {
  const sub = (part: Term): Term => hoist(names, part, extra, withs);
  switch (term.kind) {
    case "call":
      return hoistCall(names, term, extra, withs);
    case "ref":
      return hoistRef(names, term, extra, withs);
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
      const own: Expr[] = [...expandBody(names, term.body)];
      const head = toSimple(names, term.head, own);
      return { ...term, head, body: own };
    }
    case "objectComprehension": {
      const own: Expr[] = [...expandBody(names, term.body)];
      const key = toSimple(names, term.key, own);
      return { ...term, key, value: toSimple(names, term.value, own), body: own };
    }
    default:
      return term;
  }
}

function hoistCall(
  names: NameSource,
  term: Term & { kind: "call" },
  extra: Expr[],
  withs: readonly With[],
): Term {
  const args = term.args.map((arg) => hoist(names, arg, extra, withs));
  const output: VarTerm = { kind: "var", name: names.fresh(), loc: term.loc };
  extra.push(generated({ kind: "call", op: term.op, args: [...args, output] }, term.loc, withs));
  return output;
}

/** Only variables can head a reference later: `[1, 2][i]` becomes `tmp = [1, 2]; tmp[i]`. */
function hoistRef(names: NameSource, term: RefTerm, extra: Expr[], withs: readonly With[]): Term {
  const terms = term.terms.map((part) => hoist(names, part, extra, withs));
  const [head, ...rest] = terms;
  if (!head || head.kind === "var") return { ...term, terms };
  if (head.kind === "ref") return { ...term, terms: [...head.terms, ...rest] };
  return { ...term, terms: [toVar(names, head, extra, withs), ...rest] };
}
