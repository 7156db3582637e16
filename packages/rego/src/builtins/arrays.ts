import { isArray } from "../values/value.ts";
import { ANY, NUMBER, arrayOf } from "../types/type.ts";
import type { Builtin } from "./builtin.ts";
import { array, fn, int } from "./operands.ts";

const ARRAY = arrayOf(ANY);

export const ARRAYS: readonly Builtin[] = [
  fn("array.concat", [ARRAY, ARRAY], ARRAY, (a, ctx) => {
    const whole = [...array(a, 1), ...array(a, 2)];
    ctx.tick(whole.length);
    return whole;
  }),
  fn("array.flatten", [ARRAY], ARRAY, (a, ctx) => {
    const flat = array(a, 1).flatMap((item) => (isArray(item) ? item : [item]));
    ctx.tick(flat.length);
    return flat;
  }),
  fn("array.slice", [ARRAY, NUMBER, NUMBER], ARRAY, (a) => {
    const items = array(a, 1);
    const start = int(a, 2);
    const stop = Math.min(Math.max(int(a, 3), 0), items.length);
    return items.slice(Math.min(Math.max(start, 0), stop), stop);
  }),
  fn("array.reverse", [ARRAY], ARRAY, (a) => array(a, 1).toReversed()),
];
