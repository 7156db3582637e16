import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Caller } from "../../contract/call.ts";
import { createMemoryState } from "../../storage/state/memory.ts";
import { createRefusals, type Suppressed } from "./refusals.ts";

beforeEach(() => void vi.useFakeTimers({ now: 1_000_000 }));
afterEach(() => void vi.useRealTimers());

const caller = { tenantId: "t", userId: "u", keyId: "k", via: "key" } as unknown as Caller;

function opened(perMinute: number) {
  const now = (): number => Date.now();
  const noted: Suppressed[] = [];
  const refusals = createRefusals({
    state: createMemoryState({ now, maxCounters: 100 }),
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
