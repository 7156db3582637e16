import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, expect, test } from "vitest";
import { openStore, type Store } from "../storage/store/store.ts";
import { createEmbeddedWork, type WorkTimes } from "./embedded.ts";
import { workPortSuite } from "./work.suite.ts";
import type { Work } from "./work.ts";

const TIMES: WorkTimes = { leaseMs: 1_500, renewMs: 300, pollMs: 50 };
const child = fileURLToPath(new URL("./work.suite.child.ts", import.meta.url));

workPortSuite("embedded, SQLite", async () => {
  const dataDir = mkdtempSync(join(tmpdir(), "ostiary-work-"));
  const store = await openStore("sqlite:work.db", { dataDir });
  return {
    open: async (instanceId, report = () => undefined) =>
      createEmbeddedWork({
        items: store.workItems,
        instanceId,
        now: Date.now,
        report,
        times: TIMES,
      }),
    program: [child, "sqlite:work.db", dataDir, String(TIMES.leaseMs)],
    takeoverMs: TIMES.leaseMs + 500,
    async dispose() {
      await store.close();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
});

const opened: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of opened.splice(0).toReversed()) await close();
});

/** Two instances; the first one's leases cannot be renewed while `out` says so. */
async function instances(): Promise<{ a: Work; b: Work; net: { out: boolean }; store: Store }> {
  const dataDir = mkdtempSync(join(tmpdir(), "ostiary-work-"));
  const store = await openStore("sqlite:work.db", { dataDir });
  const net = { out: false };
  const cut: Store["workItems"] = {
    ...store.workItems,
    renew: (...of) => (net.out ? Promise.reject(new Error("out")) : store.workItems.renew(...of)),
  };
  const open = (instanceId: string, items: Store["workItems"]): Work =>
    createEmbeddedWork({ items, instanceId, now: Date.now, report: () => undefined, times: TIMES });
  const [a, b] = [open("a", cut), open("b", store.workItems)];
  opened.push(async () => {
    await Promise.all([a.close(), b.close()]);
    await store.close();
    rmSync(dataDir, { recursive: true, force: true });
  });
  return { a, b, net, store };
}

test("who cannot renew its lease is told that it lost it, and its end does not count", async () => {
  const { a, b, net } = await instances();
  const reasons: unknown[] = [];
  const began = Promise.withResolvers<void>();
  a.serve("job", async (_item, signal) => {
    // Later items are for the other instance.
    if (reasons.length > 0) return { done: false, at: Date.now() + 200 };
    began.resolve();
    await new Promise((resolve) => signal.addEventListener("abort", resolve));
    reasons.push(signal.reason);
    return { done: true };
  });
  await a.add({ kind: "job", id: "1" });
  await began.promise;
  net.out = true;
  const seen: string[] = [];
  b.serve("job", async ({ id }) => {
    seen.push(id);
    return seen.length > 1 ? { done: true } : { done: false, at: null };
  });
  await expect.poll(() => [reasons, seen], { timeout: 10_000 }).toEqual([["lost"], ["1"]]);
  // Had the first one's "done" counted, there would be nothing to wake.
  await b.wake({ kind: "job", id: "1" });
  await expect.poll(() => seen, { timeout: 10_000 }).toEqual(["1", "1"]);
});

test("what an instance held when it was killed is taken at once when it starts again", async () => {
  const { a, store } = await instances();
  await a.add({ kind: "job", id: "1" });
  const now = Date.now();
  const until = now + 3_600_000;
  expect(
    await store.workItems.lease({ kinds: ["job"], instanceId: "a", now, until, limit: 1 }),
  ).toHaveLength(1);
  const seen: string[] = [];
  a.serve("job", async ({ id }) => {
    seen.push(id);
    return { done: true };
  });
  await expect.poll(() => seen, { timeout: 10_000 }).toEqual(["1"]);
});

test("what one instance can do at once has a bound; the rest waits its turn", async () => {
  const { a } = await instances();
  let [at, most, done] = [0, 0, 0];
  a.serve("job", async () => {
    most = Math.max(most, ++at);
    await new Promise((resolve) => setTimeout(resolve, 20));
    at--;
    done++;
    return { done: true };
  });
  await Promise.all(Array.from({ length: 120 }, (_, i) => a.add({ kind: "job", id: `${i}` })));
  await expect.poll(() => done, { timeout: 30_000 }).toBe(120);
  expect(most).toBeLessThanOrEqual(50);
  expect(most).toBeGreaterThan(1);
});
