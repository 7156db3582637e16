// Type errors that are certain when the policy is loaded: comparisons that can never hold, arguments
// a function never takes, lookups in what has no keys.
import { keyText } from "../values/json.ts";
import { writtenName } from "../compile/names.ts";
import { operatorName, stringPath } from "../syntax/terms.ts";
import { NIL, hasNil, keysOf, or, select, unifies, valuesOf } from "../types/operations.ts";
import { TypeEnv, nodeType, typeOf, typeOfRef } from "../types/environment.ts";
import { unifyTerm, unifyTerms } from "../types/unify.ts";
import { ANY, objectOf, setOf } from "../types/type.ts";
import { headTail } from "../compile/rule-tree.ts";
import type { Builtin } from "../builtins/builtin.ts";
import type { LoadError } from "../errors.ts";
import type { Body, Expr, Location, Rule, Term } from "../syntax/ast.ts";
import type { OwnedRule, RuleNode, RuleTree } from "../compile/rule-tree.ts";
import type { Type } from "../types/type.ts";

/** Checks all rules, those that others depend on first, and notes the type of each node. */
export function checkTypes(
  tree: RuleTree,
  order: readonly RuleNode[],
  builtins: ReadonlyMap<string, Builtin>,
  errors: LoadError[],
): void {
  const env = new TypeEnv(tree, builtins);
  for (const node of order) {
    for (const owned of node.rules) {
      const type = ruleType(env, owned, errors);
      if (type !== NIL) node.type = node.type ? merge(node.type, type) : type;
    }
  }
}

function merge(a: Type, b: Type): Type {
  if (a.kind === "set" && b.kind === "set") return setOf(or(a.of, b.of));
  if (a.kind === "object" && b.kind === "object" && a.props.size === 0 && b.props.size === 0) {
    const key = or(a.key ?? NIL, b.key ?? NIL);
    const value = a.value && b.value ? merge(a.value, b.value) : (a.value ?? b.value);
    return { kind: "object", props: new Map(), key, value };
  }
  return or(a, b);
}

function ruleType(env: TypeEnv, owned: OwnedRule, errors: LoadError[]): Type {
  const { rule, module } = owned;
  let result: Type = NIL;
  for (let branch: Rule | undefined = rule; branch; branch = branch.otherwise) {
    const inner = env.inner();
    const before = errors.length;
    checkBodyTypes(inner, branch.body, errors);
    // A rule with an error has any type, so that its users do not repeat the error.
    if (errors.length > before) return rule.head.args ? anyFunction(rule) : ANY;
    result = or(result, branchType(inner, branch, headTail(module, rule)));
  }
  return result;
}

function anyFunction(rule: Rule): Type {
  return { kind: "function", args: (rule.head.args ?? []).map(() => ANY), result: ANY };
}

function branchType(env: TypeEnv, rule: Rule, tail: readonly Term[]): Type {
  const { head } = rule;
  if (head.args) {
    const args = head.args.map((arg) => argumentType(env, arg));
    const result = head.value ? typeOf(env, head.value) : ANY;
    return { kind: "function", args, result: hasNil(result) ? ANY : result };
  }
  // Fixed keys that are not strings are not tracked.
  if (tail[0]?.kind === "scalar") return objectOf(ANY, ANY);
  const own = head.key ? setOf(typeOf(env, head.key)) : head.value ? typeOf(env, head.value) : ANY;
  const type = tail.reduceRight<Type>(
    (value, key) => ({ kind: "object", props: new Map(), key: typeOf(env, key), value }),
    own,
  );
  return hasNil(type) ? ANY : type;
}

/** Variables that the body does not restrict may be anything. */
function argumentType(env: TypeEnv, arg: Term): Type {
  unifyTerm(env, arg, ANY, "keep");
  const type = typeOf(env, arg);
  return hasNil(type) ? ANY : type;
}

export function checkBodyTypes(env: TypeEnv, body: Body, errors: LoadError[]): void {
  for (const expr of body) checkExpr(expr.withs.length > 0 ? env.relaxed() : env, expr, errors);
}

function checkExpr(env: TypeEnv, expr: Expr, errors: LoadError[]): void {
  const { node } = expr;
  const before = errors.length;
  for (const term of termsOf(expr)) checkTerm(env, term, errors);
  if (errors.length > before) return;
  if (node.kind === "eq" && !unifyTerms(env, node.left, node.right)) {
    report(errors, expr.loc, "match error");
  }
  if (node.kind === "call") checkCall(env, expr, errors);
}

function termsOf(expr: Expr): readonly Term[] {
  const { node } = expr;
  if (node.kind === "term") return [node.term];
  if (node.kind === "eq") return [node.left, node.right];
  if (node.kind === "call") return node.args;
  return node.kind === "every" ? [node.domain] : [];
}

function report(errors: LoadError[], at: Location, message: string): void {
  errors.push({
    code: "rego_type_error",
    file: at.file,
    line: at.line,
    column: at.column,
    message,
  });
}

/** Checks references, and the bodies of comprehensions. */
function checkTerm(env: TypeEnv, term: Term, errors: LoadError[]): void {
  switch (term.kind) {
    case "ref":
      checkRef(env, term, errors);
      return;
    case "array":
    case "set":
      for (const item of term.items) checkTerm(env, item, errors);
      return;
    case "object":
      for (const [key, value] of term.entries) {
        checkTerm(env, key, errors);
        checkTerm(env, value, errors);
      }
      return;
    case "arrayComprehension":
    case "setComprehension":
    case "objectComprehension":
      checkBodyTypes(env.inner(), term.body, errors);
      return;
    default:
      return;
  }
}

