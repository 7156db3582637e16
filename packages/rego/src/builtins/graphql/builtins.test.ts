import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { call } from "../testing.ts";

const SCHEMA = `
  type Query { hero(id: Int, kind: Kind): Hero plain: String! }
  type Hero { name: String friends: [Hero] }
  enum Kind { A B }
`;

describe("graphql.parse_query", () => {
  test("gives the syntax tree", () => {
    expect(call("graphql.parse_query", "{hero {name}}")).toBe(
      '{"Operations": [{"Name": "", "Operation": "query", "SelectionSet": [{"Alias": "hero", "Name": "hero", "SelectionSet": [{"Alias": "name", "Name": "name"}]}]}]}',
    );
  });

  test.each([
    ["{", "Expected Name, found <EOF> in GraphQL string at location 1:2"],
    ["...", "Unexpected ... in GraphQL string at location 1:1"],
    ["{ a(x: 01) }", "Unexpected <Invalid> in GraphQL string at location 1:9"],
    [
      "notanoperation Foo { field }",
      'Unexpected Name "notanoperation" in GraphQL string at location 1:1',
    ],
  ])("%s is an error", (source, message) => {
    expect(call("graphql.parse_query", source)).toContain(message);
  });

  test("deep nesting and any text at all end in a value or an error", () => {
    expect(call("graphql.parse_query", "{a".repeat(20_000))).toContain("nested too deeply");
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(..."{}()[]a1:$@!.\"'# \n|=") }), (text) => {
        expect(() => call("graphql.parse_query", text)).not.toThrow();
        expect(() => call("graphql.schema_is_valid", text)).not.toThrow();
      }),
    );
  });
});

describe("graphql.is_valid", () => {
  test.each([
    ["{ plain }", true],
    ["{ hero(id: 1, kind: A) { name } }", true],
    ["{ hero }", false],
    ["{ hero { nope } }", false],
    ["{ hero(kind: C) { name } }", false],
    ['{ hero(id: "x") { name } }', false],
    ["query($v: Int) { hero(id: $v) { name } }", true],
    ["query($v: Int) { plain }", false],
    ["query($v: String) { hero(id: $v) { name } }", false],
    ["{ x: plain x: hero { name } }", false],
    ["fragment F on Hero { friends { ...F } } { hero { ...F } }", false],
    ["{ plain @skip(if: true) }", true],
    ["{ plain @nope }", false],
  ])("%s: %s", (query, expected) => {
    expect(call("graphql.is_valid", query, SCHEMA)).toBe(String(expected));
  });

  test("a missing argument is named with its place", () => {
    const schema = "type Query { f(a: Int!): Int }";
    expect(call("graphql.parse", "{\n  f\n}", schema)).toBe(
      'failure: Field "f" argument "a" of type "Int!" is required, but it was not provided in GraphQL string at location 2:3',
    );
  });
});

describe("graphql.schema_is_valid", () => {
  test.each([
    ["type Q { a: Int }", true],
    ["type Q { a: Nope }", false],
    ["type Q implements I { a: Int } interface I { b: Int }", false],
    ["input A { b: B! } input B { a: A! }", false],
    ["enum E { true }", false],
    ["type Q { a: Int } type Q { b: Int }", false],
  ])("%s: %s", (schema, expected) => {
    expect(call("graphql.schema_is_valid", schema)).toBe(String(expected));
  });
});
