// Answers with three values and their algebra, as in SpiceDB: a definite answer wins over one that depends on a caveat.
// A fault (a caveat that cannot be evaluated, data too deep) is a value too, so that a definite answer elsewhere wins
// over it.
import type { AppError } from "../../../contract/errors.ts";

export type CheckOutcome =
  | { readonly has: "yes" }
  | { readonly has: "no" }
  | { readonly has: "conditional"; readonly missing: readonly string[] }
  | { readonly has: "fault"; readonly error: AppError };

export const YES: CheckOutcome = Object.freeze({ has: "yes" });
export const NO: CheckOutcome = Object.freeze({ has: "no" });

function uncertain(a: CheckOutcome, b: CheckOutcome): CheckOutcome {
  if (a.has === "fault") return a;
  if (b.has === "fault") return b;
  if (a.has !== "conditional") return b;
  if (b.has !== "conditional") return a;
  return { has: "conditional", missing: [...new Set([...a.missing, ...b.missing])].sort() };
}

export function or(a: CheckOutcome, b: CheckOutcome): CheckOutcome {
  if (a === NO || b === YES) return b;
  if (b === NO || a === YES) return a;
  return uncertain(a, b);
}

export function and(a: CheckOutcome, b: CheckOutcome): CheckOutcome {
  if (a === YES || b === NO) return b;
  if (b === YES || a === NO) return a;
  return uncertain(a, b);
}

export function butNot(a: CheckOutcome, b: CheckOutcome): CheckOutcome {
  if (a === NO || b === YES) return NO;
  return b === NO ? a : uncertain(a, b);
}

export function sameOutcome(a: CheckOutcome, b: CheckOutcome): boolean {
  if (a.has !== b.has) return false;
  if (a.has === "conditional" && b.has === "conditional")
    return a.missing.length === b.missing.length;
  return true;
}
