// Questions about terms that several passes ask.
import { keyText } from "../values/json.ts";
import { RegoObject, RegoSet } from "../values/value.ts";
import type { RefTerm, Term } from "./ast.ts";
import type { Value } from "../values/value.ts";

/** Without variables, lookups or calls: the same value everywhere. */
export function isGround(term: Term): boolean {
  return constantOf(term) !== undefined;
}

/** The value of a term that needs no evaluation. */
export function constantOf(term: Term): Value | undefined {
  switch (term.kind) {
    case "scalar":
      return term.value;
    case "array":
    case "set": {
      const items = constants(term.items);
      return items && (term.kind === "array" ? items : RegoSet.of(items));
    }
    case "object": {
      const keys = constants(term.entries.map(([key]) => key));
      const values = constants(term.entries.map(([, value]) => value));
      if (!keys || !values) return undefined;
      return RegoObject.of(keys.map((key, i) => [key, values[i] as Value] as const));
    }
    default:
      return undefined;
  }
}

function constants(terms: readonly Term[]): Value[] | undefined {
  const values: Value[] = [];
  for (const term of terms) {
    const value = constantOf(term);
    if (value === undefined) return undefined;
    values.push(value);
  }
  return values;
}

export function isWildcard(name: string): boolean {
  return name.startsWith("$");
}

/** The dotted name of a called function: `count`, `io.jwt.decode`, `data.pkg.f`. */
export function operatorName(op: RefTerm): string {
  return op.terms
    .map((term) =>
      term.kind === "var" ? term.name : term.kind === "scalar" ? keyText(term.value) : "?",
    )
    .join(".");
}

/** The segments of a reference made of names only, such as `data.a.b`. */
export function stringPath(terms: readonly Term[]): string[] | undefined {
  const path: string[] = [];
  for (const term of terms) {
    if (term.kind !== "scalar" || typeof term.value !== "string") return undefined;
    path.push(term.value);
  }
  return path;
}
