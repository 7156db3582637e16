import { expect, test } from "vitest";
import { createSlots } from "./slots.ts";

const LIMITS = { maxRunning: 1, maxQueued: 1, maxQueueWaitMs: 10_000 };
const never = new AbortController().signal;

test("R124: a freed slot goes to whoever waits longest", async () => {
  const slots = createSlots({ ...LIMITS, maxQueued: 2 });
  const first = slots.enter(never);
  const second = slots.enter(never);
  const third = slots.enter(never);
  expect([first.ready, slots.running, slots.queued]).toEqual([null, 1, 2]);
  first.release();
  first.release();
  await second.ready;
  expect([slots.running, slots.queued]).toEqual([1, 1]);
  second.release();
  await third.ready;
  third.release();
  expect([slots.running, slots.queued]).toEqual([0, 0]);
});

test("a full queue refuses, and says when to come back", () => {
  const slots = createSlots(LIMITS);
  slots.enter(never);
  slots.enter(never).ready?.catch(() => undefined);
  expect(() => slots.enter(never)).toThrow(
    expect.objectContaining({
      fault: expect.objectContaining({
        code: "UNAVAILABLE",
        reason: "queue_full",
        retryAfterSeconds: 1,
      }) as unknown,
    }) as Error,
  );
});

test("leaving the queue, by abort, wait limit or release, frees the place and no slot is lost", async () => {
  const slots = createSlots({ ...LIMITS, maxQueueWaitMs: 20 });
  const holder = slots.enter(never);
  const gone = new AbortController();
  const aborted = slots.enter(gone.signal);
  gone.abort("user");
  await expect(aborted.ready).rejects.toThrow(/aborted/);
  await expect(slots.enter(gone.signal).ready).rejects.toThrow(/aborted/);
  await expect(slots.enter(never).ready).rejects.toMatchObject({ fault: { reason: "queue_full" } });
  const released = slots.enter(never);
  released.release();
  await expect(released.ready).rejects.toThrow(/no longer wanted/);
  aborted.release();
  expect([slots.running, slots.queued]).toEqual([1, 0]);
  holder.release();
  expect(slots.running).toBe(0);
});

test("a slot granted and released in the same moment is not lost", () => {
  const slots = createSlots(LIMITS);
  const holder = slots.enter(never);
  const waiting = slots.enter(never);
  holder.release();
  waiting.release();
  expect([slots.running, slots.queued]).toEqual([0, 0]);
});
