import { expect, test } from "vitest";
import echo from "./echo.ts";

test("the text comes back unchanged, whatever is in it", () => {
  for (const text of ["", "hello", "a\u0000b", "\u{1f600}", "x".repeat(65_536)]) {
    expect(echo.native?.run({ text }, {}, undefined as never)).toEqual({ text });
  }
});

test("the limit shows in the schema", () => {
  expect(echo.inputSchema).toMatchObject({
    additionalProperties: false,
    required: ["text"],
    properties: { text: { type: "string", maxLength: 65_536 } },
  });
});
