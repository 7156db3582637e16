import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { testTool } from "../../../test/fixtures/gate.ts";
import type { JsonObject } from "../../contract/call.ts";
import type { Meter } from "../../contract/tool.ts";
import { budgetOf, settleOf, type Amounts } from "./amounts.ts";

const call = (meters: readonly Meter[], args: JsonObject = {}) => ({
  tool: testTool({ meters }),
  arguments: args,
});
const tokens: Meter = {
  metric: "tokens",
  estimate: { argument: "/options/max~1tokens", otherwise: 500 },
};

describe("budgetOf", () => {
  test("R180: every call is one of tool_calls", () => {
    expect(budgetOf(call([]))).toEqual({ tool_calls: 1 });
    expect(budgetOf({ tool: null, arguments: {} })).toEqual({ tool_calls: 1 });
  });

  test("F01: meters add what they estimate, from an argument where it says a number", () => {
    const both: Meter[] = [
      { metric: "images", estimate: 2 },
      { metric: "images", estimate: 1 },
      tokens,
    ];
    expect(budgetOf(call(both, { options: { "max/tokens": 20.2 } }))).toEqual({
      tool_calls: 1,
      images: 3,
      tokens: 21,
    });
    for (const odd of [
      {},
      { options: null },
      { options: { "max/tokens": "9" } },
      { options: { "max/tokens": -9 } },
    ]) {
      expect(budgetOf(call([tokens], odd))).toEqual({ tool_calls: 1, tokens: 500 });
    }
    expect(budgetOf(call([tokens], { options: { "max/tokens": 1e300 } }))).toEqual({
      tool_calls: 1,
      tokens: 1e12,
    });
  });

  test("F02: a metric that does not exist stops the call instead of going uncounted", () => {
    expect(() => budgetOf(call([{ metric: "tokenz", estimate: 1 }]))).toThrow(
      /'tokenz', which is none of tokens/,
    );
  });
});

describe("settleOf", () => {
  const settled = (dispatched: boolean, metadata: JsonObject = {}): Amounts =>
    settleOf(call([tokens, { metric: "images", estimate: 1 }]), { dispatched, metadata });

  test("C38: what was never dispatched is given back whole", () => {
    expect(settled(false)).toEqual({ tool_calls: -1, tokens: -500, images: -1 });
    expect(settled(false, { usage: { tokens: 3 } })).toEqual({
      tool_calls: -1,
      tokens: -500,
      images: -1,
    });
  });

  test("C38: what was dispatched counts whatever its outcome", () => {
    expect(settled(true)).toEqual({});
  });

  test("the tool's own word replaces the estimate, and may name more metrics", () => {
    expect(settled(true, { usage: { tokens: 700, vector_ops: 3 } })).toEqual({
      tokens: 200,
      vector_ops: 3,
    });
    expect(settled(true, { usage: { tokens: 0 } })).toEqual({ tokens: -500 });
  });

  test("nonsense of a tool is no use and no gift", () => {
    for (const usage of [
      null,
      3,
      "x",
      [1],
      { tool_calls: 0 },
      { tokenz: 3 },
      { tokens: -1 },
      { tokens: "3" },
    ]) {
      expect(settled(true, { usage })).toEqual({});
    }
  });

  test("start and end together never count below zero", () => {
    fc.assert(
      fc.property(
        fc.boolean(),
        fc.option(fc.dictionary(fc.constantFrom("tokens", "images", "tool_calls"), fc.double()), {
          nil: undefined,
        }),
        (dispatched, usage) => {
          const metered = call([tokens, { metric: "images", estimate: 1 }]);
          const counted = budgetOf(metered);
          const delta = settleOf(metered, {
            dispatched,
            metadata: usage === undefined ? {} : { usage: usage },
          });
          for (const metric of ["tokens", "images", "tool_calls"] as const) {
            expect((counted[metric] ?? 0) + (delta[metric] ?? 0)).toBeGreaterThanOrEqual(0);
          }
        },
      ),
    );
  });
});
