import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openBench, type Bench } from "../../../test/fixtures/tool-bench.ts";
import calculator from "./calculator.ts";

let bench: Bench;
beforeAll(async () => {
  bench = await openBench();
});
afterAll(() => bench.close());

const calculate = (expression: string, precision = 15) =>
  bench.run(calculator, { expression, precision });

describe("values", () => {
  test.each([
    ["0.1 + 0.2", "0.3", true],
    ["1/3", "0.333333333333333", false],
    ["2/3", "0.666666666666667", false],
    ["1/3*3", "1", true],
    ["2^100", "1.26765060022823e+30", false],
    ["-2^2", "-4", true],
    ["2^-2", "0.25", true],
    ["2^3^2", "512", true],
    ["2**10", "1024", true],
    ["10 - 2 - 3", "5", true],
    ["7 % 3", "1", true],
    ["-7 % 3", "-1", true],
    ["7.5 % 2", "1.5", true],
    ["--3", "3", true],
    ["+3 - -2", "5", true],
    ["5!", "120", true],
    ["-3!", "-6", true],
    ["0^0", "1", true],
    ["1^1e300", "1", true],
    ["4^0.5", "2", true],
    ["2^0.5", "1.4142135623731", false],
    ["8^(1/3)", "2", false],
    ["sqrt(1/4)", "0.5", true],
    ["abs(-2.5)", "2.5", true],
    ["floor(-2.5) + ceil(2.1) + trunc(-2.9) + round(2.5)", "1", true],
    ["round(-2.5)", "-3", true],
    ["min(3, 1, 2) + max(3, 1, 2)", "4", true],
    ["ln(1) + exp(0)", "1", true],
    ["log10(1000) + log10(1/1000) + log2(8)", "3", true],
    ["ln(e)", "1", false],
    ["1e-8", "1e-8", true],
    ["1e20", "100000000000000000000", true],
    ["1e21", "1e+21", true],
    [".5 + 5.", "5.5", true],
    ["9.9999999999999999", "10", false],
    [" ( ( 1 ) ) ", "1", true],
    ["0/5", "0", true],
  ])("%s = %s", async (expression, result, exact) => {
    expect(await calculate(expression)).toEqual({ result, exact, expression });
  });

  test("up to 50 digits are right", async () => {
    const value = async (expression: string) => (await calculate(expression, 50))["result"];
    expect(await value("pi")).toBe("3.1415926535897932384626433832795028841971693993751");
    expect(await value("sqrt(2)")).toBe("1.4142135623730950488016887242096980785696718753769");
    expect(await value("ln(10)")).toBe("2.3025850929940456840179914546843642076011014886288");
    expect(await value("exp(-1)")).toBe("0.36787944117144232159552377016146086744581113103177");
    expect(await value("ln(1 + 1e-30) * 1e30")).toBe("0.9999999999999999999999999999995");
  });

  test("a, b and op", async () => {
    const wanted = {
      add: "2.7",
      sub: "-4.7",
      mul: "-3.7",
      div: "-0.27027027027027",
      mod: "-1",
      pow: "-1",
    };
    for (const [op, result] of Object.entries(wanted)) {
      const output = await bench.run(calculator, { a: -1, b: op === "pow" ? 3 : 3.7, op });
      expect([op, output["result"]]).toEqual([op, result]);
    }
    expect(await bench.run(calculator, { a: -2, b: 2, op: "pow" })).toEqual({
      result: "4",
      exact: true,
      expression: "(-2) ^ 2",
    });
  });
});

describe("refusals", () => {
  test.each([
    ["1 +", "syntax", "position 4"],
    ["1 $ 2", "syntax", "position 3"],
    ["(1", "syntax", "position 3"],
    ["2(3)", "syntax", "position 2"],
    ["1..2", "syntax", "position 3"],
    ["foo(1)", "syntax", "position 1"],
    ["sqrt(1, 2)", "syntax", "position 1"],
    ["min()", "syntax", "position 5"],
    ["process.exit(1)", "syntax", "position"],
    ["constructor", "syntax", "unknown name"],
    ["   ", "syntax", "position 4"],
    ["1/0", "division_by_zero", "zero"],
    ["1 % 0", "division_by_zero", "zero"],
    ["0^-1", "division_by_zero", "zero"],
    ["9^9^9", "overflow", "digits"],
    ["1e99999", "overflow", "too large"],
    ["exp(1e9)", "overflow", "digits"],
    ["3000!", "overflow", "digits"],
    [`${"(".repeat(200)}1${")".repeat(200)}`, "too_complex", "nested"],
    [`(1/(1e2400+1)+1/(3^5000+1))${"*1".repeat(400)}`, "too_complex", "work"],
    ["sqrt(-1)", "undefined_result", "negative"],
    ["ln(0)", "undefined_result", "positive"],
    ["(-8)^(1/3)", "undefined_result", "negative"],
    ["2.5!", "undefined_result", "whole"],
  ])("%s: %s", async (expression, reason, text) => {
    const fault = await bench.fault(calculator, { expression });
    expect(fault).toMatchObject({ code: "EXECUTION_FAILED", reason });
    expect(fault.message).toContain(text);
    expect(fault.remedy).toBeTruthy();
  });

  test.each([[{}], [{ a: 1, b: 2 }], [{ expression: "1", op: "add" }]])(
    "%j: one form",
    async (input) => {
      expect(await bench.fault(calculator, input)).toMatchObject({
        code: "BAD_REQUEST",
        reason: "invalid_arguments",
      });
    },
  );
});

