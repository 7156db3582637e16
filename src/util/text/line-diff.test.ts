import fc from "fast-check";
import { expect, test } from "vitest";
import { diffLines, hunks } from "./line-diff.ts";

const text = (lines: readonly string[]): string => lines.map((line) => `${line}\n`).join("");

test("what stays, goes and comes gives both texts back", () => {
  const lines = fc.array(fc.constantFrom("a", "b", "c", ""), { maxLength: 12 });
  fc.assert(
    fc.property(lines, lines, (before, after) => {
      const diff = diffLines(text(before), text(after));
      const side = (gone: string) =>
        diff.filter(({ sign }) => sign !== gone).map((line) => line.text);
      expect(side("+")).toEqual(before);
      expect(side("-")).toEqual(after);
    }),
  );
});

test("only the lines around a change are shown", () => {
  const before = Array.from({ length: 20 }, (_, i) => `line ${i + 1}`);
  const after = before.with(9, "changed");
  expect(hunks(diffLines(text(before), text(after)), 1)).toEqual([
    "@@ line 9 @@",
    " line 9",
    "-line 10",
    "+changed",
    " line 11",
  ]);
  expect(hunks(diffLines("same\n", "same"))).toEqual([]);
});

test("very long texts are replaced as a whole", () => {
  const many = (word: string) => text(Array.from({ length: 2_500 }, (_, i) => `${word} ${i}`));
  const diff = diffLines(`same\n${many("a")}`, `same\n${many("b")}`);
  expect(diff).toHaveLength(5_001);
});
