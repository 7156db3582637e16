import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { call, callValue, num, set } from "./testing.ts";

describe("base64, hex and URLs", () => {
  test("bytes that are no text survive decoding and encoding", () => {
    expect(call("hex.encode", callValue("base64.decode", ["/+8A"]))).toBe('"ffef00"');
    fc.assert(
      fc.property(fc.uint8Array(), (bytes) => {
        const hex = Buffer.from(bytes).toString("hex");
        const text = callValue("hex.decode", [hex]);
        expect(call("hex.encode", text)).toBe(JSON.stringify(hex));
        expect(call("base64.encode", text)).toBe(
          JSON.stringify(Buffer.from(bytes).toString("base64")),
        );
      }),
    );
  });

  test("errors name the place", () => {
    expect(call("base64.decode", "YQ=")).toBe("failure: illegal base64 data at input byte 3");
    expect(call("base64.is_valid", "YQ=")).toBe("false");
    expect(call("base64url.decode", "YQ")).toBe('"a"');
    expect(call("hex.decode", "fg")).toBe("failure: encoding/hex: invalid byte: U+0067 'g'");
    expect(call("hex.decode", "abc")).toBe("failure: encoding/hex: odd length hex string");
  });

  test("query strings", () => {
    expect(call("urlquery.encode", "a b&ü")).toBe('"a+b%26%C3%BC"');
    expect(call("urlquery.decode", "a+b%zz")).toContain('invalid URL escape "%zz"');
    expect(call("urlquery.encode_object", { b: ["2", "1"], a: "x y" })).toBe('"a=x+y&b=2&b=1"');
    expect(call("urlquery.encode_object", { a: 1 })).toContain(
      "values must be string, array[string], or set[string]",
    );
    expect(call("urlquery.decode_object", "a=1&a=2&b")).toBe('{"a": ["1", "2"], "b": [""]}');
  });

  test("uri.parse splits and refuses as Go does", () => {
    expect(call("uri.parse", "https://u:p@h.example:8080/a%2Fb?q=1#f")).toBe(
      '{"fragment": "f", "hostname": "h.example", "path": "/a/b", "port": "8080", "raw_path": "/a%2Fb", "raw_query": "q=1", "scheme": "https"}',
    );
    expect(call("uri.parse", "http://exa%6dple.com/")).toContain('invalid URL escape "%6d"');
    expect(call("uri.parse", "http://h:a/")).toContain('invalid port ":a" after host');
    expect(call("uri.is_valid", "")).toBe("false");
  });
});

describe("json", () => {
  test("marshal sorts keys, escapes HTML and keeps numbers as written", () => {
    expect(callValue("json.marshal", [{ b: num("1.10"), a: "<&>" }])).toBe(
      '{"a":"\\u003c\\u0026\\u003e","b":1.10}',
    );
    expect(callValue("json.marshal", [set(2, 1)])).toBe("[1,2]");
  });

  test("unmarshal is strict and exact", () => {
    expect(call("json.unmarshal", '{"a":12345678901234567890.5}')).toBe(
      '{"a": 12345678901234567890.5}',
    );
    expect(call("json.unmarshal", "[1,]")).toBe(
      "failure: invalid character ']' looking for beginning of value",
    );
    expect(call("json.unmarshal", "01")).toBe(
      "failure: invalid character '1' after top-level value",
    );
    expect(call("json.unmarshal", '"\\ud800"')).toBe('"\ufffd"');
    expect(call("json.is_valid", "{}")).toBe("true");
    expect(call("json.is_valid", "{")).toBe("false");
  });

  test("pretty printing with options", () => {
    expect(callValue("json.marshal_with_options", [{ a: [1] }, { indent: "  " }])).toBe(
      '{\n  "a": [\n    1\n  ]\n}',
    );
    expect(callValue("json.marshal_with_options", [[], { prefix: ">" }])).toBe(">[]");
    expect(call("json.marshal_with_options", {}, { nope: 1 })).toContain(
      'object contained unknown key "nope"',
    );
  });

  test("text of any JSON value reads back as the same value", () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 3 }), (value) => {
        const marshalled = callValue("json.marshal", [value]);
        expect(call("json.unmarshal", marshalled)).toBe(
          call("json.unmarshal", JSON.stringify(value)),
        );
      }),
    );
  });

  test("deep nesting is an error, not a crash", () => {
    expect(call("json.unmarshal", "[".repeat(100_000))).toContain("exceeded max depth");
  });
});

describe("yaml", () => {
  test("only true and false are booleans, old words are quoted when written", () => {
    expect(call("yaml.unmarshal", "a: yes\nb: true")).toBe('{"a": "yes", "b": true}');
    expect(callValue("yaml.marshal", [{ a: "yes", b: ["x: y", null] }])).toBe(
      "a: \"yes\"\nb:\n  - 'x: y'\n  - null\n",
    );
  });

  test("anchors, merges and numbers", () => {
    expect(call("yaml.unmarshal", "b: &b {p: 1}\nd:\n  <<: *b\n  q: 0x10")).toBe(
      '{"b": {"p": 1}, "d": {"p": 1, "q": 16}}',
    );
    expect(call("yaml.is_valid", "a: [1")).toBe("false");
    expect(call("yaml.unmarshal", "[1,2,3")).toContain("yaml: line 1: did not find");
  });

  test("a bomb of aliases is refused", () => {
    const lines = ["a0: &a0 [x,x,x,x,x,x,x,x,x,x]"];
    for (let i = 1; i < 9; i++) lines.push(`a${i}: &a${i} [${`*a${i - 1},`.repeat(10)}]`);
    expect(call("yaml.unmarshal", lines.join("\n"))).toContain("failure");
  });

  test("what is written reads back", () => {
    fc.assert(
      fc.property(
        fc.jsonValue({ maxDepth: 2, stringUnit: fc.constantFrom(..."ab1:-# '\"\n{[&*!|>%@`~é") }),
        (value) => {
          const written = callValue("yaml.marshal", [value]);
          expect(call("yaml.unmarshal", written)).toBe(
            call("json.unmarshal", JSON.stringify(value)),
          );
        },
      ),
      { numRuns: 300 },
    );
  });
});

