import { expect, test } from "vitest";
import { createLanes } from "./lanes.ts";

test("so many at once per name, in order, whatever becomes of each", async () => {
  const inLane = createLanes(3);
  let running = 0;
  let most = 0;
  const order: number[] = [];
  const work = (i: number) => async (): Promise<number> => {
    order.push(i);
    most = Math.max(most, ++running);
    await new Promise((resolve) => setTimeout(resolve, 1));
    running--;
    if (i % 4 === 0) throw new Error("fails");
    return i;
  };
  const all = await Promise.allSettled(Array.from({ length: 20 }, (_, i) => inLane("a", work(i))));
  expect(most).toBe(3);
  expect(order).toEqual(Array.from({ length: 20 }, (_, i) => i));
  expect(all.filter(({ status }) => status === "fulfilled")).toHaveLength(15);
  await Promise.all([inLane("a", work(1)), inLane("b", work(2))]);
  expect(running).toBe(0);
});
