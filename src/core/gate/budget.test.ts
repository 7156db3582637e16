import { describe, expect, test } from "vitest";
import { ask, testPowers, testSubject } from "../../../test/fixtures/gate.ts";
import type { Reserved } from "../../governance/limits/budget.ts";
import { budget } from "./budget.ts";
import { judge, newTrail } from "./stage.ts";

const unasked = (): never => expect.unreachable("the other question");
const reserving = (answer: Reserved | Promise<Reserved>) =>
  ask(budget, {}, { budgets: { reserve: () => answer, peek: unasked } });
const supposing = (answer: Reserved) =>
  ask(budget, { suppose: {} }, { budgets: { reserve: unasked, peek: () => answer } });

const ada = { kind: "user", id: "ada", plan: "free" } as const;
const used: Reserved = {
  ok: false,
  owner: ada,
  metric: "tool_calls",
  used: 100,
  limit: 100,
  resetsAt: Date.UTC(2026, 11, 1),
};

describe("stage budget", () => {
  test("allows at once where nothing is limited", () => {
    expect(reserving({ ok: true })).toEqual({ kind: "allow" });
  });

  test("an allow gives its reservation back when it is undone", async () => {
    const undo = () => Promise.resolve();
    expect(await reserving(Promise.resolve({ ok: true, undo }))).toEqual({ kind: "allow", undo });
  });

  test("F02: nearly used up is a warning, not a refusal", () => {
    expect(reserving({ ok: true, low: ["tool_calls"] })).toEqual({
      kind: "allow",
      read: { warning: "BUDGET_LOW_WARNING", metrics: ["tool_calls"] },
    });
  });

  test("C37: used up is 402, with how much, when it starts anew and what to do", () => {
    expect(reserving(used)).toEqual({
      kind: "deny",
      code: "BUDGET_EXHAUSTED",
      reason: "budget_tool_calls",
      message:
        "user ada has used 100 of the 100 tool_calls of plan free this month, which leaves too few for this call; they start anew at 2026-12-01T00:00:00.000Z",
      remedy: "wait until 2026-12-01, or ask an administrator for a larger plan for this user",
    });
    const tenant = { kind: "tenant", id: "local", plan: null } as const;
    expect(reserving({ ...used, owner: tenant })).toMatchObject({
      message: expect.stringMatching(
        /^tenant local has used 100 of the 100 tool_calls this month/,
      ) as string,
      remedy: "wait until 2026-12-01, or ask an administrator for a larger plan",
    });
  });

  test("a question takes nothing and shows what was read", () => {
    const seen = [
      { owner: "tenant", metric: "tool_calls", amount: 1, used: 3, limit: 100 },
    ] as const;
    expect(supposing({ ok: true, seen })).toEqual({ kind: "allow", read: seen });
    expect(supposing(used)).toMatchObject({
      kind: "deny",
      read: { metric: "tool_calls", used: 100, limit: 100 },
    });
  });

  test.each([
    [
      "throws",
      () => {
        throw new Error("no such metric");
      },
    ],
    ["rejects", () => Promise.reject(new Error("down"))],
    ["hangs", () => new Promise<Reserved>(() => undefined)],
  ])("threats §6: a store that %s denies within 250 ms", async (_, reserve) => {
    const began = performance.now();
    const verdict = await judge(
      budget,
      testSubject(),
      testPowers({ budgets: { reserve, peek: unasked } }),
      newTrail(),
    );
    expect(verdict).toMatchObject({
      verdict: "deny",
      code: "UNAVAILABLE",
      reason: "engine_unavailable",
      engine: "store",
    });
    expect(performance.now() - began).toBeLessThan(400);
  });
});
