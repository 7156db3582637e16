import { expect, test } from "vitest";
import { createIds } from "./ids.ts";
import { maskSecrets } from "./secrets/masker.ts";

test("R110 R129: execution ids carry the time, never collide, and sort by it", () => {
  const ids = createIds();
  const made = Array.from({ length: 5_000 }, (_, i) => ids.execution(1_700_000_000_000 + i));
  expect(new Set(made).size).toBe(5_000);
  expect([...made].sort()).toEqual(made);
  for (const id of made.slice(0, 50)) expect(id).toMatch(/^exec_\d{13}_[0-9a-hjkmnp-tv-z]{26}$/);
  expect(ids.next("req", 1_700_000_000_000) < ids.next("req", 1_700_000_000_001)).toBe(true);
});

test("masks by field name at any depth and leaves everything else the same object", () => {
  const plain = { path: "a", tokens: 5, list: [{ b: 1 }, "x"], nothing: null };
  expect(maskSecrets(plain)).toBe(plain);
  expect(
    maskSecrets({
      Authorization: "Bearer x",
      a: [{ user_password: "p", ok: 1 }],
      token: null,
      apiKey: { deep: 1 },
    }),
  ).toEqual({
    Authorization: "[masked]",
    a: [{ user_password: "[masked]", ok: 1 }],
    token: null,
    apiKey: "[masked]",
  });
});
