// The syntax tree of a module in the JSON form OPA gives it, for rego.parse_module.
import { BuiltinError } from "../builtins/builtin.ts";
import { LoadFailure } from "../errors.ts";
import { fromJson } from "../values/json.ts";
import { parseModule } from "../parse/module.ts";
import { typeName } from "../values/value.ts";
import type { Body, Expr, Import, Module, RefTerm, Rule, Term, With } from "./ast.ts";
import type { Value } from "../values/value.ts";

type Json = Readonly<Record<string, unknown>>;

export function moduleJson(file: string, source: string): Value {
  try {
    return fromJson(moduleTree(parseModule(file, source, "v1")));
  } catch (error) {
    if (error instanceof LoadFailure) throw new BuiltinError("failure", error.message);
    throw error;
  }
}

function moduleTree(module: Module): Json {
  const path = [node("var", "data"), ...module.path.map((part) => node("string", part))];
  return {
    package: { path },
    ...(module.imports.length > 0 && { imports: module.imports.map(importTree) }),
    ...(module.rules.length > 0 && { rules: module.rules.map(ruleTree) }),
  };
}

function node(type: string, value: unknown): Json {
  return { type, value };
}

function importTree(item: Import): Json {
  const [root, ...rest] = item.path;
  const path = node("ref", [node("var", root), ...rest.map((part) => node("string", part))]);
  return { path, ...(item.alias !== undefined && { alias: item.alias }) };
}

function ruleTree(rule: Rule): Json {
  const { head } = rule;
  const [name] = head.ref;
  return {
    ...(rule.isDefault && { default: true }),
    head: {
      ...(name?.kind === "var" && { name: name.name }),
      ...(head.args && { args: head.args.map(termTree) }),
      ...(head.key && { key: termTree(head.key) }),
      ...(head.value && { value: termTree(head.value) }),
      ...(head.assign && { assign: true }),
      ref: head.ref.map(termTree),
    },
    body: bodyTree(rule.body),
    ...(rule.otherwise && { else: ruleTree(rule.otherwise) }),
  };
}

function bodyTree(body: Body): readonly Json[] {
  return body.map((expr, index) => exprTree(expr, index));
}

function exprTree(expr: Expr, index: number): Json {
  return {
    index,
    ...(expr.negated && { negated: true }),
    terms: exprTerms(expr),
    ...(expr.withs.length > 0 && { with: expr.withs.map(withTree) }),
  };
}

function withTree(item: With): Json {
  return { target: termTree(item.target), value: termTree(item.value) };
}

function exprTerms(expr: Expr): unknown {
  const part = expr.node;
  switch (part.kind) {
    case "term":
      return termTree(part.term);
    case "call":
      return [termTree(part.op), ...part.args.map(termTree)];
    case "eq": {
      const op = node("ref", [node("var", part.assign ? "assign" : "eq")]);
      return [op, termTree(part.left), termTree(part.right)];
    }
    case "some":
      return { symbols: part.vars.map(termTree) };
    case "someIn": {
      const name = part.key ? "member_3" : "member_2";
      const op = node("ref", [node("var", "internal"), node("string", name)]);
      const args = [...(part.key ? [part.key] : []), part.value, part.domain];
      return { symbols: [node("call", [op, ...args.map(termTree)])] };
    }
    case "every":
      return {
        key: part.key ? termTree(part.key) : null,
        value: termTree(part.value),
        domain: termTree(part.domain),
        body: bodyTree(part.body),
      };
    case "not":
      return { body: bodyTree(part.body) };
    case "and":
    case "or":
      return { lhs: bodyTree(part.left), rhs: bodyTree(part.right) };
  }
}

const COMPREHENSION_TYPES: Readonly<Record<string, string>> = {
  arrayComprehension: "arraycomprehension",
  setComprehension: "setcomprehension",
};

function termTree(term: Term): Json {
  switch (term.kind) {
    case "scalar":
      return node(typeName(term.value), term.value);
    case "var":
      return node("var", term.name);
    case "ref":
      return refTree(term);
    case "array":
    case "set":
      return node(term.kind, term.items.map(termTree));
    case "object":
      return node(
        "object",
        term.entries.map(([key, value]) => [termTree(key), termTree(value)]),
      );
    case "arrayComprehension":
    case "setComprehension": {
      const type = COMPREHENSION_TYPES[term.kind] ?? "";
      return node(type, { term: termTree(term.head), body: bodyTree(term.body) });
    }
    case "objectComprehension":
      return node("objectcomprehension", {
        key: termTree(term.key),
        value: termTree(term.value),
        body: bodyTree(term.body),
      });
    case "call":
      return node("call", [refTree(term.op), ...term.args.map(termTree)]);
    case "template": {
      const parts = term.parts.map((part, i) =>
        typeof part === "string" ? node("string", part) : exprTree(part, i),
      );
      return node("templatestring", { multi_line: term.raw, parts });
    }
  }
}

function refTree(ref: RefTerm): Json {
  return node("ref", ref.terms.map(termTree));
}
