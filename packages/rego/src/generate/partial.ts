// Code for rules that build a set or an object piece by piece.
import { documentAt } from "../evaluate/documents.ts";
import { EvalError } from "../errors.ts";
import { genKeyed, genPartial } from "./rule.ts";
import { headTail } from "../compile/rule-tree.ts";
import { RegoObject, RegoSet, equal, keyOf } from "../values/value.ts";
import type { Context } from "../evaluate/context.ts";
import type { Contribution } from "./rule.ts";
import type { Program } from "./generator.ts";
import type { Evaluate, Lookup, OwnedRule, RuleNode } from "../compile/rule-tree.ts";
import type { Location } from "../syntax/ast.ts";
import type { Value } from "../values/value.ts";

export function genSet(program: Program, node: RuleNode, rules: readonly OwnedRule[]): Evaluate {
  const runs = rules.map((owned) => genPartial(program, node, owned, []));
  return (c) => {
    const members: Value[] = [];
    for (const run of runs) run(c, ({ value }) => members.push(value));
    return RegoSet.of(members);
  };
}

export function genSetLookup(
  program: Program,
  node: RuleNode,
  rules: readonly OwnedRule[],
): Lookup {
  const runs = rules.map((owned) => genKeyed(program, node, owned, []));
  return (c, key) => {
    let found: Value | undefined;
    for (const run of runs) {
      run(c, key, ({ value }) => {
        found ??= value;
      });
      if (found !== undefined) return found;
    }
    return undefined;
  };
}

/** Undefined when rules with longer heads define parts of the same object. */
export function genObjectLookup(
  program: Program,
  node: RuleNode,
  rules: readonly OwnedRule[],
): Lookup | undefined {
  if (node.children.size > 0) return undefined;
  const runs = rules.map((owned) => ({
    at: owned.rule.loc,
    run: genKeyed(program, node, owned, headTail(owned.module, owned.rule)),
  }));
  return (c, key) => {
    const root: Building = { kind: "level", entries: new Map() };
    for (const { at, run } of runs) {
      run(c, key, (item) => {
        insert(root, item, at);
      });
    }
    const entry = root.entries.get(keyOf(key));
    return entry && finish(entry[1]);
  };
}

/** A document under construction: inner levels by key, sets and finished values at the ends. */
type Building =
  | { readonly kind: "level"; readonly entries: Map<unknown, [Value, Building]> }
  | { readonly kind: "set"; readonly members: Value[] }
  | { readonly kind: "value"; readonly value: Value };

/** `p[x] := v`, `p[x].q[y] := v`, `p[x] contains y` and what fixed heads below add. */
export function genPartialObject(
  program: Program,
  node: RuleNode,
  rules: readonly OwnedRule[],
): Evaluate {
  const runs = rules.map((owned) => ({
    at: owned.rule.loc,
    run: genPartial(program, node, owned, headTail(owned.module, owned.rule)),
  }));
  return (c) => {
    const root: Building = { kind: "level", entries: new Map() };
    for (const { at, run } of runs)
      run(c, (item) => {
        insert(root, item, at);
      });
    addChildren(c, node, root);
    return finish(root);
  };
}

function insert(root: Building & { kind: "level" }, item: Contribution, at: Location): void {
  let level = root;
  const last = item.keys.length - 1;
  for (const [i, key] of item.keys.entries()) {
    const id = keyOf(key);
    const known = level.entries.get(id)?.[1];
    if (i === last) {
      level.entries.set(id, [key, join(known, item, at)]);
      return;
    }
    if (known && known.kind !== "level") throw keyConflict(at);
    const inner: Building & { kind: "level" } = known ?? { kind: "level", entries: new Map() };
    if (!known) level.entries.set(id, [key, inner]);
    level = inner;
  }
}

function join(known: Building | undefined, item: Contribution, at: Location): Building {
  if (item.isMember) {
    if (!known) return { kind: "set", members: [item.value] };
    if (known.kind !== "set") throw keyConflict(at);
    known.members.push(item.value);
    return known;
  }
  if (!known) return { kind: "value", value: item.value };
  if (known.kind !== "value" || !equal(known.value, item.value)) throw keyConflict(at);
  return known;
}

function keyConflict(at: Location): EvalError {
  return new EvalError("eval_conflict_error", "object keys must be unique", at);
}

/** Rules with longer fixed heads define parts of the same object; what none of them contributes to is not there. */
function addChildren(c: Context, node: RuleNode, root: Building & { kind: "level" }): void {
  for (const [name, child] of node.children) {
    const value = contributed(c, child);
    if (value !== undefined) mergeValue(root, name, value, child);
  }
}

function contributed(c: Context, node: RuleNode): Value | undefined {
  if (node.kind === "package") {
    const entries = [...node.children].flatMap(([name, child]) => {
      const value = contributed(c, child);
      return value === undefined ? [] : [[name, value] as const];
    });
    return entries.length === 0 ? undefined : RegoObject.of(entries);
  }
  const value = documentAt(c, { node, base: undefined, shadow: undefined });
  const isPartial = node.kind === "set" || node.kind === "object";
  const isEmpty = (value instanceof RegoSet || value instanceof RegoObject) && value.size === 0;
  return isPartial && isEmpty ? undefined : value;
}

function mergeValue(
  level: Building & { kind: "level" },
  key: Value,
  value: Value,
  node: RuleNode | undefined,
): void {
  const id = keyOf(key);
  const known = level.entries.get(id)?.[1];
  const at = node?.rules[0]?.rule.loc ?? { file: "", line: 0, column: 0 };
  if (!known) {
    level.entries.set(id, [key, { kind: "value", value }]);
    return;
  }
  if (known.kind === "set" && value instanceof RegoSet) {
    known.members.push(...value.items());
    return;
  }
  if (known.kind !== "level" || !(value instanceof RegoObject)) {
    if (known.kind === "value" && equal(known.value, value)) return;
    throw keyConflict(at);
  }
  for (const [name, item] of value.entries()) mergeValue(known, name, item, undefined);
}

function finish(building: Building): Value {
  if (building.kind === "value") return building.value;
  if (building.kind === "set") return RegoSet.of(building.members);
  const entries = [...building.entries.values()];
  return RegoObject.of(entries.map(([key, inner]) => [key, finish(inner)] as const));
}
