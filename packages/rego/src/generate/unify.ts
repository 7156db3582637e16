// Code for `a = b`: evaluate the side that is known, match the other against it.
import { eachOf, sequence } from "./code.ts";
import { genRef } from "./reference.ts";
import { genGet, genMatch, isBound } from "./term.ts";
import { splitPairs } from "../check/safety.ts";
import { equal } from "../values/value.ts";
import { isRoot } from "../syntax/variables.ts";
import type { Get, Match, Step, Values } from "./code.ts";
import type { Gen } from "./generator.ts";
import type { Term } from "../syntax/ast.ts";

const NEVER: Step = { test: () => false };

export function genUnify(gen: Gen, left: Term, right: Term): Step {
  const pairs: [Term, Term][] = [];
  splitPairs(left, right, pairs);
  const steps: Step[] = [];
  let rest = pairs;
  while (rest.length > 0) {
    const waiting: [Term, Term][] = [];
    for (const pair of rest) {
      const step = genPair(gen, pair[0], pair[1]);
      if (step) steps.push(step);
      else waiting.push(pair);
    }
    if (waiting.length === rest.length) throw new Error("neither side of a unification is known");
    rest = waiting;
  }
  return sequence(steps);
}

function genPair(gen: Gen, left: Term, right: Term): Step | undefined {
  if (cannotMatch(left, right)) return NEVER;
  // A side that only needs its variables goes first: it may bind what the other side looks up.
  const leftFirst =
    isKnown(gen, left) && !(isLookup(left) && isKnown(gen, right) && !isLookup(right));
  if (leftFirst) return genMatchStep(gen, genValues(gen, left), right);
  return isKnown(gen, right) ? genMatchStep(gen, genValues(gen, right), left) : undefined;
}

function isLookup(term: Term): boolean {
  return term.kind === "ref";
}

function isKnown(gen: Gen, term: Term): boolean {
  if (term.kind !== "ref") return isBound(gen, term);
  const [head] = term.terms;
  return head?.kind === "var" && (isRoot(head.name) || gen.bound.has(head.name));
}

// Literals of different shapes never unify, whatever their variables are.
function cannotMatch(a: Term, b: Term): boolean {
  if (a.kind === "array" && b.kind === "array") return a.items.length !== b.items.length;
  const literal = (term: Term): boolean => ["scalar", "array", "object"].includes(term.kind);
  return literal(a) && literal(b) && a.kind !== b.kind;
}

export function genValues(gen: Gen, term: Term): Values {
  return term.kind === "ref" ? genRef(gen, term) : { get: genGet(gen, term) };
}

function genMatchStep(gen: Gen, values: Values, other: Term): Step {
  if (other.kind === "ref") return genCompare(values, genRef(gen, other));
  const slotName = other.kind === "var" && !gen.bound.has(other.name) ? other.name : undefined;
  if (values.get && slotName !== undefined) return genAssign(values.get, gen.bind(slotName));
  return genMatched(values, genMatch(gen, other));
}

function genAssign(get: Get, slot: number): Step {
  return {
    test: (c, f) => {
      const value = get(c, f);
      if (value === undefined) return false;
      f[slot] = value;
      return true;
    },
  };
}

function genMatched(values: Values, match: Match): Step {
  const { get, each } = values;
  if (get) {
    return {
      test: (c, f) => {
        const value = get(c, f);
        return value !== undefined && match(c, f, value);
      },
    };
  }
  return { each: (c, f, next) => each(c, f, (value) => match(c, f, value) && next()) };
}

function genCompare(left: Values, right: Values): Step {
  const { get: getLeft } = left;
  const { get: getRight } = right;
  if (getLeft && getRight) {
    return {
      test: (c, f) => {
        const a = getLeft(c, f);
        if (a === undefined) return false;
        const b = getRight(c, f);
        return b !== undefined && equal(a, b);
      },
    };
  }
  return {
    each: (c, f, next) =>
      eachOf(left, c, f, (a) => eachOf(right, c, f, (b) => equal(a, b) && next())),
  };
}