function checkRef(env: TypeEnv, ref: Term & { kind: "ref" }, errors: LoadError[]): void {
  const [head, ...path] = ref.terms;
  if (head?.kind !== "var" || head.name === "input") {
    inferKeys(env, path);
    return;
  }
  if (typeOfRef(env, ref.terms).kind === "function") {
    report(errors, ref.loc, `undefined ref: ${refText(ref)}`);
    return;
  }
  // A value of unknown type may be anything.
  if (head.name !== "data" && env.getVar(head.name) === NIL) env.putVar(head.name, ANY);
  const [type, rest] = head.name === "data" ? dataStart(env, path) : [env.getVar(head.name), path];
  if (!checkPath(env, type === NIL ? ANY : type, rest)) {
    report(errors, ref.loc, `undefined ref: ${refText(ref)}`);
  }
}

function inferKeys(env: TypeEnv, path: readonly Term[]): void {
  for (const key of path)
    if (key.kind === "var" && env.getVar(key.name) === NIL) env.putVar(key.name, ANY);
}

/** The first node with a type on the path, and what of the path is left. */
function dataStart(env: TypeEnv, path: readonly Term[]): [Type, readonly Term[]] {
  let node = env.tree.root;
  for (const [i, key] of path.entries()) {
    const type = nodeType(node);
    if (type && !env.isRelaxed) return [type, path.slice(i)];
    const child =
      key.kind === "scalar" && typeof key.value === "string"
        ? node.children.get(key.value)
        : undefined;
    if (!child || env.isRelaxed) return [ANY, path.slice(i)];
    node = child;
  }
  return [ANY, []];
}

function checkPath(env: TypeEnv, start: Type, path: readonly Term[]): boolean {
  let type = start;
  for (const key of path) {
    const keys = keysOf(type);
    if (keys === NIL) return false;
    if (key.kind === "scalar") {
      type = select(type, key.value);
      if (type === NIL) return false;
      continue;
    }
    if (key.kind === "var") {
      const known = env.getVar(key.name);
      if (known === NIL) env.putVar(key.name, keys);
      else if (!unifies(known, keys)) return false;
    } else if (!unifyTerm(env, key, keys, "bind")) return false;
    type = valuesOf(type);
  }
  return true;
}

/** `x in xs`: the member must be able to equal a value of the collection, the key a key of it. */
function cannotBeMember(env: TypeEnv, name: string, args: readonly Term[]): boolean {
  const isKeyed = name === "internal.member_3";
  const domain = args[isKeyed ? 2 : 1];
  if ((!isKeyed && name !== "internal.member_2") || !domain) return false;
  const type = typeOf(env, domain);
  const clash = (term: Term | undefined, wanted: Type): boolean => {
    const own = term ? typeOf(env, term) : NIL;
    return !hasNil(own) && !hasNil(wanted) && !unifies(own, wanted);
  };
  const fits = (term: Term | undefined, wanted: Type): boolean => {
    if (clash(term, wanted)) return false;
    // What is not known yet about the member is what the collection says.
    if (term && wanted !== NIL) unifyTerm(env, term, wanted, "keep");
    return true;
  };
  if (!fits(args[isKeyed ? 1 : 0], valuesOf(type))) return true;
  return isKeyed && !fits(args[0], keysOf(type));
}

function checkCall(env: TypeEnv, expr: Expr, errors: LoadError[]): void {
  if (expr.node.kind !== "call") return;
  const { op, args } = expr.node;
  if (cannotBeMember(env, operatorName(op), args)) {
    report(errors, expr.loc, "match error");
    return;
  }
  const declared = functionType(env, expr);
  if (!declared) return;
  const expected = declared.result ? [...declared.args, declared.result] : declared.args;
  for (const [i, arg] of args.entries()) {
    const want = expected[i];
    if (!want) return;
    const have = typeOf(env, arg);
    const fits = hasNil(have) || unifies(have, want);
    if (!fits || !unifyTerm(env, arg, want, "bind")) {
      report(errors, expr.loc, `${operatorName(op)}: invalid argument(s)`);
      return;
    }
  }
}

interface FunctionType {
  readonly args: readonly Type[];
  readonly result: Type | undefined;
}

function functionType(env: TypeEnv, expr: Expr): FunctionType | undefined {
  if (expr.node.kind !== "call") return undefined;
  const { op } = expr.node;
  const [head, ...rest] = op.terms;
  if (head?.kind === "var" && head.name === "data") {
    const node = env.tree.find(stringPath(rest) ?? []);
    return node?.type?.kind === "function" ? node.type : undefined;
  }
  const builtin = env.builtins.get(operatorName(op));
  return builtin && { args: builtin.args, result: builtin.result };
}

function refText(ref: Term & { kind: "ref" }): string {
  return ref.terms
    .map((term, i) => {
      if (term.kind === "var")
        return i === 0 ? writtenName(term.name) : `[${writtenName(term.name)}]`;
      if (term.kind !== "scalar") return "[...]";
      return typeof term.value === "string" ? `.${term.value}` : `[${keyText(term.value)}]`;
    })
    .join("");
}
