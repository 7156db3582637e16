import { describe, expect, test } from "vitest";
import { fuzz } from "./rego-mutations.ts";

describe("mutated Rego modules", () => {
  test("end in a policy or in errors with positions, and never take long", () => {
    const report = fuzz(1_500);
    expect(report.problems).toEqual([]);
    // Both must occur, or the mutations prove nothing.
    expect(report.compiled).toBeGreaterThan(50);
    expect(report.refused).toBeGreaterThan(50);
  }, 60_000);
});
