// Code for terms whose variables are all bound, and for patterns.
import { eachSolution } from "./code.ts";
import { EvalError } from "../errors.ts";
import { genBody } from "./body.ts";
import { constantOf } from "../syntax/terms.ts";
import { RegoObject, RegoSet, equal, keyOf } from "../values/value.ts";
import { isRoot, termVars } from "../syntax/variables.ts";
import type { Get, Match } from "./code.ts";
import type { Gen } from "./generator.ts";
import type { ComprehensionTerm, ObjectComprehensionTerm, Term } from "../syntax/ast.ts";
import type { Entry } from "../values/object.ts";
import type { Value } from "../values/value.ts";

export function isBound(gen: Gen, term: Term): boolean {
  let bound = true;
  termVars(term, (name) => (bound &&= gen.bound.has(name)));
  return bound;
}

export function genGet(gen: Gen, term: Term): Get {
  const constant = constantOf(term);
  if (constant !== undefined) return () => constant;
  switch (term.kind) {
    case "var": {
      const slot = gen.slot(term.name);
      return (_, f) => f[slot];
    }
    case "array":
    case "set":
      return genList(gen, term.items, term.kind === "array");
    case "object":
      return genObject(gen, term.entries);
    case "arrayComprehension":
    case "setComprehension":
      return genComprehension(gen, term);
    case "objectComprehension":
      return genObjectComprehension(gen, term);
    default:
      throw new Error(`no code for a ${term.kind} inside a term`);
  }
}

function genList(gen: Gen, items: readonly Term[], isArray: boolean): Get {
  const gets = items.map((item) => genGet(gen, item));
  return (c, f) => {
    const values: Value[] = [];
    for (const get of gets) {
      const value = get(c, f);
      if (value === undefined) return undefined;
      values.push(value);
    }
    return isArray ? values : RegoSet.of(values);
  };
}

function genObject(gen: Gen, entries: readonly (readonly [Term, Term])[]): Get {
  const gets = entries.map(([key, value]) => [genGet(gen, key), genGet(gen, value)] as const);
  return (c, f) => {
    const values: Entry[] = [];
    for (const [getKey, getValue] of gets) {
      const key = getKey(c, f);
      const value = getValue(c, f);
      if (key === undefined || value === undefined) return undefined;
      values.push([key, value]);
    }
    return RegoObject.of(values);
  };
}

function genComprehension(gen: Gen, term: ComprehensionTerm): Get {
  return gen.scoped(() => {
    const body = genBody(gen, term.body);
    const head = genGet(gen, term.head);
    const isArray = term.kind === "arrayComprehension";
    return (c, f) => {
      const values: Value[] = [];
      eachSolution(body, c, f, () => {
        const value = head(c, f);
        if (value !== undefined) values.push(value);
        return false;
      });
      return isArray ? values : RegoSet.of(values);
    };
  });
}

function genObjectComprehension(gen: Gen, term: ObjectComprehensionTerm): Get {
  return gen.scoped(() => {
    const body = genBody(gen, term.body);
    const getKey = genGet(gen, term.key);
    const getValue = genGet(gen, term.value);
    return (c, f) => {
      const entries = new Map<unknown, Entry>();
      eachSolution(body, c, f, () => {
        const key = getKey(c, f) as Value;
        const value = getValue(c, f) as Value;
        const id = keyOf(key);
        const known = entries.get(id);
        if (known && !equal(known[1], value)) {
          throw new EvalError("eval_conflict_error", "object keys must be unique", term.loc);
        }
        entries.set(id, [key, value]);
        return false;
      });
      return RegoObject.of(entries.values());
    };
  });
}

/** Code that compares bound parts of a pattern and binds the others. */
export function genMatch(gen: Gen, term: Term): Match {
  if (term.kind === "var" && !isRoot(term.name) && !gen.bound.has(term.name)) {
    const slot = gen.bind(term.name);
    return (_, f, value) => {
      f[slot] = value;
      return true;
    };
  }
  if (isBound(gen, term)) {
    const constant = constantOf(term);
    if (constant !== undefined) return (_c, _f, value) => equal(constant, value);
    const get = genGet(gen, term);
    return (c, f, value) => {
      const own = get(c, f);
      return own !== undefined && equal(own, value);
    };
  }
  if (term.kind === "array") return genArrayMatch(gen, term.items);
  if (term.kind === "object") return genObjectMatch(gen, term.entries);
  // As in OPA, a set with parts that are not known yet equals nothing.
  termVars(term, (name) => {
    if (!isRoot(name) && !gen.bound.has(name)) gen.bind(name);
  });
  return () => false;
}

function genArrayMatch(gen: Gen, items: readonly Term[]): Match {
  const matches = items.map((item) => genMatch(gen, item));
  return (c, f, value) => {
    if (!Array.isArray(value) || value.length !== matches.length) return false;
    const list = value as readonly Value[];
    for (let i = 0; i < matches.length; i++) {
      if (!(matches[i] as Match)(c, f, list[i] as Value)) return false;
    }
    return true;
  };
}

function genObjectMatch(gen: Gen, entries: readonly (readonly [Term, Term])[]): Match {
  const matches = entries.map(([key, value]) => [genGet(gen, key), genMatch(gen, value)] as const);
  return (c, f, value) => {
    if (!(value instanceof RegoObject) || value.size !== matches.length) return false;
    for (const [getKey, match] of matches) {
      const key = getKey(c, f);
      const item = key === undefined ? undefined : value.get(key);
      if (item === undefined || !match(c, f, item)) return false;
    }
    return true;
  };
}
