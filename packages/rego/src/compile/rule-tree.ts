// The rules of all modules as a tree of path segments, beside which the base documents lie.
import { compare } from "../values/value.ts";
import type { Context } from "../evaluate/context.ts";
import type { Module, Rule, Term } from "../syntax/ast.ts";
import type { Type } from "../types/type.ts";
import type { Value } from "../values/value.ts";

export type NodeKind = "package" | "complete" | "set" | "object" | "function";

export interface OwnedRule {
  readonly rule: Rule;
  readonly module: Module;
}

/** Evaluates the rules of a node. Set when the code of the node has been made. */
export type Evaluate = (c: Context) => Value | undefined;
export type Call = (c: Context, args: readonly Value[]) => Value | undefined;

export type Lookup = (c: Context, key: Value) => Value | undefined;

export class RuleNode {
  readonly id: number;
  readonly path: readonly string[];
  readonly children = new Map<string, RuleNode>();
  /** As written, later as prepared for evaluation. */
  rules: OwnedRule[] = [];
  kind: NodeKind = "package";
  isPackage = false;
  arity = 0;
  evaluate: Evaluate = () => undefined;
  call: Call = () => undefined;
  /** The value under one key, without working out the others; only partial rules have it. */
  lookup: Lookup | undefined;
  type: Type | undefined;

  constructor(id: number, path: readonly string[]) {
    this.id = id;
    this.path = path;
  }

  get name(): string {
    return pathText(this.path);
  }

  /** Has a value of its own rather than only those of its children. */
  get hasValue(): boolean {
    return this.kind !== "package" && this.kind !== "function";
  }
}

const PLAIN = /^[A-Za-z_][A-Za-z0-9_]*$/;

export function pathText(path: readonly string[]): string {
  return path.reduce(
    (text, part) => (PLAIN.test(part) ? `${text}.${part}` : `${text}[${JSON.stringify(part)}]`),
    "data",
  );
}

export class RuleTree {
  readonly root = new RuleNode(0, []);
  readonly nodes: RuleNode[] = [this.root];

  at(path: readonly string[]): RuleNode {
    let node = this.root;
    for (const part of path) {
      let child = node.children.get(part);
      if (!child) {
        child = new RuleNode(this.nodes.length, [...node.path, part]);
        this.nodes.push(child);
        node.children.set(part, child);
      }
      node = child;
    }
    return node;
  }

  /** Documents are made in the order of their keys, so that of several errors the same one comes first as in OPA. */
  sortChildren(): void {
    for (const { children } of this.nodes) {
      if (children.size < 2) continue;
      const sorted = [...children].sort(([a], [b]) => compare(a, b));
      children.clear();
      for (const [name, child] of sorted) children.set(name, child);
    }
  }

  find(path: readonly string[]): RuleNode | undefined {
    let node: RuleNode | undefined = this.root;
    for (const part of path) {
      node = node.children.get(part);
      if (!node) return undefined;
    }
    return node;
  }
}

/** The leading string segments of a rule head; what follows has variables. */
export function headPath(module: Module, rule: Rule): string[] {
  const path = [...module.path];
  for (const [i, term] of rule.head.ref.entries()) {
    const part = segment(term, i);
    if (part === undefined) break;
    path.push(part);
  }
  return path;
}

function segment(term: Term, index: number): string | undefined {
  if (index === 0 && term.kind === "var") return term.name;
  return term.kind === "scalar" && typeof term.value === "string" ? term.value : undefined;
}

/** The terms of a head after its leading string segments. */
export function headTail(module: Module, rule: Rule): readonly Term[] {
  return rule.head.ref.slice(headPath(module, rule).length - module.path.length);
}
