import { describe, expect, test } from "vitest";
import { judge, unknownEntries, type Check } from "./mcp-judge.ts";

const check = (id: string, status: Check["status"]): Check => ({ id, status });
const COMMON = check("wire-schema-valid", "SUCCESS");

describe("the judge of the conformance run", () => {
  test("passes a scenario whose own checks succeed", () => {
    expect(judge("2025-11-25", "ping", [check("ping", "SUCCESS"), COMMON]).verdict).toBe("passed");
  });

  test("fails a scenario that checked nothing of its own", () => {
    expect(judge("2025-11-25", "ping", [COMMON]).verdict).toBe("failed");
    expect(judge("2025-11-25", "ping", []).verdict).toBe("failed");
  });

  test("takes a warning for a failure", () => {
    const checks = [check("a", "SUCCESS"), check("b", "WARNING")];
    expect(judge("2025-11-25", "ping", checks).verdict).toBe("failed");
  });

  test("skips what is left out, and fails once it passes", () => {
    const scenario = "prompts-list";
    expect(judge("2025-11-25", scenario, [check("p", "FAILURE")]).verdict).toBe("skipped");
    expect(judge("2025-11-25", scenario, [check("p", "SUCCESS")]).verdict).toBe("failed");
  });

  test("holds the other checks of a scenario of which some are left out", () => {
    const out = [
      check("sep-2575-server-rejects-undeclared-capability", "FAILURE"),
      check("sep-2575-missing-capability-http-400", "FAILURE"),
    ];
    const judged = (...more: Check[]) =>
      judge("2026-07-28", "server-stateless", [...out, ...more]).verdict;
    expect(judged(check("other", "SUCCESS"))).toBe("passed");
    expect(judged(check("other", "FAILURE"))).toBe("failed");
    const [first] = out;
    const half = judge("2026-07-28", "server-stateless", [first!, check("other", "SUCCESS")]);
    expect(half.verdict).toBe("failed");
  });

  test("names entries that fit no scenario of the run", () => {
    expect(unknownEntries("2025-11-25", []).length).toBeGreaterThan(10);
  });
});
