// No rule may depend on itself, directly or through others.
import { walkRule } from "../syntax/walk.ts";
import type { LoadError } from "../errors.ts";
import type { RefTerm, Term } from "../syntax/ast.ts";
import type { RuleNode, RuleTree } from "../compile/rule-tree.ts";

/** Returns the nodes with rules in an order where each follows those it depends on. */
export function checkRecursion(tree: RuleTree, errors: LoadError[]): readonly RuleNode[] {
  const edges = new Map<RuleNode, readonly RuleNode[]>();
  for (const node of tree.nodes)
    if (node.rules.length > 0) edges.set(node, dependencies(tree, node));
  const done = new Set<RuleNode>();
  for (const node of edges.keys()) {
    const cycle = findCycle(node, edges, done);
    if (!cycle) continue;
    const [first] = cycle;
    const at = first?.rules[0]?.rule.loc;
    if (!first || !at) continue;
    const message = `rule ${first.name} is recursive: ${[...cycle, first].map((each) => each.name).join(" -> ")}`;
    errors.push({
      code: "rego_recursion_error",
      file: at.file,
      line: at.line,
      column: at.column,
      message,
    });
  }
  return [...done];
}

function dependencies(tree: RuleTree, node: RuleNode): readonly RuleNode[] {
  const found = new Set<RuleNode>();
  const visit = (ref: RefTerm): void => {
    const [head, ...path] = ref.terms;
    if (head?.kind === "var" && head.name === "data") collect(tree.root, path, 0, found);
  };
  for (const { rule } of node.rules) {
    walkRule(rule, {
      term: (term) => {
        if (term.kind === "ref") visit(term);
      },
      expr: ({ node: inner }) => {
        if (inner.kind === "call") visit(inner.op);
      },
    });
  }
  return [...found];
}

/** The nodes a reference may touch; an unknown segment may be any child. */
function collect(node: RuleNode, path: readonly Term[], i: number, found: Set<RuleNode>): void {
  if (node.rules.length > 0) found.add(node);
  const term = path[i];
  if (term?.kind === "scalar") {
    const child = typeof term.value === "string" ? node.children.get(term.value) : undefined;
    if (child) collect(child, path, i + 1, found);
    return;
  }
  for (const child of node.children.values()) collect(child, path, i + 1, found);
}

/** Depth first without recursion, so that long chains of rules do not exhaust the stack. */
function findCycle(
  start: RuleNode,
  edges: ReadonlyMap<RuleNode, readonly RuleNode[]>,
  done: Set<RuleNode>,
): readonly RuleNode[] | undefined {
  if (done.has(start)) return undefined;
  const path: { node: RuleNode; next: number }[] = [{ node: start, next: 0 }];
  const onPath = new Set<RuleNode>([start]);
  for (let top = path.at(-1); top; top = path.at(-1)) {
    const child = edges.get(top.node)?.[top.next++];
    if (!child) {
      done.add(top.node);
      onPath.delete(top.node);
      path.pop();
    } else if (onPath.has(child)) {
      const nodes = path.map(({ node }) => node);
      for (const node of nodes) done.add(node);
      return nodes.slice(nodes.indexOf(child));
    } else if (!done.has(child)) {
      path.push({ node: child, next: 0 });
      onPath.add(child);
    }
  }
  return undefined;
}
