import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Caller } from "../../contract/call.ts";
import { createMemoryState } from "../../storage/state/memory.ts";
import { createRefusals, type Suppressed } from "./refusals.ts";

beforeEach(() => void vi.useFakeTimers({ now: 1_000_000 }));
afterEach(() => void vi.useRealTimers());

const caller = { tenantId: "t", userId: "u", keyId: "k", via: "key" } as unknown as Caller;

function opened(perMinute: number, maxCounters = 100) {
  const now = (): number => Date.now();
  const noted: Suppressed[] = [];
  const refusals = createRefusals({
    state: createMemoryState({ now, maxCounters }),
    perMinute,
    enabled: true,
    now,
    note: (_who, left) => Promise.resolve(void noted.push(left)),
  });
  return { refusals, noted };
}

test("B11: what was left out of a window is told when the window ends, while the server runs", async () => {
  const { refusals, noted } = opened(2);
  expect(refusals.next(caller, null)).toBeNull();
  expect(refusals.next(caller, null)).toBeNull();
  expect(refusals.next(caller, null)).toMatchObject({ recorded: true });
  for (let count = 0; count < 5; count++)
    expect(refusals.next(caller, null)).toMatchObject({ recorded: false });
  expect(noted).toEqual([]);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(noted).toEqual([{ count: 5, since: 1_000_000, until: 1_000_000, keyId: "k", ip: null }]);
  // Told once; and after a while without refusals there is room again.
  await refusals.flush();
  expect(noted).toHaveLength(1);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(refusals.next(caller, null)).toBeNull();
});

test("B11: of more than 10,000 callers the first is told of early, and nobody is forgotten", async () => {
  const { refusals, noted } = opened(0, 100_000);
  const refuse = (keyId: string) => refusals.next({ ...caller, keyId }, null);
  for (let i = 0; i <= 10_000; i++) {
    expect(refuse(`k${i}`)?.recorded).toBe(true);
    expect(refuse(`k${i}`)?.recorded).toBe(false);
  }
  expect(noted.map(({ keyId, count }) => [keyId, count])).toEqual([["k0", 1]]);
  await refusals.flush();
  expect(noted.length).toBe(10_001);
});

test("who has no key is counted by user; who has no credential by address", () => {
  const { refusals } = opened(1);
  const isRefused = (who: Caller, ip: string) => refusals.next(who, ip) !== null;
  const anonymous: Caller = { ...caller, keyId: null, via: "anonymous" };
  expect(isRefused(anonymous, "192.0.2.1")).toBe(false);
  expect(isRefused(anonymous, "198.51.100.1")).toBe(false);
  expect(isRefused({ ...anonymous, userId: "v" }, "192.0.2.1")).toBe(true);
  const console: Caller = { ...caller, keyId: null, via: "console" };
  expect(isRefused(console, "192.0.2.1")).toBe(false);
  expect(isRefused(console, "198.51.100.1")).toBe(true);
  expect(isRefused({ ...console, userId: "v" }, "192.0.2.1")).toBe(false);
});
