import { describe, expect, test } from "vitest";
import { call, num, set } from "./testing.ts";

describe("comparison", () => {
  test("1 and 1.0 are the same number", () => {
    expect(call("equal", 1, num("1.0"))).toBe("true");
    expect(call("neq", 1, "1")).toBe("true");
  });

  test("types are ordered: null, booleans, numbers, strings, arrays, objects, sets", () => {
    const ordered = [null, false, true, -1, 2, "a", [], {}, set()];
    ordered.forEach((low, i) => {
      for (const high of ordered.slice(i + 1)) {
        expect(call("lt", low, high)).toBe("true");
        expect(call("gte", low, high)).toBe("false");
      }
    });
  });
});

describe("aggregates", () => {
  test("count counts code points and members", () => {
    expect(call("count", "añ😀")).toBe("3");
    expect(call("count", [1, 2])).toBe("2");
    expect(call("count", { a: 1 })).toBe("1");
    expect(call("count", set(1, 1, 2))).toBe("2");
    expect(call("count", 5)).toBe(
      "operand: operand 1 must be one of {array, object, set, string} but got number",
    );
  });

  test("sum and product are exact for integers", () => {
    expect(call("sum", [num("9007199254740992"), 1])).toBe("9007199254740993");
    expect(call("sum", [])).toBe("0");
    expect(call("product", [])).toBe("1");
    expect(call("sum", [0.1, 0.2])).toBe("0.3");
    expect(call("sum", [1, "a"])).toBe(
      "operand: operand 1 must be array of numbers but got array containing string",
    );
  });

  test("max and min of nothing are undefined", () => {
    expect(call("max", [])).toBe("undefined");
    expect(call("min", set())).toBe("undefined");
    expect(call("max", [1, "a", 3])).toBe('"a"');
    expect(call("min", [3, null])).toBe("null");
  });

  test("membership looks at values, with a key at both", () => {
    expect(call("internal.member_2", 1, [2, 1])).toBe("true");
    expect(call("internal.member_2", 1, { a: 1 })).toBe("true");
    expect(call("internal.member_2", "a", { a: 1 })).toBe("false");
    expect(call("internal.member_2", 1, "1")).toBe("false");
    expect(call("internal.member_3", 0, "x", ["x"])).toBe("true");
    expect(call("internal.member_3", "a", 2, { a: 1 })).toBe("false");
  });

  test("the old all and any want the value true", () => {
    expect(call("all", [true, true])).toBe("true");
    expect(call("all", [true, 1])).toBe("false");
    expect(call("any", set(false, true))).toBe("true");
  });
});

describe("arrays", () => {
  test("slices clamp their ends", () => {
    expect(call("array.slice", [1, 2, 3], -5, 2)).toBe("[1, 2]");
    expect(call("array.slice", [1, 2, 3], 2, 1)).toBe("[]");
    expect(call("array.slice", [1, 2, 3], 1, 99)).toBe("[2, 3]");
  });

  test("flatten goes one level deep", () => {
    expect(call("array.flatten", [1, [2, [3]], []])).toBe("[1, 2, [3]]");
  });

  test("concat and reverse leave their arguments alone", () => {
    const source = [1, 2];
    expect(call("array.reverse", source)).toBe("[2, 1]");
    expect(call("array.concat", source, [3])).toBe("[1, 2, 3]");
    expect(source).toEqual([1, 2]);
    expect(call("array.reverse", {})).toBe("operand: operand 1 must be array but got object");
  });
});

describe("sets", () => {
  test("union and intersection of many", () => {
    expect(call("union", set(set(1), set(2, 3)))).toBe("{1, 2, 3}");
    expect(call("intersection", set(set(1, 2), set(2, 3)))).toBe("{2}");
    expect(call("intersection", set())).toBe("set()");
    expect(call("and", set(1, 2), set(2))).toBe("{2}");
    expect(call("or", set(1), set(2))).toBe("{1, 2}");
    expect(call("union", set(1))).toBe("operand: operand 1 must be set but got number");
  });
});

describe("bits", () => {
  test("work on integers of any size", () => {
    expect(call("bits.and", num("18446744073709551615"), 255)).toBe("255");
    expect(call("bits.lsh", 1, 70)).toBe("1180591620717411303424");
    expect(call("bits.negate", 5)).toBe("-6");
    expect(call("bits.xor", 6, 3)).toBe("5");
    expect(call("bits.rsh", -8, 1)).toBe("-4");
  });

  test("fractions, negative shifts and huge shifts are refused", () => {
    expect(call("bits.or", 1.5, 1)).toContain(
      "must be integer number but got floating-point number",
    );
    expect(call("bits.lsh", 1, -1)).toContain(
      "must be an unsigned integer number but got a negative integer",
    );
    expect(call("bits.lsh", 1, num("1e15"))).toContain("shift by more than");
  });
});

