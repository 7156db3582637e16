import fc from "fast-check";
import { expect, test } from "vitest";
import { BlockPool, BodyBuffer } from "./body-buffer.ts";

const pieces = fc.array(
  fc
    .record({ size: fc.oneof(fc.nat(300), fc.nat(200_000)), byte: fc.nat(255) })
    .map(({ size, byte }) => Buffer.alloc(size, byte)),
  { maxLength: 8 },
);

test("bodies that come at the same time, in any pieces, are whole and apart", () => {
  fc.assert(
    fc.property(fc.array(pieces, { minLength: 1, maxLength: 4 }), (bodies) => {
      const blocks = new BlockPool();
      const gathered = bodies.map(() => new BodyBuffer(blocks));
      for (let turn = 0; turn < 8; turn++)
        for (const [i, body] of bodies.entries()) {
          const piece = body[turn];
          if (piece) gathered[i]?.add(piece);
        }
      for (const [i, body] of bodies.entries())
        expect(gathered[i]?.bytes.equals(Buffer.concat(body))).toBe(true);
      for (const one of gathered) one.release();
    }),
  );
});

test("what was handed out stays as it is when its memory is used again, and nothing is given back twice", () => {
  const blocks = new BlockPool();
  const large = (byte: number): BodyBuffer => {
    const body = new BodyBuffer(blocks);
    for (let i = 0; i < 20; i++) body.add(Buffer.alloc(10_000, byte));
    return body;
  };
  const first = large(1);
  const { bytes } = first;
  first.release();
  first.release();
  const [second, third] = [large(2), large(3)];
  expect([bytes, second.bytes, third.bytes].map((of) => new Set(of))).toEqual([
    new Set([1]),
    new Set([2]),
    new Set([3]),
  ]);
  expect(first.bytes).toHaveLength(0);
});
