import fc from "fast-check";
import { expect, test } from "vitest";
import { linearPattern } from "./linear-pattern.ts";

test.each([
  ["^a+$", "aaa", "b"],
  ["\\d{2}", "x12", "x1"],
  ["^\\s$", "\u00a0", "x"],
  ["^\\S+$", "abc", "a\u2003b"],
  ["[\\s]x", "\u3000x", "x"],
  ["^\\p{Letter}+$", "Größe", "1"],
  ["^\\p{Script=Greek}+$", "αβγ", "abc"],
  ["\\u0041", "A", "B"],
  ["^(?!\\.)(?!.*\\.\\.)[a-z.]+$", "a.b", "a..b"],
  ["^(?=.*[A-Z])(?=.*\\d).{4,}$", "Abc1", "abc1"],
  ["^(?!a|b)c?.$", "cx", "a"],
])("%s fits %j and not %j, as ECMAScript has it", (pattern, fits, not) => {
  const linear = linearPattern(pattern);
  expect([linear.test(fits), linear.test(not)]).toEqual([true, false]);
  expect([new RegExp(pattern, "u").test(fits), new RegExp(pattern, "u").test(not)]).toEqual([
    true,
    false,
  ]);
});

test.each([
  "(a)\\1",
  "(?<=a)b",
  "a(?=b)",
  "^(?!a)b|c",
  "^(?!a)*b",
  "(",
  "[",
  "a{2000}",
  "((a{100}){100}){100}",
  "x".repeat(2_001),
])("%s is refused with a reason", (pattern) => {
  expect(() => linearPattern(pattern)).toThrow(/./);
});

test("T15: patterns that take for ever elsewhere end", () => {
  const text = `${"a".repeat(20_000)}!`;
  for (const pattern of ["^(a+)+$", "^(a|a)*$", "^(a|aa)+$", "(.*a){12}$"])
    expect([pattern, linearPattern(pattern).test(text)]).toEqual([pattern, false]);
});

test("conditions at the beginning mean what they mean in ECMAScript", () => {
  const word = fc
    .array(fc.constantFrom("a", "b", "."), { maxLength: 8 })
    .map((letters) => letters.join(""));
  const condition = fc.constantFrom("(?!\\.)", "(?!.*\\.\\.)", "(?=.*a)", "(?!b)", "(?=a|b)");
  fc.assert(
    fc.property(fc.array(condition, { minLength: 1, maxLength: 3 }), word, (conditions, text) => {
      const pattern = `^${conditions.join("")}[ab.]*$`;
      expect(linearPattern(pattern).test(text)).toBe(new RegExp(pattern, "u").test(text));
    }),
  );
});