describe("json patch, filter and remove", () => {
  test("patch adds, removes, replaces, moves, copies and tests", () => {
    const patch = (doc: unknown, ...ops: unknown[]): string => call("json.patch", doc, ops);
    expect(patch({ a: [1, 2] }, { op: "add", path: "/a/1", value: 9 })).toBe('{"a": [1, 9, 2]}');
    expect(patch({ a: [1] }, { op: "add", path: "a/-", value: null })).toBe('{"a": [1, null]}');
    expect(patch({ a: 1, b: 2 }, { op: "remove", path: "/a" })).toBe('{"b": 2}');
    expect(patch({ a: 1 }, { op: "replace", path: ["a"], value: null })).toBe('{"a": null}');
    expect(patch({ a: 1 }, { op: "move", from: "a", path: "b" })).toBe('{"b": 1}');
    expect(patch({ a: { b: 1 } }, { op: "copy", from: "a", path: "c" })).toBe(
      '{"a": {"b": 1}, "c": {"b": 1}}',
    );
    expect(patch({ a: 1 }, { op: "test", path: "a", value: 2 })).toContain("patch value");
    expect(patch({ a: [1] }, { op: "remove", path: "a/01" })).toContain("leading zeros");
    expect(patch({}, { op: "replace", path: "a", value: 1 })).toContain("does not exist");
    expect(patch({}, { op: "x", path: "a" })).toContain("unrecognized op: 'x'");
    expect(patch({ s: set(1) }, { op: "add", path: ["s", 2], value: 2 })).toBe('{"s": {1, 2}}');
  });

  test("filter keeps and remove drops what the paths name", () => {
    const doc = { a: { b: [1, 2], c: 3 }, d: 4 };
    expect(call("json.filter", doc, ["a/b/0", "d"])).toBe('{"a": {"b": [1]}, "d": 4}');
    expect(call("json.remove", doc, [["a", "b", "0"], "d"])).toBe('{"a": {"b": [2], "c": 3}}');
    expect(call("json.remove", doc, [1])).toBe(
      "operand: operand 2 must be one of {set, array} containing string paths or array of path segments but got number",
    );
  });
});

describe("json schema", () => {
  test("reports each violation with its field", () => {
    const schema = { properties: { id: { type: "integer" } }, required: ["id", "n"] };
    expect(call("json.match_schema", { id: 5, n: 1 }, schema)).toBe("[true, []]");
    expect(call("json.match_schema", '{"id": "x"}', schema)).toBe(
      '[false, [{"desc": "n is required", "error": "(Root): n is required", "field": "(Root)", "type": "required"}, {"desc": "Invalid type. Expected: integer, given: string", "error": "id: Invalid type. Expected: integer, given: string", "field": "id", "type": "invalid_type"}]]',
    );
  });

  test("recursive schemas work, remote ones are refused", () => {
    const tree = { properties: { t: { $ref: "#" } }, required: ["v"] };
    expect(call("json.match_schema", { v: 1, t: { v: 2 } }, tree)).toBe("[true, []]");
    expect(call("json.verify_schema", { $ref: "http://example.com/x" })).toContain("disabled");
    expect(call("json.verify_schema", { type: "nope" })).toContain("NOT VALID -- given: /nope/");
    expect(call("json.verify_schema", {})).toBe("[true, null]");
  });
});

describe("units", () => {
  test.each([
    ["10K", "10000"],
    ["10Ki", "10240"],
    ["100m", "0.1000000000"],
    ["1.5M", "1500000"],
    ["1e3k", "1000000"],
  ])("units.parse of %s", (text, expected) => {
    expect(Number(call("units.parse", text))).toBe(Number(expected));
  });

  test("bytes, and errors", () => {
    expect(call("units.parse_bytes", "10MiB")).toBe("10485760");
    expect(call("units.parse_bytes", "1.5kb")).toBe("1500");
    expect(call("units.parse", "10 K")).toContain("spaces not allowed");
    expect(call("units.parse", "K")).toContain("no amount provided");
    expect(call("units.parse", "1e9999999k")).toContain("exponent too large");
    expect(call("units.parse_bytes", "1xb")).toContain("byte unit xb not recognized");
  });
});

describe("semver and uuid", () => {
  test("versions compare as the specification says", () => {
    const order = [
      "1.0.0-alpha",
      "1.0.0-alpha.1",
      "1.0.0-alpha.beta",
      "1.0.0-beta.2",
      "1.0.0-beta.11",
      "1.0.0",
    ];
    order.slice(1).forEach((version, i) => {
      expect(call("semver.compare", order[i], version)).toBe("-1");
    });
    expect(call("semver.compare", "1", "1.0.0")).toBe(
      'failure: operand 1: string "1" is not a valid SemVer',
    );
    expect(call("semver.is_valid", "01.0.0")).toBe("false");
    expect(call("semver.is_valid", 1)).toBe("false");
  });

  test("uuids are read in all their forms", () => {
    expect(call("uuid.parse", "urn:uuid:f47ac10b-58cc-4372-a567-0e02b2c3d479")).toBe(
      '{"variant": "RFC4122", "version": 4}',
    );
    expect(call("uuid.parse", "nope")).toBe("undefined");
  });
});
