import { expect, test } from "vitest";
import { visible } from "./visible.ts";

test("T19: what would not show is written out, the rest stays", () => {
  expect(visible("plain ä 日本 😀\n\ttext")).toBe("plain ä 日本 😀\n\\u{9}text");
  expect(visible("a\u202eb\u200bc\u009bd\u{e0041}\u2028")).toBe(
    "a\\u{202e}b\\u{200b}c\\u{9b}d\\u{e0041}\\u{2028}",
  );
  expect(visible("\u001b[31m\ud800")).toBe("\\u{1b}[31m\\u{d800}");
});
