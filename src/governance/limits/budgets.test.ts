import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { testCaller, testGovernance, testSubject, testTool } from "../../../test/fixtures/gate.ts";
import type { Caller, Plan } from "../../contract/call.ts";
import type { Subject } from "../../contract/subject.ts";
import { openStore, type Store } from "../../storage/store/store.ts";
import type { Metric } from "./budget.ts";
import { createBudgets, type LowBudget } from "./budgets.ts";
import { periodEnd, periodOf } from "./period.ts";

const NOW = Date.UTC(2026, 10, 30, 23, 59, 59);
let folder = "";
let store: Store;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "ostiary-budgets-"));
  store = await openStore("sqlite:a.db", { dataDir: folder });
});
afterAll(async () => {
  await store.close();
  rmSync(folder, { recursive: true });
});

type Limits = Partial<Record<Metric, number>>;
let tenants = 0;
let executions = 0;

/** Budgets on a real store, of a tenant of its own. */
function house(plans: Partial<Record<Plan, Limits>>, usage: Store["usage"] = store.usage) {
  const low: LowBudget[] = [];
  const spent: Readonly<Record<string, number>>[] = [];
  const tenantId = `tenant_${++tenants}`;
  const clock = { now: NOW };
  const budgets = createBudgets({
    usage,
    governance: () =>
      testGovernance({
        budget: (plan, metric) => (plan === null ? null : (plans[plan]?.[metric] ?? null)),
      }),
    now: () => clock.now,
    instanceId: "inst_1",
    onLow: (each) => low.push(each),
    onSpent: (amounts) => spent.push(amounts),
  });
  const subject = (change: Partial<Subject> = {}, plan: Plan | null = "free"): Subject =>
    testSubject({
      id: `exec_${++executions}`,
      caller: testCaller({ tenantId, plan, plans: { tenant: plan, user: null, key: null } }),
      ...change,
    });
  return { budgets, subject, low, spent, tenantId, clock };
}

