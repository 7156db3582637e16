import { describe, expect, test } from "vitest";
import { ask, testPowers, testSubject } from "../../../test/fixtures/gate.ts";
import type { RateWindow } from "../../contract/call.ts";
import type { RateResult, RateKind } from "../../governance/limits/rate.ts";
import { rate } from "./rate.ts";
import { type Subject } from "../../contract/subject.ts";
import { judge, newTrail } from "./stage.ts";

const window = (name: string, change: Partial<RateWindow> = {}): RateWindow => ({
  name,
  quota: 60,
  windowSeconds: 60,
  remaining: 0,
  resetSeconds: 23,
  ...change,
});

const decide = (answer: RateResult | Promise<RateResult>, subject: Partial<Subject> = {}) =>
  ask(rate, subject, { rates: { take: () => answer } });

const refusal = (...violated: [RateKind, RateWindow][]): RateResult => ({
  ok: false,
  windows: violated.map(([, each]) => each),
  violated: violated.map(([kind, each]) => ({ kind, window: each })),
});

describe("stage rate", () => {
  test("allows where no window applies", () => {
    expect(decide({ ok: true, windows: [], violated: [] })).toEqual({ kind: "allow" });
  });

  test("an allow carries the windows and gives its place back when it is undone", async () => {
    let given = 0;
    const windows = [window("user-minute", { remaining: 9 })];
    const decision = await decide(
      Promise.resolve({ ok: true, windows, violated: [], refund: () => void given++ }),
    );
    expect(decision).toMatchObject({ kind: "allow", windows });
    if (decision.kind === "allow") await decision.undo?.();
    expect(given).toBe(1);
    expect(decide({ ok: true, windows, violated: [] })).toEqual({ kind: "allow", windows });
  });

  test("R172: a refusal names the window, how long to wait and what to do", () => {
    expect(decide(refusal(["key", window("key-minute")]))).toEqual({
      kind: "deny",
      code: "TOO_MANY_REQUESTS",
      reason: "rate_key",
      message: "Rate limit exceeded: 60 calls per minute for this key (key-minute). Retry in 23 s",
      remedy: "retry after 23 s",
      retryAfterSeconds: 23,
      windows: [window("key-minute")],
    });
  });

  test("of several windows all are told, and the reason is the one that lasts longest", () => {
    const decision = decide(
      refusal(
        ["user", window("user-minute", { resetSeconds: 0 })],
        ["category", window("category-minute", { quota: 5 })],
        ["tool", window("tool-hour", { quota: 10, resetSeconds: 900 })],
        ["ip", window("ip-minute")],
        ["mode", window("mode-minute", { quota: 15 })],
      ),
    );
    expect(decision).toMatchObject({ reason: "rate_tool", retryAfterSeconds: 900 });
    expect(decision).toHaveProperty(
      "message",
      "Rate limit exceeded: 10 calls per hour for system/probe (tool-hour); 5 calls per minute for tools of category system (category-minute); 60 calls per minute for this address (ip-minute); 15 calls per minute in the present operating mode (mode-minute); 60 calls per minute for user ada (user-minute). Retry in 900 s",
    );
    const soon = decide(refusal(["user", window("user-minute", { resetSeconds: 0 })]));
    expect(soon).toMatchObject({ retryAfterSeconds: 1 });
    const gone = decide(refusal(["category", window("category-minute")]), { tool: null });
    expect(gone).toMatchObject({ reason: "rate_category" });
  });

  test("item 15: the throttle names itself, the reason and the end", () => {
    const throttle = {
      callsPerMinute: 30,
      until: Date.UTC(2026, 10, 18, 1),
      because: "3 calls were forbidden within 10 minutes",
    };
    const refused = (quota: number): RateResult => {
      const full = window("throttle-minute", { quota });
      return {
        ok: false,
        windows: [full],
        violated: [{ kind: "throttle", window: full, throttle }],
      };
    };
    expect(decide(refused(30))).toMatchObject({
      reason: "rate_throttle",
      message:
        "Rate limit exceeded: user ada is throttled to 30 calls per minute until 2026-11-18T01:00:00.000Z, because 3 calls were forbidden within 10 minutes (throttle-minute). Retry in 23 s",
      remedy:
        "retry after 23 s; stop making the calls that were refused (ostiary history list --status failed)",
      retryAfterSeconds: 23,
    });
    expect(decide(refused(0))).toMatchObject({
      message: expect.stringContaining(
        "throttled to no calls until 2026-11-18T01:00:00.000Z",
      ) as string,
      remedy: "wait until 2026-11-18T01:00:00.000Z",
    });
  });

  test("item 1: the tenant's window is named as such", () => {
    expect(decide(refusal(["tenant", window("tenant-minute")]))).toMatchObject({
      reason: "rate_tenant",
      message:
        "Rate limit exceeded: 60 calls per minute for tenant local (tenant-minute). Retry in 23 s",
    });
  });

  test("a closed window names no time: nobody knows it", () => {
    const decision = decide(
      refusal(["mode", window("mode-minute", { quota: 0, resetSeconds: 60 })]),
    );
    expect(decision).toMatchObject({
      reason: "rate_mode",
      message: "Rate limit exceeded: no calls in the present operating mode (mode-minute)",
      remedy: "wait until the operating mode changes",
    });
    expect(decision).not.toHaveProperty("retryAfterSeconds");
  });

  test("a question shows what was read", () => {
    const windows = [window("user-minute", { remaining: 3 })];
    expect(decide({ ok: true, windows, violated: [] }, { suppose: {} })).toMatchObject({
      read: windows,
    });
    expect(decide(refusal(["user", window("user-minute")]), { suppose: {} })).toMatchObject({
      kind: "deny",
      read: [{ name: "user-minute" }],
    });
  });

  test.each([
    [
      "throws",
      () => {
        throw new Error("down");
      },
    ],
    ["rejects", () => Promise.reject(new Error("BROKEN counter"))],
    ["refuses without a reason", () => ({ ok: false, windows: [], violated: [] })],
    ["hangs", () => new Promise<RateResult>(() => undefined)],
  ])("threats §6: a state that %s denies within 250 ms", async (_, take) => {
    const began = performance.now();
    const verdict = await judge(rate, testSubject(), testPowers({ rates: { take } }), newTrail());
    expect(verdict).toMatchObject({
      verdict: "deny",
      code: "UNAVAILABLE",
      reason: "engine_unavailable",
      engine: "state",
    });
    expect(performance.now() - began).toBeLessThan(400);
  });
});
