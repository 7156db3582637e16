import { describe, expect, test } from "vitest";
import { AppError } from "../../contract/errors.ts";
import { createMemoryState } from "../../storage/state/memory.ts";
import { createAddressThrottle } from "./address-throttle.ts";

const bad = new AppError("UNAUTHORIZED", "bad_credentials", "not known here");

describe("wrong credentials", () => {
  const house = (maxCounters = 100, perMinute: number | null = null) => {
    let now = 0;
    const state = createMemoryState({ now: () => now, maxCounters });
    const attempts = createAddressThrottle({ state, perMinute: () => perMinute });
    return { attempts, later: (ms: number) => (now += ms) };
  };

  test("R176: after 30 in a minute from one address the next ones are told to wait", () => {
    const { attempts, later } = house();
    for (let i = 0; i < 30; i++) expect(attempts.afterRefusal(bad, "10.0.0.1")).toBe(bad);
    const { fault } = attempts.afterRefusal(bad, "10.0.0.1") as AppError;
    expect(fault).toMatchObject({
      code: "TOO_MANY_REQUESTS",
      reason: "rate_ip",
      retryAfterSeconds: 65,
    });
    expect(attempts.afterRefusal(bad, "10.0.0.2")).toBe(bad);
    later(65_000);
    expect(attempts.afterRefusal(bad, "10.0.0.1")).toBe(bad);
  });

  test("item 2, R176: without a credential, with a wrong one or anonymous: one window of the address", () => {
    const { attempts, later } = house(100, 3);
    const none = new AppError("UNAUTHORIZED", "no_credentials", "none");
    expect(attempts.afterRefusal(none, "10.0.0.1")).toBe(none);
    expect(attempts.afterRefusal(bad, "10.0.0.1")).toBe(bad);
    expect(attempts.countAnonymous("10.0.0.1")).toBeNull();
    const { fault } = attempts.afterRefusal(none, "10.0.0.1") as AppError;
    expect(fault).toMatchObject({ reason: "rate_ip", retryAfterSeconds: 65 });
    expect(attempts.countAnonymous("10.0.0.1")).toMatchObject({ fault: { reason: "rate_ip" } });
    expect(attempts.countAnonymous("10.0.0.2")).toBeNull();
    expect(attempts.countAnonymous(undefined)).toBeNull();
    later(65_000);
    expect(attempts.afterRefusal(none, "10.0.0.1")).toBe(none);
  });

  test("other refusals, other errors and unknown addresses are passed on", () => {
    const { attempts } = house();
    const none = new AppError("UNAUTHORIZED", "no_credentials", "none");
    const odd = new Error("odd");
    for (let i = 0; i < 40; i++) {
      expect(attempts.afterRefusal(none, "10.0.0.1")).toBe(none);
      expect(attempts.afterRefusal(odd, "10.0.0.1")).toBe(odd);
      expect(attempts.afterRefusal(bad, undefined)).toBe(bad);
    }
  });

  test("a flood of addresses fills a bounded memory and opens nothing", () => {
    const { attempts } = house(3);
    for (let i = 0; i < 100; i++) expect(attempts.afterRefusal(bad, `10.0.1.${i}`)).toBe(bad);
  });
});
