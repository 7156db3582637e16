// The `if` of a step: references and literals, compared and joined. A parser of its own; nothing is evaluated as code.
import type { Json } from "../../contract/call.ts";
import { lookUp, parseReference, type Reference, type Scope } from "./template.ts";

type Operand = { readonly reference: Reference } | { readonly literal: Json };
const COMPARISONS = ["==", "!=", "<=", ">=", "<", ">"] as const;
type Comparison = (typeof COMPARISONS)[number];

export type Condition =
  | { readonly kind: "value"; readonly operand: Operand }
  | {
      readonly kind: "compare";
      readonly left: Operand;
      readonly with: Comparison;
      readonly right: Operand;
    }
  | { readonly kind: "not"; readonly inner: Condition }
  | { readonly kind: "and" | "or"; readonly left: Condition; readonly right: Condition };

const TOKEN =
  /\s*(?:(\{\{[^{}]*\}\})|("(?:[^"\\]|\\.)*")|(-?\d+(?:\.\d+)?)|(==|!=|<=|>=|<|>|\(|\))|([a-z]+))/y;
const WORDS: Readonly<Record<string, Json>> = { true: true, false: false, null: null };
const MAX_TOKENS = 100;

/** A text instead of a condition says what is wrong with it. */
export function parseCondition(text: string): Condition | string {
  const tokens: string[] = [];
  TOKEN.lastIndex = 0;
  for (let at = 0; text.slice(at).trim() !== ""; at = TOKEN.lastIndex) {
    TOKEN.lastIndex = at;
    const match = TOKEN.exec(text);
    if (!match)
      return `cannot be read from ${JSON.stringify(text.slice(at).trim().slice(0, 20))} on`;
    tokens.push(match[0].trim());
    if (tokens.length > MAX_TOKENS) return `is longer than ${MAX_TOKENS} words`;
  }
  const state = { tokens, at: 0 };
  try {
    const condition = either(state);
    if (state.at < tokens.length) throw new Unreadable(`unexpected ${tokens[state.at] ?? ""}`);
    return condition;
  } catch (cause) {
    if (cause instanceof Unreadable) return cause.message;
    throw cause;
  }
}

class Unreadable extends Error {}

interface Reading {
  readonly tokens: readonly string[];
  at: number;
}

function either(r: Reading): Condition {
  let left = both(r);
  while (taken(r, "or")) left = { kind: "or", left, right: both(r) };
  return left;
}

function both(r: Reading): Condition {
  let left = one(r);
  while (taken(r, "and")) left = { kind: "and", left, right: one(r) };
  return left;
}

function one(r: Reading): Condition {
  if (taken(r, "not")) return { kind: "not", inner: one(r) };
  if (taken(r, "(")) {
    const inner = either(r);
    if (!taken(r, ")")) throw new Unreadable("a bracket is never closed");
    return inner;
  }
  const left = operand(r);
  const comparison = COMPARISONS.find((word) => word === r.tokens[r.at]);
  if (comparison === undefined) return { kind: "value", operand: left };
  r.at++;
  return { kind: "compare", left, with: comparison, right: operand(r) };
}

function operand(r: Reading): Operand {
  const token = r.tokens[r.at++];
  if (token === undefined) throw new Unreadable("ends where a reference or a value was expected");
  if (token.startsWith("{{")) {
    const reference = parseReference(token.slice(2, -2));
    if (typeof reference === "string") throw new Unreadable(reference);
    return { reference };
  }
  if (Object.hasOwn(WORDS, token)) return { literal: WORDS[token] ?? null };
  try {
    return { literal: JSON.parse(token) as Json };
  } catch {
    throw new Unreadable(
      `expected {{reference}}, a "text", a number, true, false or null, got ${token}`,
    );
  }
}

function taken(r: Reading, word: string): boolean {
  if (r.tokens[r.at] !== word) return false;
  r.at++;
  return true;
}

export function referencesOf(condition: Condition): Reference[] {
  const of = (operand: Operand): Reference[] => ("reference" in operand ? [operand.reference] : []);
  switch (condition.kind) {
    case "value":
      return of(condition.operand);
    case "compare":
      return [...of(condition.left), ...of(condition.right)];
    case "not":
      return referencesOf(condition.inner);
    case "and":
    case "or":
      return [...referencesOf(condition.left), ...referencesOf(condition.right)];
  }
}

/** A reference that finds nothing counts as null. */
export function holds(condition: Condition, scope: Scope): boolean {
  const value = (operand: Operand): Json =>
    "literal" in operand ? operand.literal : (lookUp(operand.reference, scope) ?? null);
  switch (condition.kind) {
    case "value":
      return Boolean(value(condition.operand));
    case "compare":
      return compare(value(condition.left), condition.with, value(condition.right));
    case "not":
      return !holds(condition.inner, scope);
    case "and":
      return holds(condition.left, scope) && holds(condition.right, scope);
    case "or":
      return holds(condition.left, scope) || holds(condition.right, scope);
  }
}

/** Only numbers with numbers and texts with texts have an order; everything may be equal. */
function compare(left: Json, comparison: Comparison, right: Json): boolean {
  if (comparison === "==") return JSON.stringify(left) === JSON.stringify(right);
  if (comparison === "!=") return JSON.stringify(left) !== JSON.stringify(right);
  const ordered =
    (typeof left === "number" && typeof right === "number") ||
    (typeof left === "string" && typeof right === "string");
  if (!ordered) return false;
  if (comparison === "<") return left < right;
  if (comparison === "<=") return left <= right;
  return comparison === ">" ? left > right : left >= right;
}
