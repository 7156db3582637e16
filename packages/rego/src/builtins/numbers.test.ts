import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { call, callWith, num, set, testContext } from "./testing.ts";

describe("arithmetic", () => {
  test("integers of any size are exact", () => {
    expect(call("plus", num("9007199254740993"), 1)).toBe("9007199254740994");
    expect(call("mul", num("12345678901234567890"), num("98765432109876543210"))).toBe(
      "1219326311370217952237463801111263526900",
    );
    expect(call("minus", 0, num("18446744073709551616"))).toBe("-18446744073709551616");
  });

  test("decimals have no binary dust", () => {
    expect(call("plus", 0.1, 0.2)).toBe("0.3");
    expect(call("mul", 1.1, 1.1)).toBe("1.21");
    expect(call("div", 1, 3)).toBe("0.33333333333333333334");
    expect(call("div", 10, 4)).toBe("2.5");
  });

  test("division and remainder by zero fail", () => {
    expect(call("div", 1, 0)).toBe("failure: divide by zero");
    expect(call("rem", 1, 0)).toBe("failure: modulo by zero");
    expect(call("rem", 1.5, 1)).toBe("failure: modulo on floating-point number");
  });

  test("the remainder has the sign of the dividend", () => {
    expect(call("rem", -7, 3)).toBe("-1");
    expect(call("rem", 7, -3)).toBe("1");
  });

  test("minus on sets is the difference, mixed operands are refused", () => {
    expect(call("minus", set(1, 2, 3), set(2))).toBe("{1, 3}");
    expect(call("minus", 1, set(2))).toBe("operand: operand 2 must be number but got set");
    expect(call("minus", set(2), 1)).toBe("operand: operand 2 must be set but got number");
    expect(call("minus", "a", 1)).toBe(
      "operand: operand 1 must be one of {number, set} but got string",
    );
  });

  test("sum and difference of integers agree with big integers", () => {
    fc.assert(
      fc.property(fc.bigInt(), fc.bigInt(), (a, b) => {
        expect(call("plus", a, b)).toBe((a + b).toString());
        expect(call("minus", a, b)).toBe((a - b).toString());
        expect(call("mul", a, b)).toBe((a * b).toString());
      }),
    );
  });
});

describe("rounding", () => {
  test("halves go away from zero", () => {
    expect(call("round", 2.5)).toBe("3");
    expect(call("round", -2.5)).toBe("-3");
    expect(call("round", 2.4)).toBe("2");
  });

  test("between -1 and 0 they agree with OPA, not with mathematics", () => {
    expect(call("ceil", -0.5)).toBe("1");
    expect(call("floor", -0.5)).toBe("0");
  });

  test("ceil, floor and abs", () => {
    expect(call("ceil", 1.2)).toBe("2");
    expect(call("ceil", -1.2)).toBe("-1");
    expect(call("floor", -1.2)).toBe("-2");
    expect(call("abs", -1.5)).toBe("1.5");
    expect(call("abs", "x")).toBe("operand: operand 1 must be number but got string");
  });
});

describe("ranges", () => {
  test("run up and down, both ends included", () => {
    expect(call("numbers.range", 1, 3)).toBe("[1, 2, 3]");
    expect(call("numbers.range", 2, -1)).toBe("[2, 1, 0, -1]");
    expect(call("numbers.range_step", 0, 5, 2)).toBe("[0, 2, 4]");
    expect(call("numbers.range_step", 5, 0, 2)).toBe("[5, 3, 1]");
  });

  test("steps must be positive, ends must be integers", () => {
    expect(call("numbers.range_step", 0, 5, 0)).toContain("step must be a positive integer");
    expect(call("numbers.range", 1.5, 2)).toBe(
      "operand: operand 1 must be integer number but got floating-point number",
    );
  });

  test("an endless range meets the step limit instead of the end of memory", () => {
    const ctx = testContext({}, 100_000);
    expect(() => callWith(ctx, "numbers.range", 0, num("1e30"))).toThrow("step limit");
  });
});

describe("rand.intn", () => {
  test("needs the power", () => {
    expect(call("rand.intn", "seed", 10)).toContain("no source of randomness was granted");
  });

  test("is the same for the same seed within a query", () => {
    let calls = 0;
    const ctx = testContext({ randomBytes: (n) => new Uint8Array(n).fill(++calls) });
    const first = callWith(ctx, "rand.intn", "a", 100);
    expect(callWith(ctx, "rand.intn", "a", 100)).toBe(first);
    expect(callWith(ctx, "rand.intn", "b", 100)).not.toBe(first);
    expect(callWith(ctx, "rand.intn", "a", 0)).toBe("0");
  });
});
