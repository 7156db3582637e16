// Which variables occur where.
import type { Body, Expr, Term } from "./ast.ts";

export interface VarOptions {
  /** Look into comprehensions and other nested bodies too. */
  readonly closures?: boolean;
  /** Only places where a variable can be bound: no sets, no object keys, no reference heads. */
  readonly outputs?: boolean;
}

type Add = (name: string) => unknown;

export function isRoot(name: string): boolean {
  return name === "data" || name === "input";
}

export function termVars(term: Term, add: Add, options: VarOptions = {}): void {
  switch (term.kind) {
    case "scalar":
      return;
    case "var":
      if (!isRoot(term.name)) add(term.name);
      return;
    case "ref":
      term.terms.forEach((part, i) => {
        if (i > 0 || !options.outputs || part.kind !== "var") termVars(part, add, options);
      });
      return;
    case "set":
      if (options.outputs) return;
      for (const item of term.items) termVars(item, add, options);
      return;
    case "array":
      for (const item of term.items) termVars(item, add, options);
      return;
    case "object":
      for (const [key, value] of term.entries) {
        if (!options.outputs) termVars(key, add, options);
        termVars(value, add, options);
      }
      return;
    case "call":
      for (const arg of term.args) termVars(arg, add, options);
      return;
    case "arrayComprehension":
    case "setComprehension":
      if (!options.closures) return;
      termVars(term.head, add, options);
      bodyVars(term.body, add, options);
      return;
    case "objectComprehension":
      if (!options.closures) return;
      termVars(term.key, add, options);
      termVars(term.value, add, options);
      bodyVars(term.body, add, options);
      return;
    case "template":
      for (const part of term.parts) if (typeof part !== "string") exprVars(part, add, options);
  }
}

export function bodyVars(body: Body, add: Add, options: VarOptions = {}): void {
  for (const expr of body) exprVars(expr, add, options);
}

export function exprVars(expr: Expr, add: Add, options: VarOptions = {}): void {
  for (const item of expr.withs) {
    item.target.terms.forEach((part, i) => {
      if (i > 0) termVars(part, add, options);
    });
    termVars(item.value, add, options);
  }
  const { node } = expr;
  switch (node.kind) {
    case "term":
      termVars(node.term, add, options);
      return;
    case "call":
      for (const arg of node.args) termVars(arg, add, options);
      return;
    case "eq":
      termVars(node.left, add, options);
      termVars(node.right, add, options);
      return;
    case "every":
      termVars(node.domain, add, options);
      if (options.closures) bodyVars(node.body, add, options);
      return;
    case "not":
      // Without braces the negated expression shares the scope, so its variables must be bound.
      if (options.closures || !node.explicit) operandVars(node.body, add, options);
      return;
    case "and":
    case "or":
      if (options.closures || !node.explicitLeft) operandVars(node.left, add, options);
      if (options.closures || !node.explicitRight) operandVars(node.right, add, options);
      return;
    case "some":
    case "someIn":
      return;
  }
}

// An unbraced operand is one written expression; what the compiler split off from it is its own.
function operandVars(body: Body, add: Add, options: VarOptions): void {
  const own = new Set<string>();
  if (!options.closures) {
    for (const { generated, node } of body) {
      if (generated && node.kind === "call") own.add(outputName(node.args.at(-1)));
      if (generated && node.kind === "eq") own.add(outputName(node.left));
    }
  }
  bodyVars(
    body,
    (name) => {
      if (!own.has(name)) add(name);
    },
    options,
  );
}

function outputName(term: Term | undefined): string {
  return term?.kind === "var" ? term.name : "";
}

/** The terms and bodies nested in an expression that close over its variables. */
export function closureVars(expr: Expr, add: Add): void {
  const all = new Map<string, number>();
  exprVars(expr, (name) => all.set(name, (all.get(name) ?? 0) + 1), { closures: true });
  exprVars(expr, (name) => all.set(name, (all.get(name) ?? 0) - 1));
  for (const [name, count] of all) if (count > 0) add(name);
}
