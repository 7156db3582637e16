import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { call, callWith, testContext } from "../testing.ts";

describe("regex", () => {
  test("is RE2: no backreferences, no lookahead", () => {
    expect(call("regex.is_valid", "(a)\\1")).toBe("false");
    expect(call("regex.is_valid", "a(?=b)")).toBe("false");
    expect(call("regex.match", "^a+$", "aaa")).toBe("true");
    expect(call("regex.match", "(", "a")).toContain("error parsing regexp");
  });

  test("splits and finds as Go does", () => {
    expect(call("regex.split", "b+", "abbc")).toBe('["a", "c"]');
    expect(call("regex.split", "", "abc")).toBe('["a", "b", "c"]');
    expect(call("regex.find_n", "a*", "baac", -1)).toBe('["", "aa", ""]');
    expect(call("regex.find_n", "[a-z]", "abc", 2)).toBe('["a", "b"]');
    expect(call("regex.find_all_string_submatch_n", "(a)(x)?", "ab", -1)).toBe('[["a", "a", ""]]');
  });

  test("replaces with groups", () => {
    expect(call("regex.replace", "ab", "(a)(b)", "$2$1")).toBe('"ba"');
    expect(call("regex.replace", "ab", "(?P<x>a)", "<${x}>")).toBe('"<a>b"');
    expect(call("regex.replace", "ab", "a", "$$1$9")).toBe('"$1b"');
    expect(call("regex.replace", "foo", "^[a-z]", "F")).toBe('"Foo"');
  });

  test("templates match with a pattern between delimiters", () => {
    expect(call("regex.template_match", "urn:foo:{.*}", "urn:foo:bar", "{", "}")).toBe("true");
    expect(call("regex.template_match", "a{b", "ab", "{", "}")).toContain("unbalanced braces");
    expect(call("regex.template_match", "a", "a", "{{", "}")).toContain(
      "exactly one character long but is 2 long",
    );
  });

  test("no pattern can hold the event loop", () => {
    const started = performance.now();
    call("regex.match", "(a*)*b", "a".repeat(5_000));
    call("regex.match", "(x+x+)+y", "x".repeat(5_000));
    expect(performance.now() - started).toBeLessThan(5_000);
    expect(call("regex.match", "(a{1,500}){1,2}", "a".repeat(5_000_000))).toContain(
      "too large together",
    );
  });
});

describe("regex.globs_match", () => {
  test("finds whether two globs have a common text", () => {
    expect(call("regex.globs_match", "a.a.[0-9]+z", "aaaa[0-9]2z")).toBe("true");
    expect(call("regex.globs_match", "a+", "b+")).toBe("false");
    expect(call("regex.globs_match", "pqrs]", "a")).toBe(
      "failure: input:pqrs], pos:5, set-close ']' with no preceding '[': the input provided is invalid",
    );
  });

  test("long repetitive globs are decided quickly", () => {
    const glob = "a*b*".repeat(60);
    const ctx = testContext({}, 5_000_000);
    expect(callWith(ctx, "regex.globs_match", `${glob}c`, `${glob}d`)).toBe("false");
  });
});

describe("glob", () => {
  test.each([
    ["*.github.com", [], "api.github.com", true],
    ["*.github.com", [], "api.cdn.github.com", false],
    ["*hub.com", null, "api.cdn.github.com", true],
    ["**.github.com", [], "api.cdn.github.com", true],
    ["*:github:com", [":"], "api:github:com", true],
    ["?at", [], "cat", true],
    ["?at", [], "at", false],
    ["[abc]at", [], "bat", true],
    ["[!cb]at", [], "cat", false],
    ["[a-c]at", [], "dat", false],
    ["{cat,bat,[fr]at}", [], "rat", true],
    ["a{,b}c", [], "ac", true],
    ["\\*", [], "*", true],
    ["a?c", ["."], "a.c", false],
  ])("%s with %j matches %s: %s", (pattern, separators, text, expected) => {
    expect(call("glob.match", pattern, separators, text)).toBe(String(expected));
  });

  test("quoting makes a pattern match only itself", () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(..."ab*?[]{}!-\\,.é") }), (text) => {
        const quoted = JSON.parse(call("glob.quote_meta", text)) as string;
        expect(call("glob.match", quoted, [], text)).toBe("true");
      }),
    );
  });

  test("many stars are linear work", () => {
    const ctx = testContext({}, 2_000_000);
    expect(callWith(ctx, "glob.match", "a*".repeat(50) + "b", null, "a".repeat(2_000))).toBe(
      "false",
    );
  });

  test("bad patterns are errors", () => {
    expect(call("glob.match", "{a", [], "a")).toContain("unclosed `{`");
    expect(call("glob.match", "[a", [], "a")).toContain("unexpected end of input");
    expect(call("glob.match", "a", ["xy"], "a")).toContain("must be array of runes");
  });
});
