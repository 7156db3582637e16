// Code for references: into variables, input, base documents and rules.
import {
  below,
  documentAt,
  keysAt,
  rootPlace,
  ruleLookup,
  ruleValue,
} from "../evaluate/documents.ts";
import { genGet, genMatch, isBound } from "./term.ts";
import { eachEntry, lookup, lookupBase } from "../values/lookup.ts";
import { constantOf } from "../syntax/terms.ts";
import type { Found, Frame, Get, Match, Values } from "./code.ts";
import type { Context } from "../evaluate/context.ts";
import type { Place } from "../evaluate/documents.ts";
import type { Gen } from "./generator.ts";
import type { RuleNode } from "../compile/rule-tree.ts";
import type { RefTerm, Term } from "../syntax/ast.ts";
import type { Value } from "../values/value.ts";

/** One segment of a path: a key that is known, or a pattern that every key is tried against. */
type Part =
  | { readonly key: Get; readonly constant: Value | undefined; readonly match?: undefined }
  | { readonly match: Match; readonly key?: undefined };

type Find = typeof lookup;
type Follow = (c: Context, f: Frame, value: Value, found: Found) => boolean;

export function genRef(gen: Gen, ref: RefTerm): Values {
  const [head, ...path] = ref.terms;
  if (head?.kind !== "var") throw new Error("a reference starts with a variable");
  if (head.name === "data") return genDataRef(gen, path);
  const parts = path.map((term) => genPart(gen, term));
  if (head.name === "input") return genInputRef(gen, parts);
  const slot = gen.slot(head.name);
  return follow((_, f) => f[slot], parts);
}

/** The constant keys at the start of the path share their lookups with all other rules. */
function genInputRef(gen: Gen, parts: readonly Part[]): Values {
  const constants: Value[] = [];
  for (const part of parts) {
    if (part.key === undefined || part.constant === undefined) break;
    constants.push(part.constant);
  }
  return follow(gen.program.inputs.get(constants), parts.slice(constants.length));
}

function genPart(gen: Gen, term: Term): Part {
  if (!isBound(gen, term)) return { match: genMatch(gen, term) };
  return { key: genGet(gen, term), constant: constantOf(term) };
}

/** Values under a start value. */
function follow(start: Get, parts: readonly Part[], find: Find = lookup): Values {
  if (parts.every((part) => part.key)) return { get: followKeys(start, parts, find) };
  const walk = followAll(parts, find);
  return {
    each: (c, f, found) => {
      const value = start(c, f);
      return value !== undefined && walk(c, f, value, found);
    },
  };
}

function followKeys(start: Get, parts: readonly Part[], find: Find): Get {
  const constants = parts.map((part) => (part.key ? part.constant : undefined));
  if (constants.every((key) => key !== undefined)) {
    const [first, second] = constants;
    if (constants.length === 0) return start;
    if (constants.length === 1) {
      return (c, f) => {
        const value = start(c, f);
        return value === undefined ? undefined : find(value, first as Value);
      };
    }
    if (constants.length === 2) {
      return (c, f) => {
        const value = start(c, f);
        const inner = value === undefined ? undefined : find(value, first as Value);
        return inner === undefined ? undefined : find(inner, second as Value);
      };
    }
  }
  const keys = parts.map((part) => part.key as Get);
  return (c, f) => {
    let value = start(c, f);
    for (const get of keys) {
      if (value === undefined) return undefined;
      const key = get(c, f);
      value = key === undefined ? undefined : find(value, key);
    }
    return value;
  };
}

function followAll(parts: readonly Part[], find: Find): Follow {
  let rest: Follow = (_c, _f, value, found) => found(value);
  for (let i = parts.length - 1; i >= 0; i--) rest = followPart(parts[i] as Part, rest, find);
  return rest;
}

function followPart(part: Part, rest: Follow, find: Find): Follow {
  const { key: getKey, match } = part;
  if (getKey) {
    return (c, f, value, found) => {
      const key = getKey(c, f);
      const inner = key === undefined ? undefined : find(value, key);
      return inner !== undefined && rest(c, f, inner, found);
    };
  }
  return (c, f, value, found) =>
    eachEntry(value, (key, item) => {
      c.session.tick();
      return match(c, f, key) && rest(c, f, item, found);
    });
}

function genDataRef(gen: Gen, path: readonly Term[]): Values {
  const { root } = gen.program.tree;
  let node: RuleNode | undefined = root;
  const fixed: string[] = [];
  for (const term of path) {
    if (!node || node.hasValue || term.kind !== "scalar" || typeof term.value !== "string") break;
    fixed.push(term.value);
    node = node.children.get(term.value);
  }
  const parts = path.map((term) => genPart(gen, term));
  if (!node) return follow((c) => c.data, parts, lookupBase);
  const walk = dataWalk(root, parts);
  if (!node.hasValue) return walk;
  return ruleRef(node, parts.slice(fixed.length), walk);
}

/** The usual case: the path leads straight to a rule. Replaced data takes the long way. */
function ruleRef(node: RuleNode, rest: readonly Part[], walk: Values): Values {
  const direct = followRule(node, rest);
  const slow = (c: Context, f: Frame, found: Found): boolean =>
    walk.each ? walk.each(c, f, found) : first(walk.get(c, f), found);
  const { get } = direct;
  if (get && walk.get) {
    const { get: walkGet } = walk;
    return { get: (c, f) => (c.shadow === undefined ? get(c, f) : walkGet(c, f)) };
  }
  return {
    each: (c, f, found) => {
      if (c.shadow !== undefined) return slow(c, f, found);
      return direct.each ? direct.each(c, f, found) : first(direct.get(c, f), found);
    },
  };
}

/** A known key asks a partial rule for that key only. */
function followRule(node: RuleNode, rest: readonly Part[]): Values {
  const key = rest[0]?.key;
  if (!key || (node.kind !== "set" && node.kind !== "object"))
    return follow((c) => ruleValue(c, node), rest);
  const start: Get = (c, f) => {
    const value = key(c, f);
    return value === undefined ? undefined : ruleLookup(c, node, value);
  };
  return follow(start, rest.slice(1));
}

function first(value: Value | undefined, found: Found): boolean {
  return value !== undefined && found(value);
}

/** Any path into data: through packages with known or unknown names, rules and base documents. */
function dataWalk(root: RuleNode, parts: readonly Part[]): Values {
  const tails = parts.map((_, i) => followAll(parts.slice(i), lookup));
  const baseTails = parts.map((_, i) => followAll(parts.slice(i), lookupBase));
  const walk = (c: Context, f: Frame, place: Place, i: number, found: Found): boolean => {
    const part = parts[i];
    const { node } = place;
    if (!part) return first(documentAt(c, place), found);
    if (!node) {
      return place.base !== undefined && (baseTails[i] as Follow)(c, f, place.base, found);
    }
    if (node.hasValue) {
      const value = ruleValue(c, node);
      return value !== undefined && (tails[i] as Follow)(c, f, value, found);
    }
    if (part.key) {
      const key = part.key(c, f);
      return key !== undefined && walk(c, f, below(place, key), i + 1, found);
    }
    for (const key of keysAt(place)) {
      c.session.tick();
      if (part.match(c, f, key) && walk(c, f, below(place, key), i + 1, found)) return true;
    }
    return false;
  };
  if (parts.every((part) => part.key)) {
    return {
      get: (c, f) => {
        let result: Value | undefined;
        walk(c, f, rootPlace(c, root), 0, (value) => {
          result = value;
          return true;
        });
        return result;
      },
    };
  }
  return { each: (c, f, found) => walk(c, f, rootPlace(c, root), 0, found) };
}
