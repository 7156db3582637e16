import { expect, test } from "vitest";
import { UnorderedSet, type UnorderedItem } from "./unordered-set.ts";

test("keeps exactly what came and did not go, in whatever order", () => {
  const passing = new UnorderedSet<UnorderedItem & { name: number }>();
  const items = Array.from({ length: 50 }, (_, name) => ({ name, index: -1 }));
  const here = new Set<(typeof items)[number]>();
  for (let step = 0; step < 2_000; step++) {
    const item = items[((step * 7919) % 50) ^ (step % 3)] ?? items[0]!;
    if (here.delete(item)) expect(passing.delete(item)).toBe(true);
    else {
      expect(passing.delete(item)).toBe(false);
      passing.add(item);
      here.add(item);
    }
    expect(passing.size).toBe(here.size);
    expect(passing.has(item)).toBe(here.has(item));
  }
  expect(new Set(passing.all())).toEqual(here);
  expect(passing.all().length).toBe(here.size);
  const [one] = here;
  expect(passing.find(({ name }) => name === one?.name)).toBe(one);
  expect(passing.find(({ name }) => name === 99)).toBeUndefined();
});