describe("budgets", () => {
  let broken: Store["usage"];
  beforeEach(() => {
    const down = () => Promise.reject(new Error("the store does not answer"));
    broken = {
      reserve: down,
      reserveOnes: down,
      add: down,
      release: down,
      of: down,
      releaseOrphans: down,
    };
  });

  test("R181: an unlimited plan is a constant yes that asks no store", () => {
    const { budgets, subject } = house({ free: { tool_calls: 1 } }, broken);
    const answer = budgets.reserve(subject({}, "enterprise"));
    expect(answer).toEqual({ ok: true });
    expect(budgets.reserve(subject({}, null))).toBe(answer);
    expect(budgets.peek(subject({}, "enterprise"))).toBe(answer);
  });

  test("R180, L12: 100 of 1,000 parallel calls get a place, per tenant and month", async () => {
    const { budgets, subject, clock, tenantId } = house({ free: { tool_calls: 100 } });
    const all = await Promise.all(
      Array.from({ length: 1_000 }, async () => budgets.reserve(subject())),
    );
    expect(all.filter(({ ok }) => ok)).toHaveLength(100);
    expect(all.find(({ ok }) => !ok)).toEqual({
      ok: false,
      owner: { kind: "tenant", id: tenantId, plan: "free" },
      metric: "tool_calls",
      used: 100,
      limit: 100,
      resetsAt: Date.UTC(2026, 11, 1),
    });
    clock.now = Date.UTC(2026, 11, 1);
    expect(await budgets.reserve(subject())).toMatchObject({ ok: true });
  });

  test("C38: what a refused call reserved is given back", async () => {
    const { budgets, subject } = house({ free: { tool_calls: 1 } });
    const first = await budgets.reserve(subject());
    expect(await budgets.reserve(subject())).toMatchObject({ ok: false });
    if (first.ok) await first.undo?.();
    expect(await budgets.reserve(subject())).toMatchObject({ ok: true });
  });

  test("a crowd before a used-up budget does not keep the store busy, and a held call passes", async () => {
    let asked = 0;
    const { reserve, reserveOnes } = store.usage;
    const counting: Store["usage"] = {
      ...store.usage,
      reserve: (row) => (asked++, reserve(row)),
      reserveOnes: (ids, row) => (asked++, reserveOnes(ids, row)),
    };
    const { budgets, subject, clock } = house({ free: { tool_calls: 1 } }, counting);
    const held = subject();
    await budgets.reserve(held);
    for (let i = 0; i < 9; i++)
      expect(await budgets.reserve(subject())).toMatchObject({ ok: false, used: 1 });
    expect(asked).toBe(2);
    expect(await budgets.reserve({ ...held, grant: { approvalId: "apr_1" } })).toMatchObject({
      ok: true,
    });
    clock.now += 250;
    await budgets.reserve(subject());
    expect(asked).toBe(4);
  });

  test("a held call that goes on keeps what it reserved", async () => {
    const { budgets, subject } = house({ free: { tool_calls: 1 } });
    const held = subject();
    await budgets.reserve(held);
    expect(await budgets.reserve({ ...held, grant: { approvalId: "apr_1" } })).toMatchObject({
      ok: true,
    });
  });

  test("F01: the metric that does not fit is named, and nothing is taken", async () => {
    const { budgets, subject, tenantId } = house({ free: { tool_calls: 9, images: 5 } });
    const tool = testTool({
      meters: [
        { metric: "images", estimate: { argument: "/n", otherwise: 1 } },
        { metric: "tokens", estimate: 7 },
      ],
    });
    expect(await budgets.reserve(subject({ tool, arguments: { n: 4 } }))).toMatchObject({
      ok: true,
    });
    expect(await budgets.reserve(subject({ tool, arguments: { n: 2 } }))).toMatchObject({
      ok: false,
      metric: "images",
      used: 4,
      limit: 5,
    });
    const caller = {
      tenantId,
      userId: "ada",
      keyId: null,
      plans: { tenant: "free", user: null, key: null },
    } as const;
    const usage = await budgets.usage(caller);
    const shown = (metric: Metric) => usage.find((row) => row.metric === metric);
    expect(shown("images")).toEqual({
      owner: { kind: "tenant", id: tenantId, plan: "free" },
      metric: "images",
      used: 0,
      reserved: 4,
      limit: 5,
      period: "2026-11",
      resetsAt: Date.UTC(2026, 11, 1),
    });
    expect(shown("tokens")).toMatchObject({ reserved: 7, limit: null });
    expect(shown("tool_calls")).toMatchObject({ reserved: 1, limit: 9 });
    expect(usage).toHaveLength(7);
    expect((await budgets.usage(caller, "2026-10"))[0]).toMatchObject({
      reserved: 0,
      period: "2026-10",
      resetsAt: Date.UTC(2026, 10, 1),
    });
  });

  test("a question takes nothing and shows what it saw", async () => {
    const { budgets, subject } = house({ free: { tool_calls: 1 } });
    const seen = [{ owner: "tenant", metric: "tool_calls", amount: 1, used: 0, limit: 1 }];
    expect(await budgets.peek(subject())).toEqual({ ok: true, seen });
    expect(await budgets.peek(subject())).toEqual({ ok: true, seen });
    await budgets.reserve(subject());
    expect(await budgets.peek(subject())).toMatchObject({
      ok: false,
      metric: "tool_calls",
      used: 1,
      limit: 1,
    });
  });

  test("C38: at 80 % it warns, once per metric and period", async () => {
    const { budgets, subject, low, tenantId, clock } = house({ free: { tool_calls: 10 } });
    const answers = [];
    for (let i = 0; i < 11; i++) answers.push(await budgets.reserve(subject()));
    expect(answers.map((each) => (each.ok ? (each.low ?? []).length : -1))).toEqual([
      0, 0, 0, 0, 0, 0, 0, 1, 0, 0, -1,
    ]);
    expect(low).toEqual([
      {
        tenantId,
        period: "2026-11",
        metric: "tool_calls",
        owner: "tenant",
        ownerId: tenantId,
        used: 8,
        limit: 10,
      },
    ]);
    clock.now = Date.UTC(2026, 11, 3);
    for (let i = 0; i < 9; i++) await budgets.reserve(subject());
    expect(low).toHaveLength(2);
  });

  test("of a large budget it looks now and then", async () => {
    let looks = 0;
    const counting = {
      ...store.usage,
      of: (...who: [string, string, (readonly string[])?]) => (looks++, store.usage.of(...who)),
    };
    const { budgets, subject, clock } = house({ team: { tool_calls: 10_000 } }, counting);
    for (let i = 0; i < 20; i++) await budgets.reserve(subject({}, "team"));
    expect(looks).toBe(1);
    clock.now += 5_000;
    await budgets.reserve(subject({}, "team"));
    expect(looks).toBe(2);
  });

  test("what is remembered of tenants is bounded; the forgotten one is asked about and warned again", async () => {
    let asked = 0;
    let refuse = false;
    const usage: Store["usage"] = {
      ...store.usage,
      of: () => Promise.resolve([]),
      reserveOnes: (ids) => {
        asked++;
        return Promise.resolve({ taken: new Set(refuse ? [] : ids), used: [1] });
      },
    };
    const budgets = createBudgets({
      usage,
      governance: () => testGovernance({ budget: () => 1 }),
      now: () => NOW,
      instanceId: "inst_1",
    });
    const any = testSubject();
    const reserve = (tenant: number) =>
      budgets.reserve({
        ...any,
        id: `exec_${++executions}`,
        caller: testCaller({
          tenantId: `t${tenant}`,
          plans: { tenant: "free", user: null, key: null },
        }),
      });
    const warned = async () => ((await reserve(0)) as { low?: Metric[] }).low ?? [];
    expect(await warned()).toEqual(["tool_calls"]);
    expect(await warned()).toEqual([]);
    for (let tenant = 1; tenant <= 10_000; tenant++) await reserve(tenant);
    expect(await warned()).toEqual(["tool_calls"]);
    refuse = true;
    asked = 0;
    await reserve(0);
    await reserve(0);
    expect(asked).toBe(1);
    for (let tenant = 1; tenant <= 10_000; tenant++) await reserve(tenant);
    await reserve(0);
    expect(asked).toBe(10_002);
  });

  test("a warning that cannot be looked up refuses nothing", async () => {
    const { budgets, subject } = house(
      { free: { tool_calls: 1 } },
      { ...store.usage, of: broken.of },
    );
    expect(await budgets.reserve(subject())).toMatchObject({ ok: true });
  });

  test("threats §6: a store that does not answer, or answers nonsense, is a fault", async () => {
    const { budgets, subject } = house({ free: { tool_calls: 1 } }, broken);
    await expect(budgets.reserve(subject())).rejects.toThrow("the store does not answer");
    await expect(budgets.peek(subject())).rejects.toThrow("the store does not answer");
    await expect(budgets.reserve(subject({ id: null }))).rejects.toThrow(/for an execution/);
    const odd = {
      ...store.usage,
      reserve: () => Promise.resolve({ ok: false, metric: "x", used: 1 } as const),
    };
    const other = house({ free: { tool_calls: 1 } }, odd);
    const metered = other.subject({
      tool: testTool({ meters: [{ metric: "tokens", estimate: 1 }] }),
    });
    await expect(other.budgets.reserve(metered)).rejects.toThrow(/'x', which has no limit/);
  });

  test("the record's book: amounts, whether they were reserved, and the correction", () => {
    const { budgets, subject, spent } = house({ free: { tool_calls: 100 } });
    const { book } = budgets;
    expect(book.amounts(subject())).toEqual({ tool_calls: 1 });
    expect(book.isReserved(subject())).toBe(true);
    expect(book.isReserved(subject({}, "enterprise"))).toBe(false);
    expect(book.settle(subject(), { dispatched: false, metadata: {} })).toEqual({ tool_calls: -1 });
    expect(spent).toEqual([]);
    book.settle(subject(), { dispatched: true, metadata: {} });
    book.settle(subject(), { dispatched: true, metadata: { usage: { tokens: 7 } } });
    expect(spent).toEqual([{ tool_calls: 1 }, { tool_calls: 1, tokens: 7 }]);
  });

  test("item 1, C51: tenant, user and key pay from budgets of their own, and all must have room", async () => {
    const { budgets, subject, tenantId } = house({
      free: { tool_calls: 2 },
      starter: { tool_calls: 3 },
      team: { tool_calls: 5 },
    });
    const caller = (userId: string, keyId: string, user: Plan | null, key: Plan | null) =>
      testCaller({ tenantId, userId, keyId, plans: { tenant: "team", user, key } });
    const refusedBy = async (who: Caller): Promise<string | null> => {
      const answer = await budgets.reserve(subject({ caller: who }));
      return answer.ok
        ? null
        : `${answer.owner.kind} ${answer.owner.id} ${answer.used}/${answer.limit}`;
    };
    const narrow = caller("ada", "k1", "starter", "free");
    const wide = caller("ada", "k2", "starter", null);
    const plain = caller("bob", "k3", null, null);
    expect([await refusedBy(narrow), await refusedBy(narrow), await refusedBy(narrow)]).toEqual([
      null,
      null,
      "key k1 2/2",
    ]);
    expect([await refusedBy(wide), await refusedBy(wide)]).toEqual([null, "user ada 3/3"]);
    expect([await refusedBy(plain), await refusedBy(plain), await refusedBy(plain)]).toEqual([
      null,
      null,
      `tenant ${tenantId} 5/5`,
    ]);
    const book = budgets.book;
    const counters = { tool_calls: 1, "tool_calls@user:ada": 1, "tool_calls@key:k1": 1 };
    expect(book.amounts(subject({ caller: narrow }))).toEqual(counters);
    expect(book.settle(subject({ caller: wide }), { dispatched: false, metadata: {} })).toEqual({
      tool_calls: -1,
      "tool_calls@user:ada": -1,
    });
    const usage = await budgets.usage(narrow);
    expect(
      usage
        .filter(({ metric }) => metric === "tool_calls")
        .map(({ owner, reserved, limit }) => [owner.kind, reserved, limit]),
    ).toEqual([
      ["key", 2, 2],
      ["user", 3, 3],
      ["tenant", 5, 5],
    ]);
  });

  test("item 1: an Enterprise tenant's user is limited by their own plan alone, exact among 1,000", async () => {
    const { budgets, subject, tenantId } = house({
      free: { tool_calls: 100 },
      team: { tool_calls: 150 },
    });
    const of = (user: Plan) =>
      testCaller({ tenantId, userId: user, plans: { tenant: "enterprise", user, key: null } });
    const all = await Promise.all(
      Array.from({ length: 1_000 }, async (_, i) => {
        const plan = i % 2 === 0 ? "free" : "team";
        return { plan, ...(await budgets.reserve(subject({ caller: of(plan) }))) };
      }),
    );
    const passed = (plan: Plan) => all.filter((each) => each.ok && each.plan === plan).length;
    expect([passed("free"), passed("team")]).toEqual([100, 150]);
  });

  test("C51: a key's own plan limits plain calls where tenant and user have no limit", async () => {
    const { budgets, subject, tenantId } = house({ free: { tool_calls: 2 } });
    const of = (keyId: string, key: Plan | null) =>
      subject({
        caller: testCaller({ tenantId, keyId, plans: { tenant: "enterprise", user: null, key } }),
      });
    for (let i = 0; i < 2; i++)
      expect(await budgets.reserve(of("k1", "free"))).toMatchObject({ ok: true });
    expect(await budgets.reserve(of("k1", "free"))).toMatchObject({
      ok: false,
      owner: { kind: "key", id: "k1" },
      used: 2,
    });
    expect(await budgets.reserve(of("k2", null))).toEqual({ ok: true });
  });

  test("plans are told with their limits", () => {
    const plans = house({ free: { tool_calls: 100 } }).budgets.plans();
    expect(plans.map(({ plan }) => plan)).toEqual(["free", "starter", "team", "enterprise", null]);
    expect(plans[0]).toMatchObject({
      callsPerMinute: null,
      budgets: { tool_calls: 100, tokens: null },
    });
  });
});

test("a period is a calendar month in UTC", () => {
  expect(periodOf(Date.UTC(2026, 11, 31, 23, 59))).toBe("2026-12");
  expect(periodEnd("2026-12")).toBe(Date.UTC(2027, 0, 1));
});
