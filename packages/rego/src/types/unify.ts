// Unification of terms with types: what fits is checked, what is unknown is inferred.
import { NIL, hasNil, withoutNil, isAny, itemAt, or, select, unifies } from "./operations.ts";
import { typeOf } from "./environment.ts";
import { ANY } from "./type.ts";
import type { Term } from "../syntax/ast.ts";
import type { Type } from "./type.ts";
import type { TypeEnv } from "./environment.ts";

/** bind: a known variable must fit. widen: one of several possibilities. keep: only fill in what is unknown. */
type Mode = "bind" | "widen" | "keep";

export function unifyTerms(env: TypeEnv, a: Term, b: Term): boolean {
  const typeA = typeOf(env, a);
  const typeB = typeOf(env, b);
  // OPA finds no common type for two empty set literals; a policy it refuses is refused here too.
  if (isEmptySet(a) && isEmptySet(b)) return false;
  const nilA = hasNil(typeA);
  const nilB = hasNil(typeB);
  if (nilA && !nilB) return unifyTerm(env, a, typeB, "bind");
  if (nilB && !nilA) return unifyTerm(env, b, typeA, "bind");
  if (!nilA && !nilB) return unifies(typeA, typeB);
  if (a.kind === "array" && b.kind === "array") {
    return (
      a.items.length === b.items.length &&
      a.items.every((item, i) => unifyTerms(env, item, b.items[i] as Term))
    );
  }
  if (a.kind === "object" && b.kind === "object") return unifyObjects(env, a, b);
  // A lookup without a type finds nothing.
  if ((a.kind === "ref" && typeA === NIL) || (b.kind === "ref" && typeB === NIL)) return false;
  // Both sides contain something unknown: the result is unknown, too.
  unifyTerm(env, a, ANY, "keep");
  unifyTerm(env, b, ANY, "keep");
  return true;
}

function isEmptySet(term: Term): boolean {
  return term.kind === "set" && term.items.length === 0;
}

type ObjectTerm = Term & { kind: "object" };

function unifyObjects(env: TypeEnv, a: ObjectTerm, b: ObjectTerm): boolean {
  if (a.entries.length !== b.entries.length) return false;
  return a.entries.every(([key, value]) => {
    if (key.kind !== "scalar") return true;
    const other = b.entries.find(([name]) => name.kind === "scalar" && name.value === key.value);
    if (other) return unifyTerms(env, value, other[1]);
    return b.entries.some(([name]) => name.kind !== "scalar");
  });
}

export function unifyTerm(env: TypeEnv, term: Term, type: Type, mode: Mode): boolean {
  switch (term.kind) {
    case "var":
      return unifyVar(env, term.name, type, mode);
    case "array":
    case "object":
    case "set":
      return unifyComposite(env, term, type, mode);
    case "scalar":
      return mode === "keep" || unifies(typeOf(env, term), type);
    default: {
      const own = typeOf(env, term);
      return mode === "keep" || unifies(withoutNil(own), type);
    }
  }
}

function unifyVar(env: TypeEnv, name: string, type: Type, mode: Mode): boolean {
  const known = env.getVar(name);
  if (known === NIL) env.putVar(name, type);
  else if (mode === "widen") env.putVar(name, or(known, type));
  else if (mode === "bind") return unifies(known, type);
  return true;
}

type Composite = Term & { kind: "array" | "object" | "set" };

function unifyComposite(env: TypeEnv, term: Composite, type: Type, mode: Mode): boolean {
  if (isAny(type)) {
    for (const part of partsOf(term)) unifyTerm(env, part, ANY, mode === "keep" ? "keep" : "widen");
    return true;
  }
  if (type.kind === "any") {
    let fits = false;
    for (const option of type.of) if (unifyTerm(env, term, option, "widen")) fits = true;
    return fits;
  }
  if (term.kind === "array" && type.kind === "array") {
    if (term.items.length !== type.items.length && !type.rest) return false;
    return term.items.every((item, i) => unifyTerm(env, item, itemAt(type, i), mode));
  }
  if (term.kind === "set" && type.kind === "set") {
    return term.items.every((item) => unifyTerm(env, item, type.of, mode));
  }
  return term.kind === "object" && type.kind === "object" && unifyEntries(env, term, type, mode);
}

function unifyEntries(
  env: TypeEnv,
  term: ObjectTerm,
  type: Type & { kind: "object" },
  mode: Mode,
): boolean {
  if (term.entries.length !== type.props.size && !type.value) return false;
  return term.entries.every(([key, value]) => {
    if (key.kind !== "scalar") {
      unifyTerm(env, value, ANY, mode);
      return true;
    }
    const child = select(type, key.value);
    return child !== NIL && unifyTerm(env, value, child, mode);
  });
}

function partsOf(term: Composite): readonly Term[] {
  return term.kind === "object" ? term.entries.flat() : term.items;
}
