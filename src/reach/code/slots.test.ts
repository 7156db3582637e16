import { expect, test } from "vitest";
import { createProgramSlots } from "./slots.ts";

const never = new AbortController().signal;

test("nobody takes all places, and who waits comes next", async () => {
  const places = createProgramSlots({ all: 3, each: 2, waitMs: 60_000 });
  const first = await places.acquire("ada", never);
  await places.acquire("ada", never);
  let third = false;
  const waiting = places.acquire("ada", never).then(() => (third = true));
  const bob = await places.acquire("bob", never);
  let cleo = false;
  const later = places.acquire("cleo", never).then(() => (cleo = true));
  await new Promise((resolve) => setImmediate(resolve));
  expect([third, cleo]).toEqual([false, false]);
  bob();
  bob();
  await later;
  expect([third, cleo]).toEqual([false, true]);
  first();
  await waiting;
  expect(third).toBe(true);
});

test("who waited long enough is told so, and who goes away waits no more", async () => {
  const places = createProgramSlots({ all: 1, each: 1, waitMs: 10 });
  const leave = await places.acquire("ada", never);
  await expect(places.acquire("bob", never)).rejects.toMatchObject({
    fault: { code: "UNAVAILABLE", reason: "resource_exhausted", retryAfterSeconds: 2 },
  });
  const gone = new AbortController();
  const waiting = places.acquire("bob", gone.signal);
  gone.abort("user");
  await expect(waiting).rejects.toMatchObject({ fault: { code: "CANCELLED" } });
  leave();
  (await places.acquire("bob", never))();
});
