import { expect, test } from "vitest";
import { createCoalescer } from "./coalesce.ts";

test("who asks at the same moment shares the answer, also a failure; later ones ask anew", async () => {
  const once = createCoalescer();
  let begun = 0;
  const work = () => Promise.resolve(++begun);
  expect(
    await Promise.all([once.run("a", work), once.run("a", work), once.run("b", work)]),
  ).toEqual([1, 1, 2]);
  expect(await once.run("a", work)).toBe(3);
  const failing = () => Promise.reject(new Error("out"));
  const both = await Promise.allSettled([once.run("a", failing), once.run("a", work)]);
  expect(both.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  expect(await once.run("a", work)).toBe(4);
});

test("after forgetting nobody joins what was begun before", async () => {
  const once = createCoalescer();
  const { promise, resolve } = Promise.withResolvers<string>();
  const before = once.run("a", () => promise);
  once.forget();
  const after = once.run("a", () => Promise.resolve("new"));
  resolve("old");
  expect([await before, await after]).toEqual(["old", "new"]);
});
