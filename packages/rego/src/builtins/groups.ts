// Built-ins that bring much code and that few policies use: each group is imported when a policy mentions it.
import { operatorName } from "../syntax/terms.ts";
import { walkBody, walkRule } from "../syntax/walk.ts";
import { groupOf } from "./group-names.ts";
import type { Body, Module } from "../syntax/ast.ts";
import type { Visitor } from "../syntax/walk.ts";
import type { Builtin } from "./builtin.ts";
import type { GroupName } from "./group-names.ts";

const IMPORTS: Readonly<Record<GroupName, () => Promise<readonly Builtin[]>>> = {
  graphql: async () => (await import("./graphql/builtins.ts")).GRAPHQL,
  "json-schema": async () => (await import("./json-schema/builtins.ts")).JSON_SCHEMA,
  templates: async () => (await import("./templates/builtins.ts")).TEMPLATES,
  x509: async () => (await import("./x509/builtins.ts")).X509,
};

export const loadGroup = (name: GroupName): Promise<readonly Builtin[]> => IMPORTS[name]();

/** The groups of all built-ins that are called, or named by `with`, in these modules and queries. */
export function groupsIn(modules: readonly Module[], queries: readonly Body[]): Set<GroupName> {
  const found = new Set<GroupName>();
  const note = (name: string): void => {
    const group = groupOf(name);
    if (group !== undefined) found.add(group);
  };
  const visitor: Visitor = {
    term: (term) => {
      if (term.kind === "ref") note(operatorName(term));
      else if (term.kind === "call") note(operatorName(term.op));
    },
    expr: ({ node }) => {
      if (node.kind === "call") note(operatorName(node.op));
    },
  };
  for (const { rules } of modules) for (const rule of rules) walkRule(rule, visitor);
  for (const body of queries) walkBody(body, visitor);
  return found;
}
