import { expect, it } from "vitest";
import { createValidators } from "./validators.ts";

it("T15: a foreign schema that cannot be used lets nothing through, and says so; a usable one is read once", () => {
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
