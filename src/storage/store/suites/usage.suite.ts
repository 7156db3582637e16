// Held executions and budgets: part of the store's suite.
import { describe, expect, test } from "vitest";
import {
  ANN,
  atOnce,
  endBody,
  ended,
  event,
  finish,
  HOUR,
  ids,
  NONE,
  startBody,
  T0,
  type Sample,
} from "./samples.suite.ts";
import type { EndBody, StartBody, Store } from "../store.ts";

const MONTH = "2026-01";

/** A crowd on a busy machine is refused in time rather than made to wait: whoever was asks again. */
async function insist<T>(ask: () => Promise<T>, left = 50): Promise<T> {
  try {
    return await ask();
  } catch (cause) {
    if (left === 0) throw cause;
    await new Promise((resolve) => setTimeout(resolve, 100));
    return insist(ask, left - 1);
  }
}

export function usageSuite(store: () => Store, another: () => Promise<Store>): void {
  const held = (s: Sample, more: Partial<StartBody> = {}) =>
    store().log.append(
      event(s, "tool.execution.held", {
        ...startBody(s),
        status: "pending",
        approvalId: `apr_${s.id}`,
        ...more,
      }),
    );
  const start = (s: Sample, more: Partial<StartBody> = {}) =>
    store().log.append(event(s, "tool.execution.start", { ...startBody(s), ...more }));
  const end = (s: Sample, budgetDelta: EndBody["budgetDelta"]) =>
    store().log.append({ ...ended(s), body: JSON.stringify({ ...endBody(s), budgetDelta }) });
  const denied = (s: Sample, more: Partial<StartBody & EndBody> = {}) =>
    store().log.append(
      event(s, "tool.execution.denied", {
        ...startBody(s),
        ...endBody({ ...s, status: "failed" }),
        ...more,
      }),
    );
  const of = () => store().usage.of("local", MONTH);

  describe("held executions", () => {
    const figures = () => store().executions.figures(ANN);

    test("held, started by another instance, complete: one execution", async () => {
      const s: Sample = { id: "a" };
      await held(s);
      expect(await store().executions.get("a")).toMatchObject({
        status: "pending",
        approvalId: "apr_a",
        instanceId: "one",
      });
      const later: Sample = { id: "a", at: T0 + HOUR, instanceId: "two" };
      await start(later, { approvalId: "apr_a" });
      expect(await store().executions.get("a")).toMatchObject({
        status: "running",
        instanceId: "two",
        startTime: T0 + HOUR,
      });
      expect(ids(await store().executions.open({ instanceId: "two" }))).toEqual(["a"]);
      await store().log.append(ended(later));
      expect(await store().executions.get("a")).toMatchObject({
        status: "success",
        approvalId: "apr_a",
      });
      expect(ids(await store().executions.list({ ...ANN, from: T0 + HOUR }, { limit: 9 }))).toEqual(
        ["a"],
      );
      expect(await figures()).toMatchObject({ total: 1, success: 1 });
      expect(await store().executions.figures({ ...ANN, from: T0 + HOUR })).toMatchObject({
        total: 1,
      });
    });

    test.each([
      ["one after the other", false],
      ["in one group", true],
    ])("held, then denied: it ends as failed, once, %s", async (_, together) => {
      const s: Sample = { id: "a" };
      const first = held(s);
      if (!together) await first;
      await Promise.all([first, denied({ ...s, at: T0 + 5 }, { approvalId: "apr_a" })]);
      expect(await store().executions.get("a")).toMatchObject({
        status: "failed",
        approvalId: "apr_a",
        errorCode: "EXECUTION_FAILED",
      });
      expect(ids(await store().executions.list(ANN, { limit: 9 }))).toEqual(["a"]);
      expect(await figures()).toMatchObject({ total: 1, failed: 1 });
      await start(s);
      expect((await store().executions.get("a"))?.status).toBe("failed");
    });

    test("held, then cancelled", async () => {
      await held({ id: "a" });
      await store().log.append(ended({ id: "a", status: "cancelled" }));
      expect(await store().executions.get("a")).toMatchObject({
        status: "cancelled",
        cancelReason: "user",
        approvalId: "apr_a",
      });
      expect(await figures()).toMatchObject({ total: 1, cancelled: 1 });
    });

    test("one that waits for a person has no process that could have died", async () => {
      await held({ id: "a" });
      await held({ id: "b" }, { approvalId: null });
      await start({ id: "c" });
      const open = ids(await store().executions.open({ instanceId: "one" }));
      expect(open.toSorted()).toEqual(["b", "c"]);
      expect(ids(await store().executions.open({ startedBefore: T0 + 1 })).length).toBe(2);
    });

    test("an execution of the first release reads with what it lacks", async () => {
      const {
        approvalId: _a,
        budget: _b,
        reserved: _r,
        mode: _m,
        roles: _o,
        ...old
      } = startBody({ id: "a" });
      const { budgetDelta: _d, ...oldEnd } = endBody({ id: "a" });
      await store().log.append(event({ id: "a" }, "tool.execution.start", old));
      await store().log.append(event({ id: "a" }, "tool.execution.complete", oldEnd));
      expect(await store().executions.get("a")).toMatchObject({
        ...old,
        status: "success",
        approvalId: null,
        budget: {},
        reserved: false,
        mode: "NORMAL",
        roles: [],
      });
      expect(await of()).toEqual([]);
    });

    test("without a user: everybody's of the tenant, in lists and figures", async () => {
      const day = 24 * HOUR;
      await finish(
        store(),
        { id: "a" },
        { id: "b", userId: "bob", at: T0 + 3 * day + 5, status: "failed" },
        { id: "c", userId: "cy", at: T0 + 7 * day },
        { id: "x", tenantId: "other" },
      );
      await start({ id: "d", userId: "dan", at: T0 + 1 });
      const all = { tenantId: "local" };
      const { list, figures: sum } = store().executions;
      // In order of arrival, whatever their clocks said.
      expect(ids(await list(all, { limit: 9 }))).toEqual(["d", "c", "b", "a"]);
      expect(ids(await list(all, { limit: 9, offset: 1 }))).toEqual(["c", "b", "a"]);
      expect(ids(await list(all, { limit: 9, after: { startTime: T0, id: "b" } }))).toEqual(["a"]);
      expect(ids(await list({ ...all, status: "running" }, { limit: 9 }))).toEqual(["d"]);
      expect(await sum(all)).toEqual({
        ...NONE,
        total: 3,
        success: 2,
        failed: 1,
        averageExecutionTime: 5,
      });
      expect((await sum({ ...all, status: "failed" })).total).toBe(1);
      expect((await sum({ ...all, status: "running" })).total).toBe(1);
      expect((await sum({ ...all, from: T0 })).total).toBe(3);
      expect((await sum({ ...all, from: T0 + 1, to: T0 + 7 * day - 1 })).total).toBe(1);
      expect((await sum({ ...all, from: T0 + 2 * day, to: T0 + 4 * day })).failed).toBe(1);
      expect((await sum({ ...all, to: T0 + 10 })).total).toBe(1);
    });
  });

  describe("usage", () => {
    const reservation = (executionId: string, amount = 1, limit: number | null = 100) => ({
      executionId,
      instanceId: "one",
      tenantId: "local",
      period: MONTH,
      at: T0,
      amounts: [{ metric: "tool_calls", amount, limit }],
    });

    test("many at once: in their order, as many as fit, exact beside single ones", async () => {
      const row = { instanceId: "one", tenantId: "local", period: MONTH, at: T0 };
      const few = { ...row, counters: [{ metric: "tool_calls", limit: 5 }] };
      await store().usage.reserve(reservation("single"));
      const first = await store().usage.reserveOnes(["a", "b", "c"], few);
      expect([[...first.taken].sort(), first.used]).toEqual([["a", "b", "c"], [4]]);
      const second = await store().usage.reserveOnes(["d", "e"], few);
      expect([[...second.taken], second.used]).toEqual([["d"], [5]]);
      expect(await of()).toEqual([{ metric: "tool_calls", used: 0, reserved: 5 }]);
      // Many askers, each with many: the sum is what fits.
      const open = { ...row, counters: [{ metric: "tool_calls", limit: 105 }] };
      const crowd = (i: number) => Array.from({ length: 50 }, (_, n) => `m${i}_${n}`);
      const many = await Promise.all(
        Array.from({ length: 10 }, (_, i) => store().usage.reserveOnes(crowd(i), open)),
      );
      expect(many.reduce((sum, { taken }) => sum + taken.size, 0)).toBe(100);
      expect(await store().usage.reserve(reservation("late", 1, 105))).toEqual({
        ok: false,
        metric: "tool_calls",
        used: 105,
      });
    });

    test("item 1: many at once on several counters: a place in all of them or in none", async () => {
      const { usage } = store();
      const row = { instanceId: "one", tenantId: "local", period: MONTH, at: T0 };
      const counters = [
        { metric: "tool_calls@user:ann", limit: 3 },
        { metric: "tool_calls", limit: 4 },
      ];
      await usage.reserve(reservation("other", 2));
      const ann = await usage.reserveOnes(["a", "b", "c"], { ...row, counters });
      expect([[...ann.taken].sort(), ann.used]).toEqual([
        ["a", "b"],
        [2, 4],
      ]);
      expect(await of()).toEqual([
        { metric: "tool_calls", used: 0, reserved: 4 },
        { metric: "tool_calls@user:ann", used: 0, reserved: 2 },
      ]);
      await usage.release("a");
      expect(await usage.of("local", MONTH, ["tool_calls@user:ann", "tokens"])).toEqual([
        { metric: "tool_calls@user:ann", used: 0, reserved: 1 },
      ]);
      await expect(usage.reserveOnes(["d"], { ...row, counters: [] })).rejects.toThrow(/counter/);
    });

    test("item 2: requests are added up, by two instances at once", async () => {
      const stores: [Store, Store] = [store(), await another()];
      const row = (metric: string, amount: number) => ({
        tenantId: "local",
        period: MONTH,
        metric,
        amount,
      });
      await atOnce(20, stores, (s, i) =>
        s.usage.add([row("api_calls", i), row("api_calls@user:ann", 1)]),
      );
      await store().usage.add([]);
      expect(await of()).toEqual([
        { metric: "api_calls", used: 190, reserved: 0 },
        { metric: "api_calls@user:ann", used: 20, reserved: 0 },
      ]);
    });

    test("a start counts its budget in the month it started, the end corrects it", async () => {
      await start({ id: "a" }, { budget: { tool_calls: 1, storage_gb: 0.25 } });
      await start({ id: "b" }, { budget: { tool_calls: 1 } });
      await start({ id: "c", at: Date.UTC(2025, 11, 31, 23, 59) }, { budget: { tool_calls: 1 } });
      await start({ id: "d", tenantId: "other" }, { budget: { tool_calls: 1 } });
      expect(await of()).toEqual([
        { metric: "storage_gb", used: 0.25, reserved: 0 },
        { metric: "tool_calls", used: 2, reserved: 0 },
      ]);
      await end({ id: "a" }, { storage_gb: 0.5, tokens: 7 });
      await end({ id: "b", status: "failed" }, { tool_calls: -1, tokens: -3 });
      await end({ id: "b" }, { tool_calls: -1 });
      expect(await of()).toEqual([
        { metric: "storage_gb", used: 0.75, reserved: 0 },
        { metric: "tokens", used: 4, reserved: 0 },
        { metric: "tool_calls", used: 1, reserved: 0 },
      ]);
      expect(await store().usage.of("local", "2025-12")).toEqual([
        { metric: "tool_calls", used: 1, reserved: 0 },
      ]);
    });

    test("never below zero; what is held, denied, late or without a row counts nothing", async () => {
      await held({ id: "a" }, { budget: { tool_calls: 1 } });
      await denied({ id: "b" }, { budget: { tool_calls: 1 } });
      expect(await of()).toEqual([]);
      await end({ id: "ghost" }, { tool_calls: 9 });
      await start({ id: "c" }, { budget: { tool_calls: 1 } });
      await end({ id: "c" }, { tool_calls: -5 });
      await start({ id: "c" }, { budget: { tool_calls: 1 } });
      await denied({ id: "d" }, { budgetDelta: { tokens: -1 } });
      expect(await of()).toEqual([
        { metric: "tokens", used: 0, reserved: 0 },
        { metric: "tool_calls", used: 0, reserved: 0 },
      ]);
      const bad = start({ id: "e" }, { budget: { tool_calls: "1" as unknown as number } });
      await expect(bad).rejects.toThrow(/budget\.tool_calls/);
    });

    test("a reservation stays while the call is held, and becomes use when it starts", async () => {
      const { usage } = store();
      expect(await usage.reserve(reservation("a", 3))).toEqual({ ok: true });
      expect(await usage.reserve(reservation("a", 3))).toEqual({ ok: true });
      await held({ id: "a" }, { budget: { tool_calls: 3 }, reserved: true });
      expect(await of()).toEqual([{ metric: "tool_calls", used: 0, reserved: 3 }]);
      await start({ id: "a" }, { budget: { tool_calls: 3 }, reserved: true });
      expect(await of()).toEqual([{ metric: "tool_calls", used: 3, reserved: 0 }]);
      await usage.reserve(reservation("b"));
      await held({ id: "b" }, { budget: { tool_calls: 1 }, reserved: true });
      await store().log.append(ended({ id: "b", status: "cancelled" }));
      await usage.reserve(reservation("c"));
      await usage.release("c");
      expect(await of()).toEqual([{ metric: "tool_calls", used: 3, reserved: 0 }]);
    });

    test("all amounts or none; the first that does not fit is named", async () => {
      const { usage } = store();
      await start({ id: "s" }, { budget: { tokens: 90 } });
      const both = (executionId: string, tokens: number) => ({
        ...reservation(executionId),
        amounts: [
          { metric: "tool_calls", amount: 1, limit: 2 },
          { metric: "tokens", amount: tokens, limit: 100 },
          { metric: "images", amount: 1, limit: null },
        ],
      });
      expect(await usage.reserve(both("a", 11))).toEqual({ ok: false, metric: "tokens", used: 90 });
      expect(await of()).toEqual([{ metric: "tokens", used: 90, reserved: 0 }]);
      expect(await usage.reserve(both("a", 9))).toEqual({ ok: true });
      expect(await usage.reserve(both("b", 2))).toEqual({ ok: false, metric: "tokens", used: 99 });
      expect(await usage.reserve(both("b", 1))).toEqual({ ok: true });
      expect(await usage.reserve(both("c", 0))).toEqual({
        ok: false,
        metric: "tool_calls",
        used: 2,
      });
      const twice = [
        { metric: "tokens", amount: 1, limit: null },
        { metric: "tokens", amount: 1, limit: null },
      ];
      await expect(usage.reserve({ ...both("d", 1), amounts: twice })).rejects.toThrow(/twice/);
      expect(await usage.reserve({ ...reservation("e"), period: "2026-02" })).toEqual({ ok: true });
    });

    test("L12: of 1,000 at once exactly 100 fit a limit of 100", { timeout: 120_000 }, async () => {
      const stores: [Store, Store] = [store(), await another()];
      const startOf = (i: number) =>
        event({ id: `e${i}` }, "tool.execution.start", {
          ...startBody({ id: `e${i}` }),
          budget: { tool_calls: 1 },
          reserved: true,
        });
      const answers = await atOnce(1000, stores, async (s, i) => {
        const answer = await insist(() => s.usage.reserve(reservation(`e${i}`)));
        // Some start at once, so that reservations turn into use while others are made. One that came too late keeps
        // its place.
        if (answer.ok && i % 3 === 0) await s.log.append(startOf(i)).catch(() => undefined);
        return answer;
      });
      expect(answers.filter((a) => a.ok).length).toBe(100);
      const [row] = await of();
      expect((row?.used ?? 0) + (row?.reserved ?? 0)).toBe(100);
      expect(row?.used).toBeGreaterThan(0);
    });

    test("1,000 calls of two instances are counted exactly", async () => {
      const stores: [Store, Store] = [store(), await another()];
      await atOnce(1000, stores, (s, i) =>
        s.log.append(
          event({ id: `e${i}` }, "tool.execution.start", {
            ...startBody({ id: `e${i}` }),
            budget: { tool_calls: 1, tokens: i },
          }),
        ),
      );
      expect(await of()).toEqual([
        { metric: "tokens", used: 499_500, reserved: 0 },
        { metric: "tool_calls", used: 1000, reserved: 0 },
      ]);
    });

    test("a restart gives back what its executions never used, not what waits for a person", async () => {
      const { usage } = store();
      for (const id of ["held", "lost", "ended"]) await usage.reserve(reservation(id));
      await usage.reserve({ ...reservation("other"), instanceId: "two" });
      await held({ id: "held" }, { reserved: true });
      expect(await usage.releaseOrphans("one")).toBe(2);
      expect(await of()).toEqual([{ metric: "tool_calls", used: 0, reserved: 2 }]);
      expect(await usage.releaseOrphans("one")).toBe(0);
    });
  });
}
