import type { Module, Rule } from "./ast.ts";
import type { Value } from "./value.ts";

/** What the metadata built-ins answer inside one rule. */
export interface Metadata {
  rule(): Value;
  chain(): Value;
}

export function metadataOf(_modules: readonly Module[]): (module: Module, rule: Rule) => Metadata {
  return () => ({ rule: () => true, chain: () => [] });
}