describe("types and conversions", () => {
  test("type names and tests", () => {
    expect(call("type_name", null)).toBe('"null"');
    expect(call("type_name", set())).toBe('"set"');
    expect(call("is_number", num("1e999"))).toBe("true");
    expect(call("is_array", {})).toBe("false");
  });

  test("to_number reads what Go reads", () => {
    expect(call("to_number", "1.50")).toBe("1.50");
    expect(call("to_number", null)).toBe("0");
    expect(call("to_number", true)).toBe("1");
    expect(call("to_number", "abc")).toContain('parsing "abc": invalid syntax');
    expect(call("to_number", "1e400")).toContain("value out of range");
    expect(call("to_number", "-Infinity")).toContain("valid number string");
    expect(call("to_number", [])).toContain("must be one of {null, boolean, number, string}");
  });

  test("format_int keeps large integers and cuts fractions", () => {
    expect(call("format_int", num("18446744073709551617"), 16)).toBe('"10000000000000001"');
    expect(call("format_int", 15.9, 16)).toBe('"f"');
    expect(call("format_int", -15.9, 2)).toBe('"-1111"');
    expect(call("format_int", 1, 3)).toBe("operand: operand 2 must be one of {2, 8, 10, 16}");
  });
});

describe("objects", () => {
  test("get takes a key or a path, and null is found", () => {
    expect(call("object.get", { a: null }, "a", "other")).toBe("null");
    expect(call("object.get", { a: { b: [7] } }, ["a", "b", 0], "other")).toBe("7");
    expect(call("object.get", { a: 1 }, ["a", "b"], "other")).toBe('"other"');
    expect(call("object.get", { a: 1 }, [], 0)).toBe('{"a": 1}');
  });

  test("union merges deeply and the right side wins", () => {
    expect(call("object.union", { a: { b: 1, c: 2 } }, { a: { b: 3 } })).toBe(
      '{"a": {"b": 3, "c": 2}}',
    );
    expect(call("object.union_n", [{ a: 1 }, { a: { b: 1 } }, { a: { c: 2 } }])).toBe(
      '{"a": {"b": 1, "c": 2}}',
    );
    expect(call("object.union_n", [1])).toContain(
      "must be array of objects but got array containing number",
    );
  });

  test("remove and filter take arrays, sets and objects of keys", () => {
    expect(call("object.remove", { a: 1, b: 2 }, ["a"])).toBe('{"b": 2}');
    expect(call("object.filter", { a: 1, b: 2 }, { a: null })).toBe('{"a": 1}');
    expect(call("object.remove", { a: 1 }, "a")).toBe(
      "operand: operand 2 must be one of {object, set, array} but got string",
    );
  });

  test("keys such as __proto__ are plain data", () => {
    const source = JSON.parse('{"__proto__": {"x": 1}, "a": 2}') as unknown;
    expect(call("object.keys", source)).toBe('{"__proto__", "a"}');
    expect(call("object.get", source, ["__proto__", "x"], 0)).toBe("1");
    expect(call("object.remove", source, ["a"])).toBe('{"__proto__": {"x": 1}}');
  });

  test("subset compares objects, sets, runs of arrays and sets in arrays", () => {
    expect(call("object.subset", { a: { b: 1, c: 2 } }, { a: { b: 1 } })).toBe("true");
    expect(call("object.subset", [1, 2, 3], [2, 3])).toBe("true");
    expect(call("object.subset", [1, 2, 3], [1, 3])).toBe("false");
    expect(call("object.subset", [1, 2], set(2))).toBe("true");
    expect(call("object.subset", { a: 1 }, [1])).toContain(
      "must be of the same type or array and set",
    );
  });
});

describe("graphs", () => {
  const graph = { a: ["b", "c"], b: ["c"], c: ["a"], d: [] };

  test("reachable nodes and paths", () => {
    expect(call("graph.reachable", graph, ["a"])).toBe('{"a", "b", "c"}');
    expect(call("graph.reachable", graph, set("x"))).toBe("set()");
    expect(call("graph.reachable_paths", graph, ["a"])).toBe('{["a", "b", "c"], ["a", "c"]}');
    expect(call("graph.reachable_paths", graph, ["d"])).toBe('{["d"]}');
  });

  test("a graph with exponentially many paths is refused, not waited for", () => {
    const layers = Array.from({ length: 40 }, (_, i) => [
      [`${i}a`, [`${i + 1}a`, `${i + 1}b`]],
      [`${i}b`, [`${i + 1}a`, `${i + 1}b`]],
    ]).flat();
    expect(call("graph.reachable_paths", Object.fromEntries(layers) as unknown, ["0a"])).toContain(
      "more than",
    );
  });

  test("walk visits every value with its path", () => {
    expect(call("walk", { a: [1] })).toBe('[[[], {"a": [1]}], [["a"], [1]], [["a", 0], 1]]');
  });
});
