import { afterAll, beforeAll, expect, test } from "vitest";
import { openBench, type Bench } from "../../../test/fixtures/tool-bench.ts";
import store from "./store.ts";

let bench: Bench;
beforeAll(async () => {
  bench = await openBench();
});
afterAll(() => bench.close());

test("a new entry has version 1, each write one more", async () => {
  const first = await bench.run(store, { key: "count", value: 1 });
  expect(first).toEqual({ key: "count", namespace: "user", version: 1, created: true });
  const second = await bench.run(store, { key: "count", value: 2 });
  expect(second).toEqual({ key: "count", namespace: "user", version: 2, created: false });
});

test("the time to live becomes an expiry", async () => {
  const output = await bench.run(store, { key: "short", value: null, ttlSeconds: 60 });
  expect(output["expiresAt"]).toBe(new Date(bench.now + 60_000).toISOString());
});

test("ifVersion writes only over the version that was read", async () => {
  await bench.run(store, { key: "guarded", value: "a", ifVersion: 0 });
  const stale = { code: "CONFLICT", reason: "stale" };
  expect(await bench.fault(store, { key: "guarded", value: "b", ifVersion: 0 })).toMatchObject(
    stale,
  );
  expect(await bench.fault(store, { key: "guarded", value: "b", ifVersion: 7 })).toMatchObject(
    stale,
  );
  expect(await bench.run(store, { key: "guarded", value: "b", ifVersion: 1 })).toMatchObject({
    version: 2,
  });
  expect(await bench.fault(store, { key: "absent", value: "b", ifVersion: 1 })).toMatchObject(
    stale,
  );
});

test("of writers that read the same version one wins", async () => {
  await bench.run(store, { key: "race", value: 0 });
  const tries = Array.from({ length: 10 }, (_, value) =>
    bench.run(store, { key: "race", value, ifVersion: 1 }).then(
      () => true,
      () => false,
    ),
  );
  expect((await Promise.all(tries)).filter(Boolean)).toHaveLength(1);
});

test("256 KiB of JSON is the limit, in bytes", async () => {
  await bench.run(store, { key: "large", value: "x".repeat(262_142) });
  for (const value of [
    "x".repeat(262_143),
    "é".repeat(131_072),
    Array(131_072).fill(1) as number[],
  ]) {
    const fault = await bench.fault(store, { key: "large", value });
    expect(fault.reason).toBe("size_exceeded");
    expect(fault.message).toContain("262144");
  }
});

test("session and capsule are refused where the call has none", async () => {
  for (const namespace of ["session", "capsule"]) {
    const fault = await bench.fault(store, { key: "k", value: 1, namespace });
    expect(fault).toMatchObject({ code: "BAD_REQUEST", reason: "invalid_arguments" });
    expect(fault.errors?.[0]?.path).toBe("/namespace");
  }
});
