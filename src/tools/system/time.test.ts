import { afterAll, beforeAll, expect, test } from "vitest";
import { openBench, type Bench } from "../../../test/fixtures/tool-bench.ts";
import time from "./time.ts";

let bench: Bench;
beforeAll(async () => {
  bench = await openBench();
});
afterAll(() => bench.close());

test("without arguments it is now, in UTC", async () => {
  expect(await bench.run(time, {})).toEqual({
    iso: "2026-01-02T03:04:05.678Z",
    unixMs: 1767323045678,
    formatted: "2026-01-02T03:04:05.678Z",
    timezone: "UTC",
    offset: "+00:00",
    weekday: "Friday",
  });
});

test("another zone changes the local form, not the instant", async () => {
  expect(await bench.run(time, { timezone: "America/New_York" })).toEqual({
    iso: "2026-01-02T03:04:05.678Z",
    unixMs: 1767323045678,
    formatted: "2026-01-01T22:04:05.678-05:00",
    timezone: "America/New_York",
    offset: "-05:00",
    weekday: "Thursday",
  });
});

test.each([
  ["iso", "2026-07-01T17:30:00.000+05:30"],
  ["date", "2026-07-01"],
  ["time", "17:30:00"],
  ["datetime", "2026-07-01 17:30:00"],
  ["http", "Wed, 01 Jul 2026 12:00:00 GMT"],
  ["unix", "1782907200"],
  ["unix_ms", "1782907200000"],
  ["dddd [the] DD. MMMM YYYY, HH:mm:ss.SSS Z", "Wednesday the 01. July 2026, 17:30:00.000 +05:30"],
  ["ddd MMM MM", "Wed Jul 07"],
  ["constructor", "constructor"],
])("format %s", async (format, formatted) => {
  const output = await bench.run(time, {
    at: "2026-07-01T12:00:00Z",
    timezone: "Asia/Kolkata",
    format,
  });
  expect(output["formatted"]).toBe(formatted);
});

test.each([
  // without an offset the moment is read in the zone, on both sides of a change to summer time
  ["2026-03-29T01:30:00", "Europe/Berlin", "2026-03-29T00:30:00.000Z"],
  ["2026-03-29T03:30:00", "Europe/Berlin", "2026-03-29T01:30:00.000Z"],
  ["2026-07-01", "Europe/Berlin", "2026-06-30T22:00:00.000Z"],
  ["2026-07-01 12:00", "UTC", "2026-07-01T12:00:00.000Z"],
  ["2026-07-01T12:00:00.123456Z", "UTC", "2026-07-01T12:00:00.123Z"],
  ["2026-07-01T12:00:00-0330", "UTC", "2026-07-01T15:30:00.000Z"],
  ["0001-01-01T00:00:00Z", "UTC", "0001-01-01T00:00:00.000Z"],
  ["9999-12-31T23:59:59Z", "Asia/Tokyo", "9999-12-31T23:59:59.000Z"],
  ["2024-02-29", "UTC", "2024-02-29T00:00:00.000Z"],
])("at %s in %s", async (at, timezone, iso) => {
  expect((await bench.run(time, { at, timezone }))["iso"]).toBe(iso);
});

test.each([
  "yesterday",
  "2026-02-29",
  "2026-13-01",
  "2026-01-01T25:00",
  "2026-01-01T00:60",
  "1",
  "2026-01-01T00:00+25:00",
  "0000-01-01",
])("at %s is refused", async (at) => {
  const fault = await bench.fault(time, { at });
  expect(fault).toMatchObject({ code: "BAD_REQUEST", reason: "invalid_arguments" });
  expect(fault.errors?.[0]?.path).toBe("/at");
});

test("an unknown zone is refused by name", async () => {
  const fault = await bench.fault(time, { timezone: "Mars/Olympus" });
  expect(fault).toMatchObject({ code: "EXECUTION_FAILED", reason: "timezone_unknown" });
  expect(fault.message).toContain("Mars/Olympus");
});

test("it is not repeatable, by declaration", () => {
  expect(time).toMatchObject({
    idempotent: false,
    effects: "essential_health_check",
    timeoutMs: 5_000,
  });
});
