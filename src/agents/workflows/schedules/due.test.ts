import { describe, expect, test } from "vitest";
import type { ScheduleRow } from "../../../storage/store/store.ts";
import { dueUntil, MAX_CATCH_UP } from "./due.ts";
import { dueItem, dueOf } from "./item.ts";

const T0 = Date.parse("2026-11-19T12:00:00Z");
const MINUTE = 60_000;

const row = (more: Partial<ScheduleRow>): ScheduleRow => ({
  id: "sch_1",
  tenantId: "local",
  userId: "ann",
  keyId: null,
  workflowId: "wfl_1",
  cron: "*/5 * * * *",
  timezone: "UTC",
  enabled: true,
  input: {},
  nextAt: T0,
  lastAt: null,
  lastExecutionId: null,
  lastError: null,
  createdAt: T0,
  mandate: null,
  version: 1,
  pin: "p",
  catchUp: "once",
  overlap: "skip",
  ...more,
});
const ran = (more: Partial<ScheduleRow>, now: number): string[] =>
  dueUntil(row(more), now).map(
    ({ dueAt, state }) => `${new Date(dueAt).toISOString().slice(11, 16)} ${state}`,
  );

describe("due times", () => {
  test("in time: it runs, whatever the rule is", () => {
    for (const catchUp of ["skip", "once", "all"] as const)
      expect(ran({ catchUp }, T0 + 30_000)).toEqual(["12:00 due"]);
  });

  test("missed: left out, made up by one, or all", () => {
    const now = T0 + 13 * MINUTE;
    const expected = {
      skip: ["12:00 skipped", "12:05 skipped", "12:10 skipped"],
      once: ["12:00 skipped", "12:05 skipped", "12:10 due"],
      all: ["12:00 due", "12:05 due", "12:10 due"],
    };
    for (const catchUp of ["skip", "once", "all"] as const)
      expect(ran({ catchUp }, now)).toEqual(expected[catchUp]);
    for (const { note, state } of dueUntil(row({ catchUp: "skip" }), now))
      expect([state, note]).toEqual(["skipped", expect.stringContaining("missed")]);
  });

  test("one that is due now makes up for those that were missed", () => {
    expect(ran({}, T0 + 10 * MINUTE)).toEqual(["12:00 skipped", "12:05 skipped", "12:10 due"]);
  });

  test("after years without a server the newest are made up, and that takes no time", () => {
    const now = T0 + 3 * 365 * 1_440 * MINUTE;
    const minutely = dueUntil(row({ cron: "* * * * *", catchUp: "all" }), now);
    expect(minutely).toHaveLength(MAX_CATCH_UP);
    expect(minutely.at(-1)?.dueAt).toBe(now);
    const yearly = dueUntil(row({ cron: "0 0 1 1 *", catchUp: "all" }), now);
    expect(yearly.map(({ dueAt }) => new Date(dueAt).getUTCFullYear())).toEqual([2027, 2028, 2029]);
  });

  test("an item names its schedule and its time", () => {
    expect(dueOf(dueItem("sch_1", T0))).toEqual({ scheduleId: "sch_1", dueAt: T0 });
  });
});
