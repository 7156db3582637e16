// The expression behind a permission, drawn as a tree.
import type { ObjectRef, RelationTree } from "../../governance/relations/relation.ts";
import { objectText, subjectText } from "../../governance/relations/text.ts";

/**
 *     tool:system/echo#execute  union
 *     ├─ owner
 *     └─ executor  user:ada, group:eng#member
 */
export function treeLines(tree: RelationTree): string[] {
  const { resource, name } = tree;
  return [`${objectText(resource)}#${name}  ${summaryOf(tree)}`.trimEnd(), ...below(tree, "")];
}

function below({ children, resource }: RelationTree, indent: string): string[] {
  return children.flatMap((child, i) => {
    const last = i === children.length - 1;
    const head = `${indent}${last ? "└─" : "├─"} ${labelOf(child, resource)}  ${summaryOf(child)}`;
    return [head.trimEnd(), ...below(child, `${indent}${last ? "   " : "│  "}`)];
  });
}

/** What belongs to the thing above is called by its own name alone. */
function labelOf({ resource, name }: RelationTree, above: ObjectRef): string {
  const same = resource.type === above.type && resource.id === above.id;
  return same ? name : `${objectText(resource)}#${name}`;
}

const summaryOf = ({ operation, subjects }: RelationTree): string =>
  operation === "leaf" ? subjects.map(subjectText).join(", ") : operation;
