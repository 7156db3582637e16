// Rules that cannot stand side by side.
import { kindOf } from "../compile/compile.ts";
import { pathText } from "../compile/rule-tree.ts";
import type { LoadError } from "../errors.ts";
import type { Location, Module } from "../syntax/ast.ts";
import type { RuleNode, RuleTree } from "../compile/rule-tree.ts";

export function checkConflicts(
  tree: RuleTree,
  modules: readonly Module[],
  errors: LoadError[],
): void {
  for (const node of tree.nodes) if (node.rules.length > 0) checkNode(node, errors);
  for (const module of modules) checkPackage(tree, module, errors);
}

function typeError(at: Location, message: string): LoadError {
  return { code: "rego_type_error", file: at.file, line: at.line, column: at.column, message };
}

function checkNode(node: RuleNode, errors: LoadError[]): void {
  const [first] = node.rules;
  if (!first) return;
  const below = descendants(node);
  const isFixed = node.rules.some(({ rule, module }) => kindOf(module, rule) !== "object");
  const inTheWay = isFixed ? below : below.filter((child) => child.kind === "function");
  if (inTheWay.length > 0) {
    const list = inTheWay.map((child) => child.name).join(" ");
    errors.push(typeError(first.rule.loc, `rule ${node.name} conflicts with [${list}]`));
    return;
  }
  const kinds = new Set(node.rules.map(({ rule, module }) => kindOf(module, rule)));
  const arities = new Set(node.rules.map(({ rule }) => rule.head.args?.length ?? 0));
  const members = new Set(node.rules.map(({ rule }) => rule.head.key !== undefined));
  if (kinds.size > 1 || arities.size > 1 || members.size > 1) {
    errors.push(typeError(first.rule.loc, `conflicting rules ${node.name} found`));
    return;
  }
  const defaults = node.rules.filter(({ rule }) => rule.isDefault);
  if (defaults.length > 1) {
    const places = defaults
      .map(({ rule }) => `${rule.loc.file}:${String(rule.loc.line)}`)
      .join(", ");
    errors.push(
      typeError(first.module.packageLoc, `multiple default rules ${node.name} found at ${places}`),
    );
  }
}

function descendants(node: RuleNode): RuleNode[] {
  const found: RuleNode[] = [];
  const waiting = [...node.children.values()];
  for (let next = waiting.pop(); next; next = waiting.pop()) {
    if (next.rules.length > 0) found.push(next);
    waiting.push(...next.children.values());
  }
  return found;
}

/** A package must not have the path of a rule. */
function checkPackage(tree: RuleTree, module: Module, errors: LoadError[]): void {
  for (let length = 1; length <= module.path.length; length++) {
    const path = module.path.slice(0, length);
    const node = tree.find(path);
    const rule = node?.rules.find((owned) => kindOf(owned.module, owned.rule) !== "object");
    if (!rule || length < module.path.length) continue;
    const at = `${rule.rule.loc.file}:${String(rule.rule.loc.line)}`;
    errors.push(
      typeError(
        module.packageLoc,
        `package ${module.path.join(".")} conflicts with rule ${pathText(path)} defined at ${at}`,
      ),
    );
  }
}
