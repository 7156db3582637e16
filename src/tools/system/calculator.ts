import { z } from "zod";
import { evaluate, FUNCTION_NAMES } from "./shared/expression.ts";
import { ArithmeticFault, type ArithmeticReason } from "./shared/rational.ts";
import { defineTool, toolError } from "../../contract/tool.ts";

const OPERATORS = { add: "+", sub: "-", mul: "*", div: "/", mod: "%", pow: "^" } as const;

const REMEDIES: Record<ArithmeticReason, string> = {
  syntax: "correct the expression at that position",
  division_by_zero: "make sure that no divisor is zero",
  overflow: "use smaller numbers or exponents",
  too_complex: "split the calculation into several calls",
  undefined_result: "stay within the real numbers",
};

export default defineTool({
  name: "system/calculator",
  description:
    "Calculate exactly with decimal fractions and large integers. Give either an expression or a, b and op. " +
    `Operators + - * / % ^ and n!, parentheses, the functions ${FUNCTION_NAMES.join(", ")}, the constants pi and e. ` +
    "The result is a decimal text; exact says whether it was rounded to the precision.",
  input: z.strictObject({
    expression: z
      .string()
      .min(1)
      .max(1_000)
      .optional()
      .describe("What to calculate, e.g. (1 + 2) * 3^4. Not together with a, b, op."),
    a: z.number().optional().describe("First number; needs b and op."),
    b: z.number().optional().describe("Second number; needs a and op."),
    op: z
      .enum(Object.keys(OPERATORS) as (keyof typeof OPERATORS)[])
      .optional()
      .describe("What to do with a and b; mod keeps the sign of a."),
    precision: z
      .int()
      .min(1)
      .max(50)
      .default(15)
      .describe("Most significant digits of the result, 1-50."),
  }),
  output: z.strictObject({
    result: z.string().describe("The value in decimal notation, e.g. 0.3 or 1.5e+30."),
    exact: z.boolean().describe("False when the value was rounded or approximated."),
    expression: z.string().describe("What was calculated."),
  }),
  risk: "safe",
  effects: "read_only",
  needs: [],
  timeoutMs: 5_000,
  aliases: ["calculator"],
  tags: ["math"],
  examples: [
    { expression: "(0.1 + 0.2) * 10" },
    { expression: "sqrt(2)", precision: 40 },
    { a: 7, b: 3, op: "mod" },
  ],
  run({ expression: given, a, b, op, precision }) {
    const triple = [a, b, op].filter((value) => value !== undefined).length;
    if (given === undefined ? triple !== 3 : triple !== 0) {
      throw toolError("invalid_arguments", "expected either expression, or a, b and op together", {
        code: "BAD_REQUEST",
        remedy: 'send {"expression": "1 + 2"} or {"a": 1, "b": 2, "op": "add"}',
      });
    }
    const expression = given ?? `${operand(a ?? 0)} ${OPERATORS[op ?? "add"]} ${operand(b ?? 0)}`;
    try {
      const { text, exact } = evaluate(expression, precision);
      return { result: text, exact, expression };
    } catch (cause) {
      if (!(cause instanceof ArithmeticFault)) throw cause;
      const place = cause.position === null ? "" : ` at position ${cause.position}`;
      throw toolError(cause.reason, cause.message + place, { remedy: REMEDIES[cause.reason] });
    }
  },
});

function operand(value: number): string {
  return value < 0 ? `(${value})` : String(value);
}
