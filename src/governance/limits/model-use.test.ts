// Tokens of models outside of tool calls, on a real store.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { testCaller, testGovernance } from "../../../test/fixtures/gate.ts";
import type { Plan } from "../../contract/call.ts";
import { openStore, type Store } from "../../storage/store/store.ts";
import { createIds } from "../../util/ids.ts";
import { createModelUse } from "./model-use.ts";

let folder = "";
let store: Store;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "ostiary-model-use-"));
  store = await openStore("sqlite:a.db", { dataDir: folder });
});
afterAll(async () => {
  await store.close();
  rmSync(folder, { recursive: true });
});

const spent: Readonly<Record<string, number>>[] = [];
const use = (usage: Store["usage"] = store.usage) =>
  createModelUse({
    usage,
    governance: () => testGovernance({ budget: (plan) => (plan === "free" ? 1_000 : null) }),
    instanceId: "inst_1",
    ids: createIds(),
    now: () => Date.UTC(2026, 10, 18),
    onSpent: (amounts) => spent.push(amounts),
  });
const callerIn = (tenantId: string, plan: Plan | null) =>
  testCaller({ tenantId, plan, plans: { tenant: plan, user: null, key: null } });

test("takes what is left of what is wanted, settles what was used, and refuses when too little is left", async () => {
  const caller = callerIn("one", "free");
  await use().check(caller);
  const first = await use().reserve(caller, { wanted: 5_000, atLeast: 10 });
  expect(first.tokens).toBe(1_000);
  await expect(use().reserve(caller, { wanted: 20, atLeast: 10 })).rejects.toMatchObject({
    fault: { code: "BUDGET_EXHAUSTED", reason: "budget_tokens" },
  });
  await first.settle(400);
  expect(spent).toEqual([{ tokens: 400 }]);
  const second = await use().reserve(caller, { wanted: 300, atLeast: 10 });
  expect(second.tokens).toBe(300);
  await second.settle(0);
  expect(spent).toHaveLength(1);
  const third = await use().reserve(caller, { wanted: 600, atLeast: 10 });
  await third.settle(600);
  await expect(use().check(caller)).rejects.toMatchObject({ fault: { reason: "budget_tokens" } });
});

test("without a limit everything that is wanted is taken; pictures count on their own metric", async () => {
  const caller = callerIn("two", null);
  await use().check(caller);
  expect((await use().reserve(caller, { wanted: 9_000, atLeast: 1 })).tokens).toBe(9_000);
  await use().count(caller, "images", 2);
  expect(await store.usage.of("two", "2026-11", ["images"])).toMatchObject([{ used: 2 }]);
});

test("a refusal on a counter that was not asked about is an error of ours", async () => {
  const wrong = {
    ...store.usage,
    reserve: () => Promise.resolve({ ok: false as const, metric: "x", used: 1 }),
  };
  await expect(
    use(wrong).reserve(callerIn("three", "free"), { wanted: 1, atLeast: 1 }),
  ).rejects.toThrow("no limit on x");
});
