import { beforeAll, afterAll, describe, expect, test } from "vitest";
import { slowTool, type SlowObserver } from "../../test/fixtures/slow-tool.ts";
import { openBench, type Bench } from "../../test/fixtures/tool-bench.ts";
import { exampleSuite } from "./examples.suite.ts";
import { NATIVE_TOOLS } from "./index.ts";

// Those that start programs in a sandbox: examples.slow.test.ts.
exampleSuite(NATIVE_TOOLS.filter((tool) => !tool.requiresSandbox));

describe("system/slow, the tool of the tests", () => {
  let bench: Bench;
  beforeAll(async () => {
    bench = await openBench();
  });
  afterAll(() => bench.close());

  const observer: SlowObserver = { runs: [] };
  const slow = slowTool(observer);

  test("waits, reports progress, ends", async () => {
    bench.progress.length = 0;
    const output = await bench.run(slow, { ms: 60, progressEveryMs: 10 });
    expect(output["aborted"]).toBe(false);
    expect(bench.progress.length).toBeGreaterThan(1);
    expect(observer.runs.at(-1)).toMatchObject({
      abortedAt: null,
      finishedAt: expect.any(Number) as number,
    });
  });

  test("an abort ends it at once, and is seen from inside with its reason", async () => {
    const controller = new AbortController();
    const running = bench.run(slow, { ms: 60_000 }, { signal: controller.signal });
    const before = performance.now();
    setTimeout(() => controller.abort("timeout"), 20);
    expect(await running).toMatchObject({ aborted: true });
    expect(performance.now() - before).toBeLessThan(1_000);
    expect(observer.runs.at(-1)).toMatchObject({ abortReason: "timeout" });
  });

  test("told not to honour it, it goes on", async () => {
    const signal = AbortSignal.abort("user");
    const output = await bench.run(slow, { ms: 50, honourAbort: false }, { signal });
    expect(output["waitedMs"]).toBeGreaterThanOrEqual(45);
    expect(observer.runs.at(-1)).toMatchObject({ abortReason: "user" });
  });
});
