import { expect, test } from "vitest";
import { createValidators } from "./validators.ts";

test("T15: a foreign schema that cannot be used lets nothing through, and says so; a usable one is read once", () => {
  const validators = createValidators();
  const remote = { type: "object", properties: { a: { $ref: "https://example.org/a.json" } } };
  for (let n = 0; n < 2; n++)
    expect(validators.checkForeign(remote, { a: 1 })).toMatchObject([
      { path: "", message: expect.stringContaining("cannot be checked") as string },
    ]);
  const usable = { type: "object", properties: { a: { type: "string" } } };
  expect(validators.checkForeign(usable, { a: "x" })).toBeNull();
  expect(validators.checkForeign(usable, { a: 1 })).toMatchObject([{ path: "/a" }]);
});

test("of a value with thousands of parts one fault is told, and not the value", () => {
  const { check } = createValidators();
  const lists = { type: "array", maxItems: 2, items: { type: "number" } };
  const many = Array.from({ length: 3_000 }, () => "x");
  expect(check(lists, many)).toEqual([
    {
      path: "",
      message: "must NOT have more than 2 items, got a large array",
      suggestion: "the value must NOT have more than 2 items",
    },
  ]);
  expect(check(lists, ["x", "x", "x"])?.length).toBe(3);
});

test("an unknown parameter with a very long name is told in part", () => {
  const closed = { type: "object", properties: {}, additionalProperties: false };
  const [fault] = createValidators().check(closed, { ["n".repeat(1_000)]: 1 }) ?? [];
  expect(fault?.message).toBe(`unknown parameter ${"n".repeat(200)}…`);
});
