// Called functions must exist and get the right number of arguments; so must replaced ones.
import { groupOf } from "../builtins/group-names.ts";
import { keyText } from "../values/json.ts";
import { operatorName, stringPath } from "../syntax/terms.ts";
import { walkBody, walkRule } from "../syntax/walk.ts";
import { pathText } from "../compile/rule-tree.ts";
import type { Builtin } from "../builtins/builtin.ts";
import type { LoadError, LoadErrorCode } from "../errors.ts";
import type { Body, Expr, Location, RefTerm, Rule, With } from "../syntax/ast.ts";
import type { Arity } from "./safety.ts";
import type { RuleTree } from "../compile/rule-tree.ts";
import type { Visitor } from "../syntax/walk.ts";

export function checkCalls(
  subject: Rule | Body,
  arity: Arity,
  builtins: ReadonlyMap<string, Builtin>,
  errors: LoadError[],
): void {
  const visitor: Visitor = {
    expr: (expr) => {
      if (expr.node.kind === "call") checkCall(expr, arity, builtins, errors);
    },
  };
  if ("head" in subject) walkRule(subject, visitor);
  else walkBody(subject, visitor);
}

function add(errors: LoadError[], code: LoadErrorCode, at: Location, message: string): void {
  errors.push({ code, file: at.file, line: at.line, column: at.column, message });
}

function checkCall(
  expr: Expr,
  arity: Arity,
  builtins: ReadonlyMap<string, Builtin>,
  errors: LoadError[],
): void {
  if (expr.node.kind !== "call") return;
  const { op, args } = expr.node;
  const name = callName(op);
  const expected = arity(op);
  if (expected === undefined) {
    add(errors, "rego_type_error", expr.loc, undefinedText(name));
    return;
  }
  const builtin = builtins.get(operatorName(op));
  const given = expr.generated ? args.length - 1 : args.length;
  const isVoid = builtin !== undefined && builtin.result === undefined;
  if (expr.generated && isVoid) {
    add(errors, "rego_type_error", expr.loc, `${name} yields no value`);
    return;
  }
  if (given === expected || builtin?.variadic) return;
  // An expression may name its output as one more argument.
  if (!expr.generated && given === expected + 1 && !isVoid) return;
  const message = builtin
    ? `${name}: arity mismatch: expected ${String(expected)} arguments, got ${String(given)}`
    : `function ${name} has arity ${String(expected)}, got ${String(given)} argument${given === 1 ? "" : "s"}`;
  add(errors, "rego_type_error", expr.loc, message);
}

function undefinedText(name: string): string {
  const group = groupOf(name);
  const hint = group === undefined ? "" : ` (the group of built-ins "${group}" is not loaded)`;
  return `undefined function ${name}${hint}`;
}

function callName(op: RefTerm): string {
  const [head, ...rest] = op.terms;
  const path = stringPath(rest);
  return head?.kind === "var" && head.name === "data" && path ? pathText(path) : operatorName(op);
}

export function checkWiths(
  subject: Rule | Body,
  tree: RuleTree,
  builtins: ReadonlyMap<string, Builtin>,
  errors: LoadError[],
): void {
  const visitor: Visitor = {
    expr: (expr) => {
      for (const item of expr.withs) checkWith(item, tree, builtins, errors);
    },
  };
  if ("head" in subject) walkRule(subject, visitor);
  else walkBody(subject, visitor);
}

function checkWith(
  item: With,
  tree: RuleTree,
  builtins: ReadonlyMap<string, Builtin>,
  errors: LoadError[],
): void {
  const { target, loc } = item;
  const [head, ...rest] = target.terms;
  const root = head?.kind === "var" ? head.name : "";
  if (root === "input") return;
  if (root === "data") {
    checkDataTarget(
      rest.map((term) => (term.kind === "scalar" ? keyText(term.value) : "")),
      tree,
      loc,
      errors,
    );
    return;
  }
  const name = operatorName(target);
  const builtin = builtins.get(name);
  if (!builtin) {
    add(
      errors,
      "rego_type_error",
      loc,
      "with keyword target must reference existing input, data, or a function",
    );
    return;
  }
  const problem = replacementProblem(name, builtin);
  if (problem !== undefined) {
    add(errors, "rego_compile_error", loc, `with keyword replacing built-in function: ${problem}`);
  }
}

function replacementProblem(name: string, builtin: Builtin): string | undefined {
  if (name.startsWith("internal.")) return `replacement of internal function "${name}" invalid`;
  if (name === "eq" || name.startsWith("rego.metadata.")) return `replacement of "${name}" invalid`;
  if (builtin.relation) return "target must not be a relation";
  return builtin.result === undefined ? "target must not be a void function" : undefined;
}

function checkDataTarget(
  path: readonly string[],
  tree: RuleTree,
  at: Location,
  errors: LoadError[],
): void {
  let node = tree.root;
  for (const part of path.slice(0, -1)) {
    const child = node.children.get(part);
    if (!child) return;
    if (child.rules.length > 0) {
      add(
        errors,
        "rego_compile_error",
        at,
        "with keyword cannot partially replace virtual document(s)",
      );
      return;
    }
    node = child;
  }
}
