// Parsed modules to a program: a tree of rules with code. Each pass is a function over all rules.
import { checkCalls, checkWiths } from "../check/calls.ts";
import { checkConflicts } from "../check/conflicts.ts";
import { checkModule } from "../check/module.ts";
import { checkRecursion } from "../check/recursion.ts";
import { checkTypes } from "../check/types.ts";
import { flattenBody } from "./flatten.ts";
import { LoadFailure } from "../errors.ts";
import { expandRule } from "./expand.ts";
import { genComplete, genFunction } from "../generate/rule.ts";
import { genObjectLookup, genPartialObject, genSet, genSetLookup } from "../generate/partial.ts";
import { metadataOf } from "../syntax/annotations.ts";
import { InputPaths } from "./input-paths.ts";
import { NameSource, Scope } from "./names.ts";
import { resolveRule } from "./resolve.ts";
import { checkHead, orderBody } from "../check/safety.ts";
import { operatorName, stringPath } from "../syntax/terms.ts";
import { RuleTree, headPath, headTail } from "./rule-tree.ts";
import { termVars } from "../syntax/variables.ts";
import type { Builtin, PowerName } from "../builtins/builtin.ts";
import type { LoadError } from "../errors.ts";
import type { Program } from "../generate/generator.ts";
import type { Module, RefTerm, Rule, Term } from "../syntax/ast.ts";
import type { Arity, SafetyContext } from "../check/safety.ts";
import type { NodeKind, OwnedRule, RuleNode } from "./rule-tree.ts";

export interface Compiled {
  readonly program: Program;
  readonly modules: readonly Module[];
  readonly names: NameSource;
  readonly arity: Arity;
}

/** Throws a LoadFailure with everything that is wrong at the first stage where anything is. */
export function compileModules(
  modules: readonly Module[],
  builtins: ReadonlyMap<string, Builtin>,
  granted?: ReadonlySet<PowerName>,
): Compiled {
  stage((errors) => {
    for (const module of modules) checkModule(module, { builtins, granted }, errors);
  });
  const tree = plantRules(modules);
  stage((errors) => {
    checkConflicts(tree, modules, errors);
  });
  const names = new NameSource();
  resolveAll(modules, tree, names, builtins);
  const arity = arityOf(tree, builtins);
  const program: Program = { tree, builtins, inputs: new InputPaths(), traced: false };
  stage((errors) => {
    for (const { rule } of allRules(tree)) {
      checkCalls(rule, arity, builtins, errors);
      checkWiths(rule, tree, builtins, errors);
    }
  });
  stage((errors) => {
    orderAll(tree, { arity, errors });
  });
  const order = stage((errors) => checkRecursion(tree, errors));
  replaceRules(tree, (rule) => flattenRule(names, rule));
  stage((errors) => {
    checkTypes(tree, order, builtins, errors);
  });
  generate(program);
  return { program, modules, names, arity };
}

function stage<T>(check: (errors: LoadError[]) => T): T {
  const errors: LoadError[] = [];
  const result = check(errors);
  if (errors.length > 0) throw new LoadFailure(errors);
  return result;
}

function* allRules(tree: RuleTree): Iterable<OwnedRule> {
  for (const node of tree.nodes) yield* node.rules;
}

function replaceRules(tree: RuleTree, change: (rule: Rule, module: Module) => Rule): void {
  for (const node of tree.nodes) {
    node.rules = node.rules.map(({ rule, module }) => ({ module, rule: change(rule, module) }));
  }
}

function plantRules(modules: readonly Module[]): RuleTree {
  const tree = new RuleTree();
  for (const module of modules) {
    tree.at(module.path).isPackage = true;
    for (const rule of module.rules) {
      const node = tree.at(headPath(module, rule));
      node.rules.push({ rule, module });
      node.kind = kindOf(module, rule);
      node.arity = rule.head.args?.length ?? 0;
    }
  }
  return tree;
}

export function kindOf(module: Module, rule: Rule): NodeKind {
  if (rule.head.args) return "function";
  if (headTail(module, rule).length > 0) return "object";
  return rule.head.key ? "set" : "complete";
}

