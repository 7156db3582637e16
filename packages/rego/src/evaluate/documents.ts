// Data as policies see it: base documents with the values of rules laid over them.
import { BUSY, UNDEFINED } from "./context.ts";
import { EvalError } from "../errors.ts";
import { lookup, lookupBase } from "../values/lookup.ts";
import { RegoObject, compare, keyOf } from "../values/value.ts";
import type { Context, Shadow } from "./context.ts";
import type { RuleNode } from "../compile/rule-tree.ts";
import type { Value } from "../values/value.ts";

/** The value of a node's rules, worked out once per context. */
export function ruleValue(c: Context, node: RuleNode): Value | undefined {
  const known = c.results[node.id];
  if (known !== undefined) {
    if (known === UNDEFINED) return undefined;
    if (known !== BUSY) return known;
    throw new EvalError("eval_internal_error", `rule ${node.name} depends on itself`);
  }
  c.results[node.id] = BUSY;
  const value = node.evaluate(c);
  c.results[node.id] = value === undefined ? UNDEFINED : value;
  return value;
}

// After so many different keys the whole document is cheaper.
const MAX_LOOKUPS = 16;

/** The value a node's rules give one key; the other keys are left alone. */
export function ruleLookup(c: Context, node: RuleNode, key: Value): Value | undefined {
  const known = c.results[node.id];
  if (!node.lookup || (known !== undefined && known !== BUSY))
    return keyIn(ruleValue(c, node), key);
  const cache = c.calls(node.id);
  const id = keyOf(key);
  const found = cache.get(id);
  if (found !== undefined) return found === UNDEFINED ? undefined : (found as Value);
  if (cache.size >= MAX_LOOKUPS) return keyIn(ruleValue(c, node), key);
  const value = node.lookup(c, key);
  cache.set(id, value === undefined ? UNDEFINED : value);
  return value;
}

function keyIn(document: Value | undefined, key: Value): Value | undefined {
  return document === undefined ? undefined : lookup(document, key);
}

/** A place in data: the rules there, the base value there, and whether it was replaced. */
export interface Place {
  readonly node: RuleNode | undefined;
  readonly base: Value | undefined;
  readonly shadow: Shadow | undefined;
}

export function rootPlace(c: Context, root: RuleNode): Place {
  const { shadow } = c;
  return { node: shadow?.replaced ? undefined : root, base: c.data, shadow };
}

export function below(place: Place, key: Value): Place {
  const { node, base, shadow } = place;
  const inner = typeof key === "string" ? shadow?.children.get(key) : undefined;
  const child = typeof key === "string" && !inner?.replaced ? node?.children.get(key) : undefined;
  return {
    node: child,
    base: base === undefined ? undefined : lookupBase(base, key),
    shadow: inner,
  };
}

/** The keys under a place, in order. */
export function keysAt(place: Place): readonly Value[] {
  const { node, base } = place;
  const names = node ? [...node.children.keys()] : [];
  if (Array.isArray(base)) return names.length > 0 ? names : base.map((_, i) => i);
  if (!(base instanceof RegoObject)) return names.sort(compare);
  const keys = base.keys();
  if (names.length === 0) return keys;
  return [...keys, ...names.filter((name) => !base.has(name))].sort((a, b) => compare(a, b));
}

/** The whole document at a place. */
export function documentAt(c: Context, place: Place): Value | undefined {
  const { node, base } = place;
  if (!node) return base;
  if (node.kind === "function") return base;
  if (node.hasValue) return ruleValue(c, node);
  c.session.tick();
  const entries: (readonly [Value, Value])[] = [];
  for (const name of node.children.keys()) {
    const value = documentAt(c, below(place, name));
    if (value !== undefined) entries.push([name, value]);
  }
  if (!(base instanceof RegoObject))
    return base !== undefined && entries.length === 0 ? base : RegoObject.of(entries);
  return entries.length === 0 ? base : RegoObject.of([...base.entries(), ...entries]);
}
