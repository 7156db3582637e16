import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { call, callWith, num, set, testContext } from "./testing.ts";

describe("searching", () => {
  test("positions count code points", () => {
    expect(call("indexof", "a😀b", "b")).toBe("2");
    expect(call("indexof", "abc", "x")).toBe("-1");
    expect(call("indexof_n", "😀a😀a", "a")).toBe("[1, 3]");
    expect(call("indexof", "abc", "")).toBe("failure: empty search character");
    expect(call("substring", "a😀bc", 1, 2)).toBe('"😀b"');
    expect(call("substring", "abc", 1, -1)).toBe('"bc"');
    expect(call("substring", "abc", -1, 1)).toBe("failure: negative offset");
  });

  test("any match of many against many", () => {
    expect(call("strings.any_prefix_match", ["ab", "cd"], set("c"))).toBe("true");
    expect(call("strings.any_suffix_match", "ab", ["x", "b"])).toBe("true");
    expect(call("strings.any_suffix_match", "ab", 1)).toBe(
      "operand: operand 2 must be one of {string, set, array} but got number",
    );
    expect(call("strings.any_suffix_match", ["a", 1], "b")).toBe(
      "operand: operand 1 must be array of strings but got array containing number",
    );
  });
});

describe("cutting and joining", () => {
  test("split by nothing gives characters", () => {
    expect(call("split", "a😀", "")).toBe('["a", "😀"]');
    expect(call("split", "a,b", ",")).toBe('["a", "b"]');
    expect(call("strings.split_n", "a,b,c", ",", 2)).toBe('["a", "b"]');
    expect(call("strings.split_n", "a,b,c", ",", -2)).toBe('["b", "c"]');
  });

  test("trim takes a set of characters, trim_prefix a text", () => {
    expect(call("trim", "xxaxx", "x")).toBe('"a"');
    expect(call("trim_left", "abca", "ab")).toBe('"ca"');
    expect(call("trim_prefix", "abca", "ab")).toBe('"ca"');
    expect(call("trim_suffix", "abca", "x")).toBe('"abca"');
    expect(call("trim_space", "\u0085 a \u3000")).toBe('"a"');
  });

  test("concat wants strings", () => {
    expect(call("concat", "-", ["a", "b"])).toBe('"a-b"');
    expect(call("concat", "-", set("b", "a"))).toBe('"a-b"');
    expect(call("concat", "-", ["a", 1])).toBe(
      "operand: operand 2 must be array of strings but got array containing number",
    );
  });

  test("reversing twice gives the text back", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme" }), (text) => {
        const once = JSON.parse(call("strings.reverse", text)) as string;
        expect(JSON.parse(call("strings.reverse", once))).toBe(text);
      }),
    );
  });
});

describe("replacing", () => {
  test("an empty pattern matches between characters", () => {
    expect(call("replace", "ab", "", "-")).toBe('"-a-b-"');
    expect(call("replace", "aaa", "aa", "b")).toBe('"ba"');
  });

  test("replace_n takes the first pattern in order at each place", () => {
    expect(call("strings.replace_n", { a: "1", ab: "2" }, "abab")).toBe('"1b1b"');
    expect(call("strings.replace_n", { a: 1 }, "a")).toBe(
      "operand: operand 1 non-string value found in pattern object",
    );
  });

  test("a result that would fill the memory is refused", () => {
    const ctx = testContext();
    const long = "a".repeat(100_000);
    expect(callWith(ctx, "replace", long, "a", long)).toContain("longer than");
  });
});

describe("case", () => {
  test("maps code point by code point", () => {
    expect(call("upper", "straße")).toBe('"STRAßE"');
    expect(call("lower", "ÀÉ")).toBe('"àé"');
    expect(call("upper", "\u1fb3")).toBe('"\u1fbc"');
  });
});

describe("sprintf", () => {
  test.each([
    ["%d %s %v", [1, "a", [1, "x"]], '1 a [1, "x"]'],
    ["%5.2f|%-5d|%05d", [3.14159, 42, 42], " 3.14|42   |00042"],
    ["%x %X %o %b %c %U", [255, 255, 8, 5, 65, 8364], "ff FF 10 101 A U+20AC"],
    ["%q %t", ["hi", true], '"hi" %!t(string=true)'],
    ["%s", [1], "%!s(int64=1)"],
    ["%d", [1.5], "%!d(float64=1.5)"],
    ["%d %d", [1], "1 %!d(MISSING)"],
    ["%d", [1, 2], "1%!(EXTRA int64=2)"],
    ["%[2]d %[1]d", [1, 2], "2 1"],
    ["%v %v", [100, 123456789.5], "100 1.234567895e+08"],
    ["100%%", [], "100%"],
  ])("%s", (format, args, expected) => {
    expect(JSON.parse(call("sprintf", format, args))).toBe(expected);
  });

  test("large integers keep their digits", () => {
    expect(call("sprintf", "%d", [num("123456789012345678901234567890")])).toBe(
      '"123456789012345678901234567890"',
    );
  });

  test("never throws, whatever the format", () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(..."%dsvxqfeg+-# 0123.*[]") }), (format) => {
        expect(() => call("sprintf", format, [1, "a", 2.5])).not.toThrow();
      }),
    );
  });
});

describe("templates", () => {
  test("render values, loops and conditions", () => {
    const source = "{{range $i, $n := .names}}{{if $i}},{{end}}hello {{$n}}{{end}}";
    expect(call("strings.render_template", source, { names: ["a", "b"] })).toBe(
      '"hello a,hello b"',
    );
    expect(call("strings.render_template", "{{.missing}}", {})).toBe('"<undefined>"');
    expect(call("strings.render_template", '{{printf "%q" .a | print}}', { a: "x" })).toBe(
      '"\\"x\\""',
    );
  });

  test("bad templates are errors", () => {
    expect(call("strings.render_template", "{{if .a}}", {})).toContain("unexpected EOF");
    expect(call("strings.render_template", "{{nope}}", {})).toContain(
      'function "nope" not defined',
    );
  });

  test("a template that calls itself ends", () => {
    expect(
      call("strings.render_template", '{{define "T"}}{{template "T"}}{{end}}{{template "T"}}', {}),
    ).toContain("maximum template depth");
  });
});
