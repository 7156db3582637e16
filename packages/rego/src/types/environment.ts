// The types of terms, given those of variables and rules.
import { checkBodyTypes } from "../check/types.ts";
import { ANY, STRING, arrayOf, setOf, tupleOf } from "./type.ts";
import { NEVER, NIL, or, select, typeOfValue, valuesOf } from "./operations.ts";
import { constantOf } from "../syntax/terms.ts";
import type { Builtin } from "../builtins/builtin.ts";
import type { RuleNode, RuleTree } from "../compile/rule-tree.ts";
import type { Term } from "../syntax/ast.ts";
import type { Type } from "./type.ts";

export class TypeEnv {
  readonly tree: RuleTree;
  readonly builtins: ReadonlyMap<string, Builtin>;
  readonly #outer: TypeEnv | undefined;
  readonly #vars = new Map<string, Type>();
  /** Under `with` the documents that rules see are not the known ones. */
  readonly isRelaxed: boolean;
  /** Where variables are kept when not here: a `with` does not limit their life. */
  #owner: TypeEnv | undefined;

  constructor(
    tree: RuleTree,
    builtins: ReadonlyMap<string, Builtin>,
    outer?: TypeEnv,
    isRelaxed = outer?.isRelaxed ?? false,
  ) {
    this.tree = tree;
    this.builtins = builtins;
    this.#outer = outer;
    this.isRelaxed = isRelaxed;
  }

  inner(): TypeEnv {
    return new TypeEnv(this.tree, this.builtins, this);
  }

  relaxed(): TypeEnv {
    const env = new TypeEnv(this.tree, this.builtins, this, true);
    env.#owner = this.#owner ?? this;
    return env;
  }

  getVar(name: string): Type {
    return this.#vars.get(name) ?? this.#outer?.getVar(name) ?? NIL;
  }

  putVar(name: string, type: Type): void {
    (this.#owner ?? this).#vars.set(name, type);
  }
}

export function typeOf(env: TypeEnv, term: Term): Type {
  switch (term.kind) {
    case "scalar":
      return typeOfValue(term.value);
    case "var":
      return env.getVar(term.name);
    case "ref":
      return typeOfRef(env, term.terms);
    case "array":
      return {
        kind: "array",
        items: term.items.map((item) => typeOf(env, item)),
        rest: undefined,
      };
    case "set": {
      const of = term.items.map((item) => typeOf(env, item)).reduce(or, NIL);
      return setOf(term.items.length === 0 ? NEVER : of);
    }
    case "object":
      return typeOfObject(env, term);
    case "arrayComprehension":
    case "setComprehension": {
      const inner = innerOf(env, term.body);
      if (!inner) return NIL;
      const head = typeOf(inner, term.head);
      // Of a head without a type nothing can be looked up.
      if (term.kind === "setComprehension") return setOf(head === NIL ? NEVER : head);
      return head === NIL ? tupleOf() : arrayOf(head);
    }
    case "objectComprehension": {
      const inner = innerOf(env, term.body);
      if (!inner) return NIL;
      return {
        kind: "object",
        props: new Map(),
        key: typeOf(inner, term.key),
        value: typeOf(inner, term.value),
      };
    }
    default:
      return NIL;
  }
}

function innerOf(env: TypeEnv, body: Parameters<typeof checkBodyTypes>[1]): TypeEnv | undefined {
  const inner = env.inner();
  const errors: Parameters<typeof checkBodyTypes>[2] = [];
  checkBodyTypes(inner, body, errors);
  return errors.length === 0 ? inner : undefined;
}

function typeOfObject(env: TypeEnv, term: Term & { kind: "object" }): Type {
  const props = new Map<string, Type>();
  let key: Type = NIL;
  let value: Type = NIL;
  for (const [name, item] of term.entries) {
    if (name.kind === "scalar" && typeof name.value === "string")
      props.set(name.value, typeOf(env, item));
    else {
      key = or(key, typeOf(env, name));
      value = or(value, typeOf(env, item));
    }
  }
  const isFixed = props.size === term.entries.length;
  return {
    kind: "object",
    props,
    key: isFixed ? undefined : key,
    value: isFixed ? undefined : value,
  };
}

export function typeOfRef(env: TypeEnv, terms: readonly Term[]): Type {
  const [head, ...path] = terms;
  if (head?.kind !== "var") return NIL;
  if (head.name === "input") return ANY;
  if (head.name !== "data") return selectPath(env.getVar(head.name), path);
  return dataType(env, env.tree.root, path);
}

function dataType(env: TypeEnv, node: RuleNode, path: readonly Term[]): Type {
  const [key, ...rest] = path;
  // Functions keep their type: they are called, not looked into.
  const own = nodeType(node);
  if (own && (!env.isRelaxed || own.kind === "function")) return selectPath(own, path);
  if (env.isRelaxed && node.rules.length > 0) return ANY;
  if (!key) return extent(env, node);
  const constant = constantOf(key);
  if (constant === undefined) return selectPath(extent(env, node), path);
  const child = typeof constant === "string" ? node.children.get(constant) : undefined;
  return child ? dataType(env, child, rest) : ANY;
}

/** The type of a node's rules. Rules with longer heads add to what a partial object holds. */
export function nodeType(node: RuleNode): Type | undefined {
  const { type, children } = node;
  if (!type || children.size === 0 || type.kind !== "object") return type;
  let value = type.value ?? NIL;
  for (const child of children.values()) value = or(value, childType(child));
  return { kind: "object", props: new Map(), key: or(type.key ?? NIL, STRING), value };
}

function childType(node: RuleNode): Type {
  const own = nodeType(node);
  if (own) return own;
  let value: Type = NIL;
  for (const child of node.children.values()) value = or(value, childType(child));
  return { kind: "object", props: new Map(), key: STRING, value: value === NIL ? ANY : value };
}

/** A package: its rules, and whatever base documents lie beside them. */
function extent(env: TypeEnv, node: RuleNode): Type {
  if (env.isRelaxed) return ANY;
  const props = new Map<string, Type>();
  for (const [name, child] of node.children) {
    if (child.kind !== "function") props.set(name, nodeType(child) ?? extent(env, child));
  }
  return { kind: "object", props, key: STRING, value: ANY };
}

export function selectPath(type: Type, path: readonly Term[]): Type {
  let result = type;
  for (const key of path) {
    if (result === NIL) return NIL;
    result = key.kind === "scalar" ? select(result, key.value) : valuesOf(result);
  }
  return result;
}