/** An expression as text, and its value as JavaScript computes it. */
interface Case {
  text: string;
  value: number;
}

const leaf = (low: number, high: number): fc.Arbitrary<Case> =>
  fc.integer({ min: low, max: high }).map((n) => ({ text: n < 0 ? `(${n})` : `${n}`, value: n }));

const tree = (
  operators: Record<string, (a: number, b: number) => number>,
  base: fc.Arbitrary<Case>,
) =>
  fc.letrec<{ node: Case }>((tie) => ({
    node: fc.oneof(
      { depthSize: "medium", withCrossShrink: true },
      base,
      fc
        .tuple(fc.constantFrom(...Object.entries(operators)), tie("node"), tie("node"))
        .map(([[sign, apply], a, b]) => ({
          text: `(${a.text} ${sign} ${b.text})`,
          value: apply(a.value, b.value),
        })),
    ),
  })).node;

describe("against plain arithmetic", () => {
  test("sums, differences, products and remainders of integers are equal", async () => {
    const operators = {
      "+": (a: number, b: number) => a + b,
      "-": (a: number, b: number) => a - b,
      "*": (a: number, b: number) => a * b,
      "%": (a: number, b: number) => a % b,
    };
    const cases = tree(operators, leaf(-99, 99)).filter(
      ({ text, value }) =>
        text.length <= 1_000 && !(Math.abs(value) > Number.MAX_SAFE_INTEGER / 1e4),
    );
    await fc.assert(
      fc.asyncProperty(cases, async ({ text, value }) => {
        if (Number.isNaN(value)) {
          expect((await bench.fault(calculator, { expression: text })).reason).toBe(
            "division_by_zero",
          );
          return;
        }
        const { result, exact } = await calculate(text, 30);
        expect(exact).toBe(true);
        expect(Number(result)).toBe(value === 0 ? 0 : value);
      }),
      { numRuns: 500 },
    );
  });

  test("quotients of positive numbers are as close as a double can be", async () => {
    const operators = {
      "+": (a: number, b: number) => a + b,
      "*": (a: number, b: number) => a * b,
      "/": (a: number, b: number) => a / b,
    };
    const cases = tree(operators, leaf(1, 999)).filter(({ text }) => text.length <= 1_000);
    await fc.assert(
      fc.asyncProperty(cases, async ({ text, value }) => {
        const { result } = await calculate(text, 20);
        expect(Math.abs(Number(result) / value - 1)).toBeLessThan(1e-12);
      }),
      { numRuns: 500 },
    );
  });

  test("functions agree with Math", async () => {
    const doubles = fc.double({ min: 1e-6, max: 500, noNaN: true });
    await fc.assert(
      fc.asyncProperty(doubles, fc.double({ min: -3, max: 3, noNaN: true }), async (x, y) => {
        const wanted = {
          sqrt: Math.sqrt(x),
          exp: Math.exp(x),
          log2: Math.log2(x),
          log10: Math.log10(x),
          ln: Math.log(x),
        };
        for (const [name, value] of Object.entries(wanted)) {
          const got = Number((await calculate(`${name}(${x})`, 20))["result"]);
          expect(Math.abs(got - value)).toBeLessThanOrEqual(1e-13 * Math.max(1, Math.abs(value)));
        }
        const power = Number((await bench.run(calculator, { a: x, b: y, op: "pow" }))["result"]);
        expect(Math.abs(power / x ** y - 1)).toBeLessThan(1e-12);
      }),
      { numRuns: 200 },
    );
  });

  test("whatever the text, the answer is a value or a fault of ours, and soon", async () => {
    const piece = fc.constantFrom(
      "1",
      "2.5",
      "e",
      "pi",
      "1e300",
      "9",
      "(",
      ")",
      "+",
      "-",
      "*",
      "/",
      "%",
      "^",
      "!",
      ",",
      "sqrt(",
      "exp(",
      "ln(",
      "max(",
      " ",
      "x",
      "\u0000",
    );
    const text = fc.oneof(
      fc.string({ minLength: 1, maxLength: 100 }),
      fc.array(piece, { minLength: 1, maxLength: 60 }).map((all) => all.join("")),
    );
    await fc.assert(
      fc.asyncProperty(text, fc.integer({ min: 1, max: 50 }), async (expression, precision) => {
        const before = performance.now();
        const input = { expression, precision };
        const answer = await bench
          .run(calculator, input)
          .then(({ result }) => typeof result)
          .catch(async () => (await bench.fault(calculator, input)).code);
        expect(["string", "EXECUTION_FAILED"]).toContain(answer);
        expect(performance.now() - before).toBeLessThan(1_500);
      }),
      { numRuns: 2_000 },
    );
  });
});
