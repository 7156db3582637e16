import fc from "fast-check";
import { expect, test } from "vitest";
import { editDistance, nearest } from "./nearest.ts";

test("the nearest word, or none when nothing is close", () => {
  expect(nearest("prot", ["port", "host"])).toBe("port");
  expect(nearest("HOST", ["port", "host"])).toBe("host");
  expect(nearest("zzzzzz", ["port", "host"])).toBeNull();
  expect(nearest("x", [])).toBeNull();
});

test("distance is symmetric, zero only for equal words, and never beyond the longer word", () => {
  const word = fc.string({ maxLength: 8 });
  fc.assert(
    fc.property(word, word, (a, b) => {
      const distance = editDistance(a, b);
      expect(distance).toBe(editDistance(b, a));
      expect(distance === 0).toBe(a === b);
      expect(distance).toBeLessThanOrEqual(Math.max(a.length, b.length));
    }),
  );
});
