import { describe, expect, test } from "vitest";
import { testCaller, testGovernance } from "../../../test/fixtures/gate.ts";
import type { Plan } from "../../contract/call.ts";
import type { AppError } from "../../contract/errors.ts";
import type { LowBudget } from "./budgets.ts";
import { createRequests } from "./requests.ts";

const NOW = Date.UTC(2026, 10, 30, 23, 59, 59);

/** Requests on counters in a Map, as the store keeps them. */
function house({ limit = 5, shared = false }: { limit?: number; shared?: boolean } = {}) {
  const kept = new Map<string, number>();
  const low: LowBudget[] = [];
  const seen = { reads: 0, down: false, now: NOW };
  const nameOf = (period: string, metric: string) => `${period} ${metric}`;
  const requests = createRequests({
    shared,
    usage: {
      add(rows) {
        if (seen.down) return Promise.reject(new Error("down"));
        for (const { period, metric, amount } of rows)
          kept.set(nameOf(period, metric), (kept.get(nameOf(period, metric)) ?? 0) + amount);
        return Promise.resolve();
      },
      of(_tenant, period, metrics = []) {
        seen.reads++;
        if (seen.down) return Promise.reject(new Error("down"));
        return Promise.resolve(
          metrics.map((metric) => {
            return { metric, used: kept.get(nameOf(period, metric)) ?? 0, reserved: 0 };
          }),
        );
      },
    },
    governance: () => testGovernance({ budget: (plan) => (plan === "free" ? limit : null) }),
    now: () => seen.now,
    onLow: (each) => low.push(each),
  });
  const of = (tenant: Plan | null, user: Plan | null) =>
    testCaller({ plans: { tenant, user, key: null } });
  return { requests, kept, low, seen, of };
}

describe("item 2: requests", () => {
  test("without a limit they are counted at once, and the store is only written", async () => {
    const { requests, kept, seen, of } = house();
    const caller = of("enterprise", null);
    for (let i = 0; i < 9; i++) expect(requests.count(caller)).toBeNull();
    expect(kept.size).toBe(0);
    await requests.flush();
    await requests.flush();
    expect([...kept]).toEqual([["2026-11 api_calls", 9]]);
    expect(seen.reads).toBe(0);
  });

  test("with a limit: what was used before is looked up once, then exactly as many pass", async () => {
    const { requests, kept, low, seen, of } = house();
    kept.set("2026-11 api_calls@user:ada", 2);
    const caller = of("enterprise", "free");
    const answers = await Promise.all(
      Array.from({ length: 9 }, async () => requests.count(caller)),
    );
    expect(answers.filter((each) => each === null)).toHaveLength(3);
    expect(seen.reads).toBe(1);
    const refused = requests.count(caller) as AppError;
    expect(refused.fault).toMatchObject({ code: "BUDGET_EXHAUSTED", reason: "budget_api_calls" });
    expect(refused.message).toMatch(
      /^user ada has used 5 of the 5 api_calls of plan free this month/,
    );
    expect(low).toMatchObject([
      { owner: "user", ownerId: "ada", metric: "api_calls", used: 4, limit: 5 },
    ]);
    // Counted, and never refused.
    expect(requests.count(caller, true)).toBeNull();
    await requests.flush();
    expect(Object.fromEntries(kept)).toEqual({
      "2026-11 api_calls": 4,
      "2026-11 api_calls@user:ada": 6,
    });
    // A new month starts anew, and the old one keeps what it had.
    expect(requests.count(caller, true)).toBeNull();
    seen.now = Date.UTC(2026, 11, 1);
    expect(await requests.count(caller)).toBeNull();
    await requests.flush();
    expect(Object.fromEntries(kept)).toEqual({
      "2026-11 api_calls": 5,
      "2026-11 api_calls@user:ada": 7,
      "2026-12 api_calls": 1,
      "2026-12 api_calls@user:ada": 1,
    });
  });

  test("what cannot be written is kept, and whoever cannot be looked up is refused", async () => {
    const { requests, kept, seen, of } = house();
    expect(requests.count(of("enterprise", null))).toBeNull();
    seen.down = true;
    await expect(requests.flush()).rejects.toThrow("down");
    await expect(requests.count(of("free", null))).rejects.toMatchObject({ code: "UNAVAILABLE" });
    seen.down = false;
    expect(await requests.count(of("free", null))).toBeNull();
    await requests.flush();
    expect(kept.get("2026-11 api_calls")).toBe(2);
  });

  test("of a shared database it learns what others counted", async () => {
    const { requests, kept, of } = house({ shared: true });
    const caller = of("free", null);
    expect(await requests.count(caller)).toBeNull();
    await requests.flush();
    kept.set("2026-11 api_calls", 5);
    expect(requests.count(caller)).toBeNull();
    await requests.flush();
    expect(requests.count(caller)).toMatchObject({ code: "BUDGET_EXHAUSTED" });
  });
});
