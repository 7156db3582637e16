import { afterAll, beforeAll, expect, test } from "vitest";
import { openBench, type Bench, type BenchCall } from "../../../test/fixtures/tool-bench.ts";
import clear from "./clear.ts";
import documentation from "./documentation.ts";
import list from "./list.ts";
import search from "./search.ts";
import store from "./store.ts";

let bench: Bench;
beforeAll(async () => {
  bench = await openBench();
  await bench.run(store, {
    key: "fox",
    value: "The quick brown fox\njumps over the lazy dog",
    tags: ["animal"],
  });
  await bench.run(store, { key: "bread", value: { title: "Brown bread", steps: ["mix", "bake"] } });
  await bench.run(store, {
    key: "long",
    value: `${"filler ".repeat(200)}needle ${"more ".repeat(200)}`,
  });
});
afterAll(() => bench.close());

const keys = async (query: string, more: object = {}, options: BenchCall = {}): Promise<string[]> =>
  ((await bench.run(search, { query, ...more }, options))["results"] as { key: string }[])
    .map(({ key }) => key)
    .toSorted();

test("hits are marked in a snippet, and what comes back is untrusted", async () => {
  bench.notes.length = 0;
  const { results, total } = await bench.run(search, { query: '"quick brown" jump*' });
  expect(total).toBe(1);
  expect(results).toMatchObject([
    {
      key: "fox",
      namespace: "user",
      tags: ["animal"],
      updatedAt: new Date(bench.now).toISOString(),
    },
  ]);
  const [hit] = results as unknown as [{ snippet: string; score: number }];
  expect(hit.snippet).toBe("The «quick» «brown» fox «jumps» over the lazy dog");
  expect(bench.notes).toEqual([{ untrusted: true }]);
  const [{ snippet }] = (await bench.run(search, { query: "needle" }))["results"] as unknown as [
    { snippet: string },
  ];
  expect(snippet).toMatch(/^….*«needle».*…$/);
  expect(snippet.length).toBeLessThan(300);
});

test("words, phrases, exclusions, beginnings and tags", async () => {
  expect(await keys("brown")).toEqual(["bread", "fox"]);
  expect(await keys("brown -fox")).toEqual(["bread"]);
  expect(await keys("brown", { tags: ["animal"] })).toEqual(["fox"]);
  expect(await keys("ba*")).toEqual(["bread"]);
  expect(await keys("nowhere")).toEqual([]);
  expect((await bench.run(search, { query: "brown", limit: 1, offset: 1 }))["total"]).toBe(2);
});

test("a query nobody can understand is query_invalid and says how to write one", async () => {
  for (const query of [
    '"open',
    "-only -not",
    "***",
    "- -",
    "!!!",
    Array(40).fill("word").join(" "),
  ]) {
    const fault = await bench.fault(search, { query });
    expect([query, fault.reason]).toEqual([query, "query_invalid"]);
    expect(fault.remedy).toContain("begin*");
  }
});

test("by meaning needs embeddings", async () => {
  const fault = await bench.fault(search, { query: "brown", semantic: true });
  expect(fault).toMatchObject({ code: "UNAVAILABLE", reason: "provider_not_configured" });
});

test("nobody else's notes are found, listed or cleared", async () => {
  const bob: BenchCall = { caller: { userId: "bob" } };
  expect(await keys("brown", {}, bob)).toEqual([]);
  expect((await bench.run(list, { namespace: "user" }, bob))["total"]).toBe(0);
  expect(await bench.run(clear, { namespace: "user" }, bob)).toEqual({ removed: 0, keys: [] });
  expect((await bench.run(list, {}))["total"]).toBe(3);
});

test("a list tells sizes and expiry; pages and beginnings", async () => {
  await bench.run(store, { key: "soon", value: 1, ttlSeconds: 60, namespace: "n" });
  expect(await bench.run(list, { namespace: "n" })).toEqual({
    total: 1,
    entries: [
      {
        key: "soon",
        tags: [],
        bytes: 1,
        updatedAt: new Date(bench.now).toISOString(),
        expiresAt: new Date(bench.now + 60_000).toISOString(),
      },
    ],
  });
  const page = await bench.run(list, { limit: 1, offset: 1 });
  expect(page).toMatchObject({ total: 3, entries: [{ key: "fox" }] });
  expect(await bench.run(list, { prefix: "br" })).toMatchObject({ total: 1 });
});

test("clear tells first with dryRun, then forgets what was named and nothing else", async () => {
  for (let at = 0; at < 60; at++)
    await bench.run(store, {
      key: `k${at}`,
      value: at,
      namespace: "c",
      tags: at < 55 ? ["x"] : [],
    });
  const told = await bench.run(clear, { namespace: "c", tags: ["x"], dryRun: true });
  expect(told["removed"]).toBe(55);
  expect(told["keys"]).toHaveLength(50);
  expect((await bench.run(list, { namespace: "c" }))["total"]).toBe(60);
  expect(await bench.run(clear, { namespace: "c", key: "k59" })).toEqual({
    removed: 1,
    keys: ["k59"],
  });
  expect((await bench.run(clear, { namespace: "c", tags: ["x"] }))["removed"]).toBe(55);
  expect((await bench.run(clear, { namespace: "c" }))["removed"]).toBe(4);
});

test("the documentation is found by section", async () => {
  const { documents } = await bench.run(documentation, {
    query: "approval expired nobody decided",
    topK: 3,
  });
  const found = documents as unknown as {
    id: string;
    title: string;
    text: string;
    score: number;
  }[];
  expect(found).toHaveLength(3);
  expect(found.map(({ id }) => id.split("#")[0])).toContain("approvals.md");
  expect(found[0]?.score).toBeGreaterThanOrEqual(found[2]?.score ?? 0);
  const limits = await bench.run(documentation, { query: "rate window", categories: ["Limits"] });
  for (const { id } of limits["documents"] as unknown as { id: string }[])
    expect(id).toMatch(/^limits\.md#/);
  expect(await bench.run(documentation, { query: "zzzunknownword" })).toEqual({ documents: [] });
});
