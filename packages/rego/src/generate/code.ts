// The shapes of compiled code: closures over a context and a frame of variables.
import type { Context } from "../evaluate/context.ts";
import type { Value } from "../values/value.ts";

/** Variables by slot. Which are set at any point is known when the code is made. */
export type Frame = (Value | undefined)[];

export type Get = (c: Context, f: Frame) => Value | undefined;
export type Test = (c: Context, f: Frame) => boolean;
/** Called for each solution; true means that no more are wanted. */
export type Next = () => boolean;
export type Each = (c: Context, f: Frame, next: Next) => boolean;

/** Either holds at most once (`test`) or as often as `each` calls back. */
export type Step =
  | { readonly test: Test; readonly each?: undefined }
  | { readonly each: Each; readonly test?: undefined };

/** Binds or compares the parts of a pattern against a value. */
export type Match = (c: Context, f: Frame, value: Value) => boolean;

/** The values of a term: at most one (`get`) or any number. */
export type Values =
  | { readonly get: Get; readonly each?: undefined }
  | { readonly each: EachValue; readonly get?: undefined };
export type Found = (value: Value) => boolean;
export type EachValue = (c: Context, f: Frame, found: Found) => boolean;

export const ALWAYS: Step = { test: () => true };

/** Steps one after the other; tests run in a loop, so long bodies do not nest calls. */
export function sequence(steps: readonly Step[]): Step {
  const [only] = steps;
  if (only && steps.length === 1) return only;
  const tests = steps.map((step) => step.test);
  if (tests.every((test) => test !== undefined)) return { test: allTests(tests) };
  const run = (c: Context, f: Frame, from: number, next: Next): boolean => {
    for (let i = from; i < steps.length; i++) {
      const step = steps[i] as Step;
      if (step.each) return step.each(c, f, () => run(c, f, i + 1, next));
      if (!step.test(c, f)) return false;
    }
    return next();
  };
  return { each: (c, f, next) => run(c, f, 0, next) };
}

function allTests(tests: readonly Test[]): Test {
  const [a, b] = tests;
  if (a && b && tests.length === 2) return (c, f) => a(c, f) && b(c, f);
  return (c, f) => {
    for (const test of tests) if (!test(c, f)) return false;
    return true;
  };
}

const STOP: Next = () => true;

/** Does it hold at all? */
export function exists(step: Step): Test {
  if (step.test) return step.test;
  const { each } = step;
  return (c, f) => each(c, f, STOP);
}

export function eachSolution(step: Step, c: Context, f: Frame, next: Next): boolean {
  if (step.each) return step.each(c, f, next);
  return step.test(c, f) && next();
}

export function eachOf(values: Values, c: Context, f: Frame, found: Found): boolean {
  if (values.each) return values.each(c, f, found);
  const value = values.get(c, f);
  return value !== undefined && found(value);
}
