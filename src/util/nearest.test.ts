import { describe, expect, it } from "vitest";
import { editDistance, nearest } from "./nearest.ts";

describe("nearest", () => {
  it("finds the word that was meant", () => {
    expect(nearest("tagz", ["tags", "category", "search"])).toBe("tags");
    expect(nearest("arguemnts", ["name", "arguments", "timeout"])).toBe("arguments");
    expect(nearest("Timeout", ["timeout"])).toBe("timeout");
    expect(nearest("t", ["a"])).toBe("a");
  });

  it("stays silent when nothing is close", () => {
    expect(nearest("colour", ["timeout", "name"])).toBeNull();
    expect(nearest("x".repeat(65), ["x".repeat(65)])).toBeNull();
    expect(nearest("word", [])).toBeNull();
  });

  it("counts a swap of neighbours as one edit", () => {
    expect(editDistance("ab", "ba")).toBe(1);
    expect(editDistance("kitten", "sitting")).toBe(3);
    expect(editDistance("", "abc")).toBe(3);
  });
});
