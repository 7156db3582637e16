import { compare, equal } from "./value.ts";
import type { Value } from "./value.ts";

/** Comparisons never fail and are everywhere, so calls to them skip the machinery of built-ins. */
export const COMPARISONS: Readonly<Record<string, (a: Value, b: Value) => boolean>> = {
  equal,
  neq: (a, b) => !equal(a, b),
  lt: (a, b) => compare(a, b) < 0,
  lte: (a, b) => compare(a, b) <= 0,
  gt: (a, b) => compare(a, b) > 0,
  gte: (a, b) => compare(a, b) >= 0,
};
