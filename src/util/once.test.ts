import { expect, it } from "vitest";
import { createOnce } from "./once.ts";

it("who asks at the same moment shares the answer, also a failure; later ones ask anew", async () => {
  const once = createOnce();
  let begun = 0;
  const work = () => Promise.resolve(++begun);
  expect(await Promise.all([once.do("a", work), once.do("a", work), once.do("b", work)])).toEqual([
    1, 1, 2,
  ]);
  expect(await once.do("a", work)).toBe(3);
  const failing = () => Promise.reject(new Error("out"));
  const both = await Promise.allSettled([once.do("a", failing), once.do("a", work)]);
  expect(both.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  expect(await once.do("a", work)).toBe(4);
});

it("after forgetting nobody joins what was begun before", async () => {
  const once = createOnce();
  const { promise, resolve } = Promise.withResolvers<string>();
  const before = once.do("a", () => promise);
  once.forget();
  const after = once.do("a", () => Promise.resolve("new"));
  resolve("old");
  expect([await before, await after]).toEqual(["old", "new"]);
});
