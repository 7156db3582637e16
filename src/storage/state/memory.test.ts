import { describe, expect, test } from "vitest";
import { createMemoryState } from "./memory.ts";
import { openState } from "./open.ts";
import { stateSuite } from "./state.suite.ts";

stateSuite("memory", { open: (options) => openState("memory", options), runs: 200 });

describe("memory", () => {
  const window = (key: string, windowMs = 60_000) => ({ key, limit: 5, windowMs });

  test("answers at once, without a promise", () => {
    const state = createMemoryState();
    expect(state.take([window("a")])).toMatchObject({ ok: true });
    expect(state.peek([window("a")])).toMatchObject({ windows: [{ remaining: 4 }] });
  });

  test("its counters are bounded: idle ones go, busy ones stay, too many are refused", () => {
    let now = 0;
    const state = createMemoryState({ now: () => now, maxCounters: 3 });
    for (const key of ["a", "b", "c"]) state.take([window(key)]);
    expect(() => state.take([window("a"), window("d")])).toThrow(
      "all counters of rate limits are in use",
    );
    expect(state.peek([window("a")])).toMatchObject({ windows: [{ remaining: 4 }] });
    now = 50_000;
    state.take([window("a")]);
    now = 80_000;
    expect(state.take([window("d"), window("e")])).toMatchObject({ ok: true });
    expect(state.peek([window("a"), window("b")]).windows.map((w) => w.remaining)).toEqual([4, 5]);
  });

  test("a key stands for one length of window", () => {
    const state = createMemoryState();
    state.take([window("a")]);
    expect(() => state.take([window("a", 3_600_000)])).toThrow(/another length/);
  });
});
