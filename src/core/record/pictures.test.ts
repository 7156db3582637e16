import { expect, test } from "vitest";
import { withoutPictures } from "./pictures.ts";

test("a large picture is told in the record, not kept", () => {
  const output = {
    $content: [{ type: "image", data: "A".repeat(40_000), mimeType: "image/png" }],
    width: 3,
  };
  expect(withoutPictures(output)).toEqual({
    $content: [{ type: "text", text: "[image/png, 30000 bytes, not kept in the record]" }],
    width: 3,
  });
});

test("everything else stays the very same", () => {
  const small = { $content: [{ type: "image", data: "AAAA", mimeType: "image/png" }] };
  for (const output of [null, "text", 1, [1], { a: 1 }, { $content: "x" }, small])
    expect(withoutPictures(output)).toBe(output);
});
