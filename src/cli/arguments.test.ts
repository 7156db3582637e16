import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { JsonObject } from "../contract/call.ts";
import { needsSchema, parseArgs, parsePairs } from "./arguments.ts";
import { parseDuration, parseMoment } from "./duration.ts";
import { CliError } from "./client/fail.ts";

const schema: JsonObject = {
  type: "object",
  properties: {
    text: { type: "string" },
    count: { type: "integer" },
    share: { type: "number" },
    on: { type: "boolean" },
    names: { type: "array", items: { type: "string" } },
    sizes: { type: "array", items: { type: "integer" } },
    deep: { type: "object" },
    either: { anyOf: [{ type: "integer" }, { type: "null" }] },
    words: { anyOf: [{ type: "array", items: { type: "integer" } }, { type: "boolean" }] },
    mode: { enum: ["a", 1] },
    fixed: { const: 3 },
  },
};

describe("pairs", () => {
  test("each value in the type the schema asks for", () => {
    const words = [
      "text=7",
      "count=7",
      "share=-1.5e2",
      "on=TRUE",
      "names=a, b",
      "sizes=1,2",
      'deep={"x":1}',
      "either=null",
      "words=1,2",
      "mode=1",
      "fixed=3",
    ];
    expect(parsePairs(words, schema)).toEqual({
      text: "7",
      count: 7,
      share: -150,
      on: true,
      names: ["a", "b"],
      sizes: [1, 2],
      deep: { x: 1 },
      either: null,
      words: [1, 2],
      mode: "1",
      fixed: 3,
    });
  });

  test("what does not fit stays text, for the gate to refuse in its own words", () => {
    expect(parsePairs(["count=many", "on=maybe", "unknown=1"], schema)).toEqual({
      count: "many",
      on: "maybe",
      unknown: "1",
    });
  });

  test("a list by JSON, an empty list, := for any JSON, = inside a value", () => {
    expect(parsePairs(['names=["a,b"]', "sizes=", "text:=[1]", "x=a=b:=c"], schema)).toEqual({
      names: ["a,b"],
      sizes: [],
      text: [1],
      x: "a=b:=c",
    });
  });

  test("words that are no pairs, names given twice and broken JSON are usage errors", () => {
    for (const words of [["oops"], ["=1"], ["a=1", "a=2"], ["a:={"]])
      expect(() => parsePairs(words, null)).toThrow(CliError);
  });

  test("the schema is asked for only when a value needs it", () => {
    expect(needsSchema([])).toBe(false);
    expect(needsSchema(["a:=1"])).toBe(false);
    expect(needsSchema(["a:=1", "b=2"])).toBe(true);
    expect(needsSchema(["a=b:=c"])).toBe(true);
  });

  test("any text survives as a text argument", () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        expect(parsePairs([`text=${text}`], schema)).toEqual({ text });
      }),
    );
  });
});

test("--args wants one JSON object", () => {
  expect(parseArgs('{"a":1}', () => "")).toEqual({ a: 1 });
  expect(parseArgs("-", () => '{"b":2}')).toEqual({ b: 2 });
  for (const text of ["[1]", "null", "{", "@/nonexistent/file"])
    expect(() => parseArgs(text, () => "")).toThrow(CliError);
});

test("durations and moments", () => {
  expect(parseDuration("1500")).toBe(1500);
  expect(parseDuration("30s")).toBe(30_000);
  expect(parseDuration("1.5m")).toBe(90_000);
  expect(parseDuration("2", "s")).toBe(2000);
  for (const text of ["", "soon", "5 weeks", "-1s"]) expect(() => parseDuration(text)).toThrow();
  expect(parseMoment("2026-01-31", -1)).toBe("2026-01-31");
  expect(parseMoment("1h", -1, 7_200_000)).toBe("1970-01-01T01:00:00.000Z");
  expect(parseMoment("1d", 1, 0)).toBe("1970-01-02T00:00:00.000Z");
});
