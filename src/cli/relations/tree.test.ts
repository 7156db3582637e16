import { expect, test } from "vitest";
import type { RelationTree } from "../../governance/relations/relation.ts";
import { treeLines } from "./tree.ts";

const tool = { type: "tool", id: "a" };
const leaf = (name: string, ...ids: string[]): RelationTree => ({
  resource: tool,
  name,
  operation: "leaf",
  children: [],
  subjects: ids.map((id) => ({ type: "user", id })),
});

test("a tree shows operations, leaves with their subjects, and other things by their full name", () => {
  const inner: RelationTree = {
    resource: tool,
    name: "execute",
    operation: "union",
    children: [leaf("owner"), leaf("executor", "ada", "*")],
    subjects: [],
  };
  const other: RelationTree = {
    ...leaf("admin", "bob"),
    resource: { type: "tenant", id: "local" },
  };
  const root: RelationTree = { ...inner, operation: "exclusion", children: [inner, other] };
  expect(treeLines(root)).toEqual([
    "tool:a#execute  exclusion",
    "├─ execute  union",
    "│  ├─ owner",
    "│  └─ executor  user:ada, user:*",
    "└─ tenant:local#admin  user:bob",
  ]);
  expect(treeLines(leaf("owner"))).toEqual(["tool:a#owner"]);
});
