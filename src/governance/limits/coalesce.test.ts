import { expect, test } from "vitest";
import { createCoalescer } from "./coalesce.ts";

test("the first is served at once, the others together, in groups of one key and at most so large", async () => {
  const groups: string[] = [];
  const crowd = createCoalescer(async (key, ids) => {
    groups.push(`${key}: ${ids.join(" ")}`);
    await Promise.resolve();
    return new Map(ids.map((id) => [id, `${key}${id}`]));
  }, 3);
  const asked = ["1", "2", "3", "4", "5"].map((id) => crowd.ask("a", id));
  const other = crowd.ask("b", "1");
  expect(await Promise.all([...asked, other])).toEqual(["a1", "a2", "a3", "a4", "a5", "b1"]);
  expect(groups).toEqual(["a: 1", "b: 1", "a: 2 3 4", "a: 5"]);
  expect(await crowd.ask("a", "6")).toBe("a6");
});

test("a group that fails fails for its members only; nobody is left without an answer", async () => {
  let failing = true;
  const crowd = createCoalescer((_key, ids) => {
    if (failing) return Promise.reject(new Error("out"));
    return Promise.resolve(new Map(ids.filter((id) => id !== "x").map((id) => [id, id])));
  }, 10);
  await expect(crowd.ask("a", "1")).rejects.toThrow("out");
  failing = false;
  expect(await crowd.ask("a", "2")).toBe("2");
  await expect(crowd.ask("a", "x")).rejects.toThrow("x was not answered");
});
