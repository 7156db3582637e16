// What the names of a rule mean: rules and imports become references into data and input,
// declared variables get names of their own, so that later passes need not know about scopes.
import { loadFailure } from "../errors.ts";
import { operatorName } from "../syntax/terms.ts";
import type { Metadata } from "../syntax/annotations.ts";
import type { Body, Expr, Location, RefTerm, Term, VarTerm } from "../syntax/ast.ts";
import type { Value } from "../values/value.ts";

/** Makes names no policy can write; the written name stays readable before the #. */
export class NameSource {
  #next = 0;

  fresh(name = ""): string {
    return `${name}#${String(this.#next++)}`;
  }
}

/** The name as the author wrote it. */
export function writtenName(name: string): string {
  const end = name.indexOf("#");
  const written = end < 0 ? name : name.slice(0, end);
  return written.startsWith("$") || written === "" ? "_" : written;
}

type Occurrence = "seen" | "argument" | "assigned" | "declared";

interface Frame {
  readonly renamed: Map<string, string>;
  readonly occurrences: Map<string, Occurrence>;
}

export class Scope {
  readonly names: NameSource;
  /** Rule names and imports of the module, with what they stand for. */
  readonly globals: ReadonlyMap<string, readonly string[]>;
  /** Variables that some enclosing body declares: never globals, wherever they stand in it. */
  readonly #declared: Set<string>[] = [];
  readonly #frames: Frame[] = [];
  /** Globals that were looked up; what is left over is an unused import. */
  readonly used = new Set<string>();

  readonly isFunction: (term: Term) => boolean;
  /** What rego.metadata gives for the rule that is being read. */
  metadata: Metadata | undefined;

  readonly #isBuiltin: (name: string) => boolean;

  constructor(
    names: NameSource,
    globals: ReadonlyMap<string, readonly string[]>,
    isBuiltin: (name: string) => boolean,
    isFunction: (term: Term) => boolean,
  ) {
    this.isFunction = isFunction;
    this.names = names;
    this.globals = globals;
    this.#isBuiltin = isBuiltin;
  }

  /** The built-in a `with` value names, unless the name means something else here. */
  builtinNamed(term: Term): string | undefined {
    if (term.kind !== "var" && term.kind !== "ref") return undefined;
    const ref: RefTerm = term.kind === "ref" ? term : { kind: "ref", terms: [term], loc: term.loc };
    const [head] = ref.terms;
    if (head?.kind !== "var" || this.#local(head.name) !== undefined || this.#global(head.name))
      return undefined;
    const name = operatorName(ref);
    return this.#isBuiltin(name) ? name : undefined;
  }

  /** rego.metadata.* is known when the policy is loaded. */
  metadataCall(op: RefTerm): Value | undefined {
    const name = operatorName(op);
    if (name === "rego.metadata.rule") return this.metadata?.rule();
    return name === "rego.metadata.chain" ? this.metadata?.chain() : undefined;
  }

  push(declared: Set<string> = new Set()): void {
    this.#declared.push(declared);
    this.#frames.push({ renamed: new Map(), occurrences: new Map() });
  }

  pop(): void {
    this.#declared.pop();
    this.#frames.pop();
  }

  /** Variables the innermost scope declares with `some` or `every`, by the name they were given. */
  declaredHere(): ReadonlyMap<string, string> {
    const { occurrences, renamed } = this.#frames.at(-1) as Frame;
    const found = new Map<string, string>();
    for (const [name, as] of occurrences) {
      if (as === "declared") found.set(renamed.get(name) as string, name);
    }
    return found;
  }

  /** Adds names declared by the body that is now being read into the innermost scope. */
  announce(declared: Iterable<string>): void {
    for (const name of declared) this.#declared.at(-1)?.add(name);
  }

  declare(name: string, as: Occurrence, at: Location): string {
    const frame = this.#frames.at(-1) as Frame;
    const before = frame.occurrences.get(name);
    if (before !== undefined) {
      const what =
        before === "argument"
          ? `arg ${name} redeclared`
          : `var ${name} ${before === "seen" ? "referenced" : before} above`;
      throw loadFailure("rego_compile_error", at, what);
    }
    const renamed = this.names.fresh(name);
    frame.renamed.set(name, renamed);
    frame.occurrences.set(name, as);
    this.#declared.at(-1)?.add(name);
    return renamed;
  }

  /** An argument of a function; the same name twice is the same variable. */
  argument(name: string, at: Location): string {
    const frame = this.#frames.at(-1) as Frame;
    return frame.renamed.get(name) ?? this.declare(name, "argument", at);
  }

  #local(name: string): string | undefined {
    for (let i = this.#frames.length - 1; i >= 0; i--) {
      const renamed = this.#frames[i]?.renamed.get(name);
      if (renamed !== undefined) return renamed;
    }
    return undefined;
  }

  resolveVar(term: VarTerm): Term {
    const { name, loc } = term;
    const local = this.#local(name);
    if (local !== undefined) return { kind: "var", name: local, loc };
    const path = this.#global(name);
    if (path) return pathRef(path, loc);
    const frame = this.#frames.at(-1);
    if (frame && !frame.occurrences.has(name)) frame.occurrences.set(name, "seen");
    return term;
  }

  #global(name: string): readonly string[] | undefined {
    if (this.#declared.some((names) => names.has(name))) return undefined;
    const path = this.globals.get(name);
    if (path) this.used.add(name);
    return path;
  }

  /** The name of a called function: never a local variable. */
  resolveOperator(op: RefTerm): RefTerm {
    const [head, ...rest] = op.terms;
    if (head?.kind !== "var") return op;
    const path = this.#global(head.name);
    if (!path) return op;
    return { kind: "ref", terms: [...pathRef(path, head.loc).terms, ...rest], loc: op.loc };
  }
}

export function pathRef(path: readonly string[], loc: Location): RefTerm {
  const [head = "", ...rest] = path;
  return {
    kind: "ref",
    loc,
    terms: [
      { kind: "var", name: head, loc },
      ...rest.map((value): Term => ({ kind: "scalar", value, loc })),
    ],
  };
}

/** The names a body declares itself: with `:=`, `some` and `some ... in`. */
export function declaredNames(body: Body): Set<string> {
  const names = new Set<string>();
  const add = (name: string): unknown => names.add(name);
  for (const { node } of body) collectDeclared(node, add);
  return names;
}

function collectDeclared(node: Expr["node"], add: (name: string) => unknown): void {
  if (node.kind === "eq" && node.assign) patternVars(node.left, add);
  else if (node.kind === "some") for (const { name } of node.vars) add(name);
  else if (node.kind === "someIn") {
    if (node.key) patternVars(node.key, add);
    patternVars(node.value, add);
  } else if (node.kind === "and" || node.kind === "or") {
    // An operand without braces shares the scope of its body.
    if (!node.explicitLeft) for (const inner of node.left) collectDeclared(inner.node, add);
    if (!node.explicitRight) for (const inner of node.right) collectDeclared(inner.node, add);
  }
}

/** The variables a pattern binds; keys of objects are looked up, not bound. */
export function patternVars(term: Term, add: (name: string) => unknown): void {
  if (term.kind === "var") add(term.name);
  else if (term.kind === "array") for (const item of term.items) patternVars(item, add);
  else if (term.kind === "object") for (const [, value] of term.entries) patternVars(value, add);
  else if (term.kind === "ref" && term.terms.length === 1) patternVars(term.terms[0] as Term, add);
}
