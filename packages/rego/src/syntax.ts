// Entry point: parsing, and the syntax tree with what programs ask about it.
export { headPath, pathText } from "./compile/rule-tree.ts";
export { parseModule, parseQuery, parseTermText } from "./parse/module.ts";
export { constantOf, operatorName } from "./syntax/terms.ts";
export { eachCall, walkRule } from "./syntax/walk.ts";
export type {
  Body,
  Expr,
  Location,
  Module,
  RefTerm,
  RegoVersion,
  Rule,
  Term,
} from "./syntax/ast.ts";
export type { Visitor } from "./syntax/walk.ts";
