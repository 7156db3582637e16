import { describe, expect, test } from "vitest";
import { testCaller, testGovernance, testSubject, testTool } from "../../../test/fixtures/gate.ts";
import type { Caller, Mode, Plan, RateWindow } from "../../contract/call.ts";
import type { Subject } from "../../contract/subject.ts";
import type { Governance } from "../rules/governance.ts";
import type { ModeState, Throttle } from "../modes/mode.ts";
import { createMemoryState } from "../../storage/state/memory.ts";
import type { State } from "../../storage/state/state.ts";
import type { RateResult } from "./rate.ts";
import { createRates } from "./rates.ts";

interface House {
  limits?: Partial<Governance["limits"]>;
  mode?: Mode;
  throttle?: Throttle | null;
  enabled?: boolean;
  verdict?: "run" | "approval" | "no";
}

const heldTo = (callsPerMinute: number): Throttle => ({
  callsPerMinute,
  until: 2_000_000,
  because: "3 calls were forbidden within 10 minutes",
});

/** Rates on a real state; what a test gives can be changed while it runs. */
function house(settings: House = {}) {
  const low: [Caller, RateWindow][] = [];
  let now = 1_000_000;
  const state = createMemoryState({ now: () => now });
  const asked = { version: "1", ...settings };
  const rates = createRates({
    state,
    governance: () =>
      testGovernance({
        version: asked.version,
        limits: {
          ofPlan: () => null,
          ofCategory: () => null,
          ofTool: () => null,
          ofMode: () => null,
          perIp: null,
          explicitDefault: null,
          ...asked.limits,
        },
        modeRule: () => ({
          treatment: asked.verdict ?? "run",
          rule: { at: "modes.yaml:1", text: "" },
        }),
      }),
    mode: {
      current: () => ({ mode: asked.mode ?? "NORMAL" }) as ModeState,
      throttleOf: () => asked.throttle ?? null,
    },
    enabled: settings.enabled ?? true,
    now: () => now,
    onLow: (caller, window) => low.push([caller, window]),
  });
  const take = (change: Partial<Subject> = {}): RateResult =>
    rates.take(testSubject(change)) as RateResult; // memory answers at once
  const kinds = (answer: RateResult) => answer.violated.map(({ kind }) => kind);
  /** How many of twenty pass. */
  const passing = (change: Partial<Subject> = {}): number =>
    Array.from({ length: 20 }, () => take(change)).filter(({ ok }) => ok).length;
  return { asked, low, take, kinds, passing, later: (ms: number) => (now += ms) };
}

