import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { call, callWith, num, testContext } from "./testing.ts";

const NS = num("1585852421593912000");

describe("time", () => {
  test("fields in a time zone", () => {
    expect(call("time.date", NS)).toBe("[2020, 4, 2]");
    expect(call("time.clock", [NS, "America/New_York"])).toBe("[14, 33, 41]");
    expect(call("time.weekday", [NS, "Asia/Tokyo"])).toBe('"Friday"');
    expect(call("time.date", [NS, "Nowhere/None"])).toBe("failure: unknown time zone Nowhere/None");
    expect(call("time.date", num("1e30"))).toBe("failure: timestamp too big");
    expect(call("time.date", "x")).toContain("either number (ns) or [number (ns), string (tz)]");
  });

  test("Go layouts", () => {
    expect(call("time.format", NS)).toBe('"2020-04-02T18:33:41.593912Z"');
    expect(call("time.format", [NS, "Europe/Berlin", "RFC1123"])).toBe(
      '"Thu, 02 Apr 2020 20:33:41 CEST"',
    );
    expect(call("time.format", [NS, "UTC", "Monday _2 Jan 06 3:04PM"])).toBe(
      '"Thursday  2 Apr 20 6:33PM"',
    );
  });

  test("parsing", () => {
    expect(call("time.parse_rfc3339_ns", "2020-04-02T18:33:41.593912Z")).toBe(
      "1585852421593912000",
    );
    expect(call("time.parse_ns", "2006-01-02", "2020-02-30")).toContain("day out of range");
    expect(call("time.parse_ns", "RFC850", "Thursday, 02-Apr-20 18:33:41 GMT")).toBe(
      "1585852421000000000",
    );
    expect(call("time.parse_rfc3339_ns", "1600-01-01T00:00:00Z")).toBe(
      "failure: time outside of valid range",
    );
    expect(call("time.parse_rfc3339_ns", "x")).toContain('cannot parse "x" as "2006"');
  });

  test("dates roll over", () => {
    expect(call("time.add_date", 0, 0, 1, 30)).toBe("5270400000000000");
    expect(call("time.diff", [num("1577836800000000000"), "UTC"], num("1585852421593912000"))).toBe(
      "[0, 3, 1, 18, 33, 41]",
    );
  });

  test("durations, also of days and weeks", () => {
    expect(call("time.parse_duration_ns", "1h2m3.5s")).toBe("3723500000000");
    expect(call("time.parse_duration_ns", "1w1d")).toBe("691200000000000");
    expect(call("time.parse_duration_ns", "5x")).toContain('unknown unit "x"');
    expect(call("time.parse_duration_ns", "5")).toContain("missing unit in duration");
  });

  test("formatting and parsing are inverse", () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -(2n ** 62n), max: 2n ** 62n }), (ns) => {
        const text = JSON.parse(call("time.format", ns)) as string;
        expect(call("time.parse_rfc3339_ns", text)).toBe(ns.toString());
      }),
    );
  });

  test("now is the same throughout a query", () => {
    const ctx = testContext({ nowNs: () => 42n });
    expect(callWith(ctx, "time.now_ns")).toBe("42");
  });
});