function resolveAll(
  modules: readonly Module[],
  tree: RuleTree,
  names: NameSource,
  builtins: ReadonlyMap<string, Builtin>,
): void {
  const scopes = new Map<Module, Scope>();
  for (const module of modules) {
    scopes.set(
      module,
      new Scope(names, globalsOf(module, tree), (name) => builtins.has(name), functionTest(tree)),
    );
  }
  const metadata = metadataOf(modules);
  replaceRules(tree, (rule, module) => {
    const scope = scopes.get(module) as Scope;
    scope.metadata = metadata(module, rule);
    return expandRule(names, resolveRule(scope, rule));
  });
}

/** Does a term name a function that policies define? */
export function functionTest(tree: RuleTree): (term: Term) => boolean {
  return (term) => {
    if (term.kind !== "ref") return false;
    const [head, ...rest] = term.terms;
    const path = head?.kind === "var" && head.name === "data" ? stringPath(rest) : undefined;
    return path !== undefined && tree.find(path)?.kind === "function";
  };
}

/** The rules of the package and the imports of the module. */
function globalsOf(module: Module, tree: RuleTree): Map<string, readonly string[]> {
  const globals = new Map<string, readonly string[]>();
  const node = tree.at(module.path);
  for (const [name, child] of node.children) {
    if (hasRules(child, module.path)) globals.set(name, ["data", ...module.path, name]);
  }
  for (const { path, alias } of module.imports) {
    const [root] = path;
    if (root === "data" || root === "input") globals.set(alias ?? path.at(-1) ?? "", path);
  }
  return globals;
}

// A child that is only a deeper package is not a name of this one.
function hasRules(node: RuleNode, packagePath: readonly string[]): boolean {
  const own = node.rules.some(({ module }) => module.path.length === packagePath.length);
  return own || [...node.children.values()].some((child) => hasRules(child, packagePath));
}

function arityOf(tree: RuleTree, builtins: ReadonlyMap<string, Builtin>): Arity {
  return (op: RefTerm) => {
    const [head, ...rest] = op.terms;
    if (head?.kind === "var" && head.name === "data") {
      const path = stringPath(rest);
      const node = path && tree.find(path);
      return node?.kind === "function" ? node.arity : undefined;
    }
    const builtin = builtins.get(operatorName(op));
    return builtin?.args.length;
  };
}

function orderAll(tree: RuleTree, ctx: SafetyContext): void {
  replaceRules(tree, (rule) => orderRule(ctx, rule));
}

function orderRule(ctx: SafetyContext, rule: Rule): Rule {
  const bound = new Set<string>();
  const { head } = rule;
  for (const arg of head.args ?? []) termVars(arg, (name) => bound.add(name));
  const before = ctx.errors.length;
  const body = orderBody(ctx, bound, rule.body);
  if (ctx.errors.length === before) {
    const local: SafetyContext = { arity: ctx.arity, errors: [] };
    for (const term of [...head.ref.slice(1), head.key, head.value]) {
      if (term) checkHead(local, term, bound);
    }
    ctx.errors.push(...local.errors);
  }
  const otherwise = rule.otherwise && orderRule(ctx, rule.otherwise);
  return { ...rule, body, otherwise };
}

function flattenRule(names: NameSource, rule: Rule): Rule {
  const otherwise = rule.otherwise && flattenRule(names, rule.otherwise);
  return { ...rule, body: flattenBody(names, rule.body), otherwise };
}

/** Generates the code of all rules; a second time, with tracing, for explanations and coverage. */
export function generate(program: Program): void {
  program.tree.sortChildren();
  for (const node of program.tree.nodes) {
    const { kind, rules } = node;
    if (kind === "complete") node.evaluate = genComplete(program, node, rules);
    else if (kind === "set") {
      node.evaluate = genSet(program, node, rules);
      node.lookup = genSetLookup(program, node, rules);
    } else if (kind === "object") {
      node.evaluate = genPartialObject(program, node, rules);
      node.lookup = genObjectLookup(program, node, rules);
    } else if (kind === "function") node.call = genFunction(program, node, rules);
  }
}
