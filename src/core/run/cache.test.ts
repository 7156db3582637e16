import { beforeEach, expect, test } from "vitest";
import type { Call, Caller, JsonObject } from "../../contract/call.ts";
import type { Tool } from "../../contract/tool.ts";
import { cachedRunners } from "./cache.ts";
import type { Runner, RunResult } from "./index.ts";

let now: number;
let ran: number;
let hits: number;
let rules: string[];
let answer: (call: Call) => RunResult;
beforeEach(() => {
  [now, ran, hits, rules] = [1_000_000, 0, 0, ["1", "1"]];
  answer = () => ({ output: { ran }, error: null, metadata: { server: "docs" } });
});

const runnerOf = (seconds = 60): Runner => {
  const runner: Runner = (call) => {
    ran++;
    return Promise.resolve(answer(call));
  };
  const { mcp } = cachedRunners(
    { mcp: runner },
    { seconds, rules: () => rules, now: () => now, onHit: () => hits++ },
  );
  if (!mcp) throw new Error("the runner is gone");
  return mcp;
};

interface Asked {
  readonly args?: JsonObject;
  readonly caller?: Partial<Caller>;
  readonly tool?: Partial<Tool>;
  readonly metadata?: JsonObject;
}
/** What the cache looks at of a call. */
const call = ({ args = { q: 1 }, caller = {}, tool = {}, metadata }: Asked = {}): Call =>
  ({
    arguments: args,
    caller: { tenantId: "t", userId: "ada", keyId: "k", ...caller },
    tool: { pin: "p", cacheable: true, effects: "read_only", ...tool },
    metadata: metadata ?? null,
  }) as unknown as Call;

test("the same question of the same caller is answered again, and told as such", async () => {
  const run = runnerOf();
  expect(await run(call({ args: { a: 1, b: 2 } }))).toMatchObject({
    output: { ran: 1 },
    metadata: { server: "docs" },
  });
  now += 5_000;
  expect(await run(call({ args: { b: 2, a: 1 } }))).toEqual({
    output: { ran: 1 },
    error: null,
    metadata: { server: "docs", cached: true, ageMs: 5_000 },
  });
  expect([ran, hits]).toEqual([1, 1]);
});

test("another tenant, caller, key, definition, argument or rule is another question", async () => {
  const run = runnerOf();
  await run(call());
  for (const other of [
    { args: { q: 2 } },
    { caller: { tenantId: "u" } },
    { caller: { userId: "bob" } },
    { caller: { keyId: "l" } },
    { caller: { keyId: null } },
    { tool: { pin: "r" } },
  ])
    await run(call(other));
  rules = ["2", "1"];
  await run(call());
  rules = ["1", "2"];
  await run(call());
  expect([ran, hits]).toEqual([9, 0]);
});

test("only tools that say so and change nothing are remembered", async () => {
  const run = runnerOf();
  for (const tool of [
    { cacheable: false },
    { effects: "network" as const },
    { effects: "system_write" as const },
    { effects: "essential_health_check" as const },
  ])
    for (let i = 0; i < 2; i++) await run(call({ tool }));
  expect([ran, hits]).toEqual([8, 0]);
});

test("what failed, what is not whole and what is too large is asked for anew", async () => {
  const run = runnerOf();
  const bad: RunResult[] = [
    { output: null, error: { code: "EXECUTION_FAILED", reason: "x", message: "x" }, metadata: {} },
    { output: {}, error: null, metadata: { timedOut: true } },
    { output: {}, error: null, metadata: { partial: true } },
    { output: {}, error: null, metadata: { filesTouched: ["a.png"] } },
    { output: "x".repeat(200_000), error: null, metadata: {} },
  ];
  for (const result of bad) {
    answer = () => result;
    for (let i = 0; i < 2; i++) await run(call());
  }
  expect([ran, hits]).toEqual([10, 0]);
});

test("an answer ages, and a clock set back does not make it younger", async () => {
  const run = runnerOf(10);
  await run(call());
  now += 9_999;
  await run(call());
  expect([ran, hits]).toEqual([1, 1]);
  now += 1;
  await run(call());
  expect([ran, hits]).toEqual([2, 1]);
  now -= 60_000;
  await run(call());
  expect([ran, hits]).toEqual([3, 1]);
});

test("who wants a fresh answer gets one, and the next gets that", async () => {
  const run = runnerOf();
  await run(call());
  expect(await run(call({ metadata: { cache: false } }))).toMatchObject({ output: { ran: 2 } });
  expect(await run(call())).toMatchObject({ output: { ran: 2 }, metadata: { cached: true } });
});

test("the memory it takes has a bound; with 0 seconds nothing is kept at all", async () => {
  answer = () => ({ output: "x".repeat(100_000), error: null, metadata: {} });
  const run = runnerOf();
  for (let q = 0; q < 500; q++) await run(call({ args: { q } }));
  await run(call({ args: { q: 499 } }));
  await run(call({ args: { q: 0 } }));
  expect([ran, hits]).toEqual([501, 1]);
  const off = runnerOf(0);
  for (let i = 0; i < 2; i++) await off(call());
  expect(ran).toBe(503);
});
