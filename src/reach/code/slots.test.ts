import { expect, it } from "vitest";
import { createPlaces } from "./slots.ts";

const never = new AbortController().signal;

it("nobody takes all places, and who waits comes next", async () => {
  const places = createPlaces({ all: 3, each: 2, waitMs: 60_000 });
  const first = await places.enter("ada", never);
  await places.enter("ada", never);
  let third = false;
  const waiting = places.enter("ada", never).then(() => (third = true));
  const bob = await places.enter("bob", never);
  let cleo = false;
  const later = places.enter("cleo", never).then(() => (cleo = true));
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

it("who waited long enough is told so, and who goes away waits no more", async () => {
  const places = createPlaces({ all: 1, each: 1, waitMs: 10 });
  const leave = await places.enter("ada", never);
  await expect(places.enter("bob", never)).rejects.toMatchObject({
    fault: { code: "UNAVAILABLE", reason: "resource_exhausted", retryAfterSeconds: 2 },
  });
  const gone = new AbortController();
  const waiting = places.enter("bob", gone.signal);
  gone.abort("user");
  await expect(waiting).rejects.toMatchObject({ fault: { code: "CANCELLED" } });
  leave();
  (await places.enter("bob", never))();
});
