import { expect, test } from "vitest";
import fc from "fast-check";
import { globMatcher, globMatcherOf } from "./glob.ts";

const CASES: [pattern: string, yes: string[], no: string[]][] = [
  ["*.ts", ["a.ts", "src/b.ts", ".ts"], ["a.tsx", "ts"]],
  ["./src/*.ts", ["src/a.ts"], ["a.ts", "src/x/a.ts"]],
  ["src/**/*.ts", ["src/a.ts", "src/x/a.ts", "src/x/y/a.ts"], ["xsrc/a.ts", "src/a.js"]],
  ["**/b.ts", ["b.ts", "a/b.ts", "a/c/b.ts"], ["ab.ts", "a/ab.ts"]],
  ["src/**", ["src/a", "src/a/b"], ["lib/a"]],
  ["*.{ts,tsx}", ["a.ts", "a.tsx"], ["a.js", "a.{ts,tsx}"]],
  ["{a,b{c,d}}", ["a", "bc", "bd"], ["b", "c"]],
  ["a?c", ["abc", "a\u{1f600}c"], ["ac", "abbc"]],
  ["[a-c]x", ["ax", "cx"], ["dx", "x"]],
  ["[!a-c]x", ["dx"], ["ax"]],
  ["[ab", ["[ab"], ["a"]],
  ["a\\*", ["a*"], ["ab"]],
  ["{a", ["{a"], ["a"]],
  ["*", ["a", "x/y"], []],
  ["*/a", ["x/a"], ["a", "x/y/a"]],
];

test.each(CASES)("%s", (pattern, yes, no) => {
  const fits = globMatcher(pattern);
  for (const path of yes) expect([path, fits(path)]).toEqual([path, true]);
  for (const path of no) expect([path, fits(path)]).toEqual([path, false]);
});

test("short and long texts are matched alike", () => {
  const piece = fc.constantFrom(
    "a",
    "b",
    "/",
    "*",
    "**",
    "**/",
    "?",
    "[ab]",
    "[!a]",
    "{a,b/}",
    "é",
  );
  const pattern = fc.array(piece, { minLength: 1, maxLength: 8 }).map((all) => all.join(""));
  const path = fc
    .array(fc.constantFrom("a", "b", "/", "é"), { maxLength: 10 })
    .map((all) => all.join(""));
  fc.assert(
    fc.property(pattern, path, (glob, text) => {
      expect(globMatcherOf(glob, 0)(text)).toBe(globMatcherOf(glob, Infinity)(text));
    }),
    { numRuns: 5_000 },
  );
});

test("no pattern takes long", () => {
  const before = performance.now();
  const hostile = [
    "*a".repeat(500),
    "**/".repeat(300) + "b",
    "{a,b}".repeat(200),
    "{".repeat(1_000),
  ];
  for (const pattern of hostile) {
    const fits = globMatcher(pattern);
    for (let count = 0; count < 5; count++) expect(fits("a".repeat(250))).toBe(false);
  }
  expect(performance.now() - before).toBeLessThan(2_000);
});
