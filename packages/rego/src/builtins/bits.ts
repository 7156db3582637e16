import { numberFromBigInt } from "../values/number.ts";
import { NUMBER } from "../types/type.ts";
import type { Builtin } from "./builtin.ts";
import { badOperand, bigInt, fail, fn } from "./operands.ts";

const binary = (name: string, op: (a: bigint, b: bigint) => bigint): Builtin =>
  fn(name, [NUMBER, NUMBER], NUMBER, (a) => numberFromBigInt(op(bigInt(a, 1), bigInt(a, 2))));

/** A larger shift would build a number that fills the memory. */
const MAX_SHIFT = 1_000_000n;

function checkShift(shift: bigint): void {
  if (shift < 0n) badOperand(2, "must be an unsigned integer number but got a negative integer");
}

export const BITS: readonly Builtin[] = [
  binary("bits.or", (a, b) => a | b),
  binary("bits.and", (a, b) => a & b),
  binary("bits.xor", (a, b) => a ^ b),
  binary("bits.lsh", (a, b) => {
    checkShift(b);
    return b > MAX_SHIFT ? fail(`shift by more than ${MAX_SHIFT.toString()} bits`) : a << b;
  }),
  binary("bits.rsh", (a, b) => {
    checkShift(b);
    return a >> b;
  }),
  fn("bits.negate", [NUMBER], NUMBER, (a) => numberFromBigInt(~bigInt(a, 1))),
];
