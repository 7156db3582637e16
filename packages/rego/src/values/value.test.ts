import { describe, expect, test } from "vitest";
import { fromJson, toJson, toJsonText } from "./json.ts";
import { parseNumber, numberFromBigInt } from "./number.ts";
import { valueText } from "./text.ts";
import { RegoObject, RegoSet, compare, compareStrings, equal, keyOf } from "./value.ts";
import type { Value } from "./value.ts";

function num(text: string): Value {
  const value = parseNumber(text);
  if (value === undefined) throw new Error(`${text} is no number`);
  return value;
}

describe("the order of values", () => {
  test("goes from null over booleans, numbers, strings, arrays and objects to sets", () => {
    const sorted: Value[] = [
      null,
      false,
      true,
      num("-1e1000"),
      -1,
      0.5,
      num("9007199254740993"),
      num("1e1000"),
      "",
      "a",
      [],
      [1],
      fromJson({}),
      fromJson({ a: 1 }),
      RegoSet.EMPTY,
      RegoSet.of([1]),
    ];
    expect(sorted.toReversed().sort((a, b) => compare(a, b))).toEqual(sorted);
  });

  test("compares strings by code point, also above the basic plane", () => {
    expect(compareStrings("\u{1f600}", "\uffff")).toBeGreaterThan(0);
    expect(compareStrings("a", "b")).toBeLessThan(0);
    expect(compareStrings("a\ud800", "a\ue000")).toBeGreaterThan(0);
  });

  test("compares numbers exactly", () => {
    expect(compare(num("9007199254740993"), num("9007199254740992"))).toBeGreaterThan(0);
    expect(compare(num("0.1"), num("0.10000000000000000001"))).toBeLessThan(0);
    expect(equal(num("1.0"), 1)).toBe(true);
    expect(equal(num("1e2"), 100)).toBe(true);
  });
});

describe("keys of values", () => {
  test("are equal for equal values only", () => {
    expect(keyOf(num("1.0"))).toBe(keyOf(1));
    expect(keyOf("1")).not.toBe(keyOf(1));
    expect(keyOf(["a", "b"])).not.toBe(keyOf(["ab"]));
    expect(keyOf("\u0000sx")).not.toBe(keyOf(["x"]));
    expect(RegoSet.of([1, num("1.0"), num("1e0")]).size).toBe(1);
  });
});

describe("JSON", () => {
  test("keeps __proto__ and constructor as plain keys", () => {
    const value = fromJson(JSON.parse('{"__proto__": {"admin": true}, "constructor": 1}'));
    expect(value).toBeInstanceOf(RegoObject);
    expect(toJsonText(value)).toBe('{"__proto__":{"admin":true},"constructor":1}');
    const back = toJson(value) as Record<string, unknown>;
    expect(Object.getPrototypeOf(back)).toBe(Object.prototype);
    expect(Object.hasOwn(back, "__proto__")).toBe(true);
    expect((value as RegoObject).get("toString")).toBeUndefined();
  });

  test("keeps big integers and decimals as they are written", () => {
    expect(toJsonText(fromJson({ n: 12345678901234567890n }))).toBe('{"n":12345678901234567890}');
    expect(toJsonText([num("1e1000"), num("0.1"), num("1.50")])).toBe("[1e1000,0.1,1.50]");
    expect(numberFromBigInt(5n)).toBe(5);
  });

  test("does not exhaust the stack on deep nesting", () => {
    let deep: unknown = 1;
    for (let i = 0; i < 100_000; i++) deep = [deep];
    expect(() => fromJson(deep)).toThrow(/nested deeper/);
    let object: unknown = 1;
    for (let i = 0; i < 100_000; i++) object = { a: object };
    // Objects are converted on demand: only walking the whole is refused.
    const value = fromJson(object);
    expect((value as RegoObject).get("a")).toBeInstanceOf(RegoObject);
    expect(() => toJsonText(value)).toThrow(/nested deeper/);
  });
});

describe("the text of values", () => {
  test("is Rego's", () => {
    expect(valueText(RegoSet.of([2, 1]))).toBe("{1, 2}");
    expect(valueText(RegoSet.EMPTY)).toBe("set()");
    expect(valueText(fromJson({ b: [1, null], a: "x" }))).toBe('{"a": "x", "b": [1, null]}');
  });
});