describe("rates", () => {
  test("nobody is limited by no window, and that answer is one constant", () => {
    const { take } = house();
    expect(take()).toBe(take());
    expect(take()).toEqual({ ok: true, windows: [], violated: [] });
    expect(house({ limits: { ofPlan: () => 1 } }).take({ tool: null })).toBe(take());
  });

  test("R170, R171: calls per minute of a user by plan, over all of that user's keys", () => {
    const { passing, take, kinds, later } = house({
      limits: { ofPlan: (plan) => (plan === "free" ? 3 : 7) },
    });
    const free = testCaller({ plans: { tenant: null, user: "free", key: null } });
    expect(passing({ caller: free })).toBe(3);
    expect(kinds(take({ caller: { ...free, keyId: "key_2" } }))).toEqual(["user"]);
    const none = { tenant: null, user: null, key: null };
    expect(passing({ caller: testCaller({ plans: none, userId: "bob" }) })).toBe(7);
    later(65_000);
    expect(take({ caller: free }).ok).toBe(true);
  });

  test("item 1, C51: user, tenant and key each have a window of their own plan", () => {
    const { passing, take, kinds } = house({
      limits: {
        ofPlan: (plan) =>
          plan === null ? 9 : { free: 2, starter: 3, team: 6, enterprise: null }[plan],
      },
    });
    const ada = testCaller({
      keyId: "k1",
      limits: { plan: "free" },
      plans: { tenant: "team", user: "starter", key: "free" },
    });
    expect(
      take({ caller: ada })
        .windows.map(({ name, quota }) => `${name} ${quota}`)
        .sort(),
    ).toEqual(["key-minute 2", "tenant-minute 6", "user-minute 3"]);
    expect(passing({ caller: ada })).toBe(1);
    expect(kinds(take({ caller: ada }))).toEqual(["key"]);
    const wide = testCaller({ keyId: "k2", plans: { tenant: "team", user: "starter", key: null } });
    expect(passing({ caller: wide })).toBe(1);
    expect(kinds(take({ caller: wide }))).toEqual(["user"]);
    // Without a plan of their own: what the tenant's plan leaves.
    const bob = testCaller({ userId: "bob", plans: { tenant: "team", user: null, key: null } });
    expect(passing({ caller: bob })).toBe(3);
    expect(kinds(take({ caller: bob }))).toEqual(["tenant"]);
  });

  test("item 1, C51, R291: the default is the window of whoever's plan names none", () => {
    const limits = { ofPlan: (plan: Plan | null) => (plan === null ? 4 : null) };
    const of = (tenant: Plan | null, user: Plan | null) =>
      testCaller({ plans: { tenant, user, key: null } });
    expect(house({ limits }).passing({ caller: of("enterprise", null) })).toBe(4);
    expect(house({ limits }).passing({ caller: of(null, null) })).toBe(4);
    expect(house({ limits }).passing({ caller: of("enterprise", "enterprise") })).toBe(20);
    const set = { ...limits, explicitDefault: 4 };
    expect(house({ limits: set }).passing({ caller: of(null, "enterprise") })).toBe(4);
  });

  test("R174: windows per category", () => {
    const { passing } = house({ limits: { ofCategory: (name) => (name === "file" ? 2 : null) } });
    const file = testTool({ name: "file/a", category: "file" });
    expect(passing({ tool: file })).toBe(2);
    expect(passing({ tool: testTool({ name: "file/b", category: "file" }) })).toBe(0);
    expect(passing()).toBe(20);
  });

  test.each([
    ["caller", { same: 0, tenant: 2, other: 2 }],
    ["tenant", { same: 0, tenant: 0, other: 2 }],
    ["global", { same: 0, tenant: 0, other: 0 }],
  ] as const)("R175: calls per hour of a tool, counted per %s", (scope, left) => {
    const { passing, later } = house({ limits: { ofTool: () => ({ perHour: 2, scope }) } });
    const ada = testCaller();
    expect(passing({ caller: ada })).toBe(2);
    later(120_000);
    expect(passing({ caller: ada })).toBe(left.same);
    expect(passing({ caller: testCaller({ userId: "bob" }) })).toBe(left.tenant);
    expect(passing({ caller: testCaller({ tenantId: "acme", userId: "eve" }) })).toBe(left.other);
  });

  test("R053: windows of the key itself: minute, hour and day", () => {
    const { passing, take, later } = house();
    const caller = testCaller({ limits: { perMinute: 3, perHour: 5, perDay: 6 } });
    expect(passing({ caller })).toBe(3);
    later(70_000);
    expect(passing({ caller })).toBe(2);
    later(4_000_000);
    expect(passing({ caller })).toBe(1);
    expect(take({ caller }).violated.map(({ window }) => window.name)).toEqual(["key-day"]);
    expect(passing({ caller: { ...caller, keyId: null } })).toBe(20);
  });

  test("C51: of a key's own window and that of its plan the smaller one holds", () => {
    const { passing } = house({ limits: { ofPlan: (plan) => (plan === "free" ? 4 : null) } });
    const plans = { tenant: null, user: null, key: "free" } as const;
    const of = (keyId: string, perMinute: number) =>
      testCaller({ keyId, plans, limits: { plan: "free", perMinute } });
    expect(passing({ caller: of("k1", 3) })).toBe(3);
    expect(passing({ caller: of("k2", 5) })).toBe(4);
  });

  test("R176: who has no key or user of its own is counted by address", () => {
    const { passing } = house({ limits: { perIp: 4 } });
    const caller = testCaller({ via: "anonymous" });
    expect(passing({ caller, ip: "10.0.0.1" })).toBe(4);
    expect(passing({ caller, ip: "10.0.0.2" })).toBe(4);
    expect(passing({ caller, ip: null })).toBe(20);
    expect(passing({ ip: "10.0.0.1" })).toBe(20);
  });

  test("C19: the mode's window; health checks are exempt", () => {
    const { asked, passing } = house({
      mode: "ALERT",
      limits: {
        ofMode: (mode) =>
          ({ NORMAL: null, ALERT: 15, DEGRADED: 5, LOCKDOWN: 0, RECOVERY: 10 })[mode],
      },
    });
    const caller = testCaller();
    expect(passing({ caller })).toBe(15);
    asked.mode = "DEGRADED";
    expect(passing({ caller })).toBe(0);
    expect(passing({ caller: testCaller({ userId: "bob" }) })).toBe(5);
    const health = testTool({ effects: "essential_health_check" });
    asked.mode = "LOCKDOWN";
    expect(passing({ tool: health })).toBe(20);
    expect(passing()).toBe(0);
    asked.mode = "NORMAL";
    expect(passing({ caller })).toBe(20);
  });

  test("C29: LOCKDOWN spares what a person approves, asking for it included", () => {
    const { asked, passing, take } = house({ mode: "LOCKDOWN", limits: { ofMode: () => 0 } });
    expect(take().ok).toBe(false);
    expect(take({ grant: { approvalId: "apr_1" } }).ok).toBe(true);
    asked.verdict = "approval";
    asked.version = "2";
    expect(passing()).toBe(20);
  });

  test("item 15: a throttled caller is held to the smaller number, under a name of its own", () => {
    const caller = testCaller();
    const { asked, passing, take, later } = house({ limits: { ofPlan: () => 10 } });
    asked.throttle = heldTo(4);
    expect(passing({ caller })).toBe(4);
    expect(take({ caller }).violated).toMatchObject([
      { kind: "throttle", window: { name: "throttle-minute", quota: 4 }, throttle: asked.throttle },
    ]);
    // What is looser than the user's own window changes nothing.
    asked.throttle = heldTo(10);
    expect(take({ caller }).windows).toMatchObject([{ name: "user-minute" }]);
    asked.throttle = null;
    expect(passing({ caller })).toBe(5);
    later(65_000);
    const free = house({ throttle: heldTo(2) });
    expect(free.passing()).toBe(2);
  });

  test("R177, R291: switched off, only the mode's window and the throttle stay", () => {
    const limits = {
      ofPlan: () => 1,
      ofCategory: () => 1,
      ofTool: () => ({ perHour: 1, scope: "global" as const }),
      perIp: 1,
    };
    const caller = testCaller({ limits: { perMinute: 1 } });
    expect(house({ enabled: false, limits }).passing({ caller })).toBe(20);
    expect(house({ enabled: false, limits, throttle: heldTo(3) }).passing({ caller })).toBe(3);
    const alert = house({ enabled: false, mode: "ALERT", limits: { ...limits, ofMode: () => 5 } });
    expect(alert.passing({ caller })).toBe(5);
  });

  test("pitfall 20: all windows or none, and every one without room is named", () => {
    const { take, kinds, asked } = house({ limits: { ofPlan: () => 5, ofCategory: () => 1 } });
    const caller = testCaller({ limits: { perMinute: 1 } });
    expect(take({ caller }).windows.map(({ name }) => name)).toEqual([
      "category-minute",
      "key-minute",
      "user-minute",
    ]);
    for (let i = 0; i < 3; i++) expect(kinds(take({ caller }))).toEqual(["category", "key"]);
    asked.version = "2";
    asked.limits = { ofPlan: () => 5 };
    expect(take({ caller: { ...caller, limits: null } }).windows).toMatchObject([
      { name: "user-minute", quota: 5, windowSeconds: 60, remaining: 3 },
    ]);
  });

  test("what was taken can be given back", async () => {
    const { take } = house({ limits: { ofPlan: () => 1 } });
    const taken = take();
    expect(take().ok).toBe(false);
    await taken.refund?.();
    expect(take().ok).toBe(true);
    expect(take().refund).toBeUndefined();
  });

  test("a question counts nothing, and may suppose another mode", () => {
    const { take, passing } = house({
      limits: { ofPlan: () => 2, ofMode: (mode) => (mode === "ALERT" ? 0 : null) },
    });
    for (let i = 0; i < 5; i++)
      expect(take({ suppose: {} })).toMatchObject({ ok: true, windows: [{ remaining: 2 }] });
    expect(take({ suppose: { mode: "ALERT" } })).toMatchObject({
      ok: false,
      violated: [{ kind: "mode" }],
    });
    expect(take({ suppose: {} }).refund).toBeUndefined();
    expect(passing()).toBe(2);
    expect(take({ suppose: {} }).ok).toBe(false);
  });

  test("a call that goes on after a yes was counted when it asked", () => {
    const { take } = house({ limits: { ofPlan: () => 2 } });
    take();
    expect(take().windows).toMatchObject([{ remaining: 0 }]);
    const going = take({ grant: { approvalId: "apr_1" } });
    expect(going).toMatchObject({ ok: true, windows: [{ remaining: 0 }], violated: [] });
    expect(going.refund).toBeUndefined();
  });

  test("at a fifth left it warns, once per window", () => {
    const { take, low, later } = house({ limits: { ofPlan: () => 10 } });
    for (let i = 0; i < 7; i++) take();
    expect(low).toEqual([]);
    for (let i = 0; i < 5; i++) take();
    expect(low).toMatchObject([
      [{ userId: "ada" }, { name: "user-minute", remaining: 2, quota: 10 }],
    ]);
    later(70_000);
    for (let i = 0; i < 9; i++) take();
    expect(low).toHaveLength(2);
  });

  test("a state that answers later, or not, is passed on as it is", async () => {
    const limits = testGovernance().limits;
    const on = (state: Pick<State, "take" | "peek" | "refund">) =>
      createRates({
        state,
        governance: () => testGovernance({ limits: { ...limits, ofPlan: () => 1 } }),
        mode: { current: () => ({ mode: "NORMAL" }) as ModeState, throttleOf: () => null },
        enabled: true,
        now: () => 0,
      });
    const memory = createMemoryState();
    const late = on({ ...memory, take: (windows) => Promise.resolve(memory.take(windows)) });
    expect(await late.take(testSubject())).toMatchObject({ ok: true });
    expect(await late.take(testSubject())).toMatchObject({ ok: false });
    const broken = on({ ...memory, take: () => Promise.reject(new Error("BROKEN counter")) });
    await expect(broken.take(testSubject())).rejects.toThrow("BROKEN");
  });
});
