import { describe, expect, test } from "vitest";
import { testTool } from "../../../test/fixtures/gate.ts";
import { governanceOf, shippedFiles } from "../../../test/fixtures/governance.ts";
import { MODES, PLANS, type Mode } from "../../contract/call.ts";
import { METRICS } from "../limits/budget.ts";
import { NATIVE_TOOLS } from "../../tools/index.ts";
import { EFFECTS, RISKS, type Effects, type Risk, type Tool } from "../../contract/tool.ts";
import type { Governance } from "./governance.ts";

const withTool = (lines: string): Governance =>
  governanceOf(
    { tools: ["system/probe"] },
    shippedFiles({ "tools: {}": `tools:\n  system/probe:\n${lines}` }),
  );
const verdicts = (governance: Governance, tool: Tool): string =>
  MODES.map((mode) => governance.modeRule(tool, mode).treatment).join(" ");

describe("C35: one rule per tool and mode", () => {
  // An independent table, written from the catalogue's default governance; NORMAL ALERT DEGRADED LOCKDOWN RECOVERY.
  const expected: Record<Effects, Record<Risk, string>> = {
    essential_health_check: {
      safe: "run run run run run",
      moderate: "run run run run run",
      dangerous: "run run run run run",
    },
    read_only: {
      safe: "run run run approval run",
      moderate: "run run run approval run",
      dangerous: "run run run approval run",
    },
    network: {
      safe: "run approval approval no no",
      moderate: "run approval approval no no",
      dangerous: "approval approval approval no no",
    },
    system_write: {
      safe: "run approval approval no approval",
      moderate: "run approval approval no approval",
      dangerous: "approval approval approval no approval",
    },
    system_dangerous: {
      safe: "approval approval approval no no",
      moderate: "approval approval approval no no",
      dangerous: "approval approval approval no no",
    },
  };
  const governance = governanceOf();
  for (const effects of EFFECTS)
    for (const risk of RISKS)
      test(`R075 R077: ${effects}, ${risk}`, () => {
        expect(verdicts(governance, testTool({ effects, risk }))).toBe(expected[effects][risk]);
      });

  test("every native tool has a rule in every mode, with its line", () => {
    for (const tool of NATIVE_TOOLS)
      for (const mode of MODES) {
        const { rule } = governance.modeRule(tool, mode);
        expect(rule.at).toMatch(/^tools\.yaml:\d+$/);
        expect(rule.text).toContain(mode);
      }
  });

  test("a risk nobody knows counts as dangerous, a mode nobody knows as LOCKDOWN", () => {
    expect(verdicts(governance, testTool({ effects: "network", risk: "odd" as Risk }))).toBe(
      expected.network.dangerous,
    );
    expect(governance.modeRule(testTool(), "PANIC" as Mode)).toEqual(
      governance.modeRule(testTool(), "LOCKDOWN"),
    );
  });

  test("a tool's own entry replaces its class; an unnamed mode means no", () => {
    const own = withTool("    modes: { NORMAL: approval, ALERT: run }");
    const tool = testTool();
    expect(verdicts(own, tool)).toBe("approval run no no no");
    expect(own.modeRule(tool, "NORMAL").rule.text).toBe("modes: { NORMAL: approval, ALERT: run }");
    expect(own.modeRule(tool, "DEGRADED").rule.text).toBe("system/probe:");
  });

  test("a class that does not name a mode means no", () => {
    const some = governanceOf(
      {},
      shippedFiles({ "read_only: { NORMAL: run, ALERT: run,": "read_only: { NORMAL: run," }),
    );
    expect(verdicts(some, testTool())).toBe("run no run approval run");
  });

  test("dangerous: the stricter of both counts", () => {
    const odd = governanceOf(
      {},
      shippedFiles({ "dangerous: { NORMAL: approval }": "dangerous: { NORMAL: no, ALERT: run }" }),
    );
    expect(verdicts(odd, testTool({ effects: "network", risk: "dangerous" }))).toBe(
      "no approval approval no no",
    );
  });

  test("a tool that asks for approval is asked about wherever it would run", () => {
    const tool = testTool({ requiresApproval: true, effects: "essential_health_check" });
    expect(verdicts(governance, tool)).toBe("approval approval approval approval approval");
    expect(governance.modeRule(tool, "NORMAL")).toMatchObject({
      byTool: true,
      rule: { at: "tool system/probe" },
    });
    expect(verdicts(governance, testTool({ requiresApproval: true, effects: "network" }))).toBe(
      "approval approval approval no no",
    );
    expect(
      governance.modeRule(testTool({ requiresApproval: true, effects: "network" }), "ALERT").byTool,
    ).toBeUndefined();
  });

  test("C29: no entry loosens LOCKDOWN", () => {
    const all = withTool("    modes: { NORMAL: run, LOCKDOWN: run }");
    for (const effects of EFFECTS)
      expect(all.modeRule(testTool({ effects }), "LOCKDOWN").treatment).toBe(
        effects === "essential_health_check" ? "run" : effects === "read_only" ? "approval" : "no",
      );
    expect(all.modeRule(testTool(), "LOCKDOWN").rule.at).toBe("built in");
  });

  test("the answer is computed once", () => {
    const tool = testTool();
    expect(governance.modeRule(tool, "ALERT")).toBe(governance.modeRule(tool, "ALERT"));
    expect(governance.approvalRules(tool)).toBe(governance.approvalRules(tool));
  });
});

describe("limits, plans and approvals", () => {
  const governance = governanceOf();

  test("C19: calls per minute by plan and mode; none where nothing is set", () => {
    expect(PLANS.map((plan) => governance.limits.ofPlan(plan))).toEqual([60, 100, 600, null]);
    expect(governance.limits.ofPlan(null)).toBe(100);
    expect(governanceOf({ defaultPerMinute: 7 }).limits.ofPlan(null)).toBe(7);
    expect(governanceOf({ defaultPerMinute: 7 }).limits.ofPlan("team")).toBe(600);
    expect(MODES.map((mode) => governance.limits.ofMode(mode))).toEqual([null, 15, 5, 0, 10]);
    expect(governance.limits.ofMode("PANIC" as Mode)).toBe(0);
    expect(governance.limits.perIp).toBe(300);
    expect(governance.limits.explicitDefault).toBeNull();
    expect(governanceOf({ defaultPerMinute: 7 }).limits.explicitDefault).toBe(7);
    expect(governance.limits.ofCategory("web")).toBeNull();
    const web = governanceOf(
      {},
      shippedFiles({ "categories: {}": "categories: { web: { calls_per_minute: 30 } }" }),
    );
    expect(web.limits.ofCategory("web")).toBe(30);
  });

  test("C19: calls per hour of a tool: the file's word replaces the tool's own", () => {
    expect(governance.limits.ofTool(testTool())).toBeNull();
    expect(governance.limits.ofTool(testTool({ rateLimitPerHour: 5 }))).toEqual({
      perHour: 5,
      scope: "caller",
    });
    const own = withTool("    rate_limit_per_hour: 9\n    rate_limit_scope: tenant");
    expect(own.limits.ofTool(testTool({ rateLimitPerHour: 5 }))).toEqual({
      perHour: 9,
      scope: "tenant",
    });
    expect(
      withTool("    rate_limit_per_hour: none").limits.ofTool(testTool({ rateLimitPerHour: 5 })),
    ).toBeNull();
  });

  test("C38: budgets of all ten metrics", () => {
    // Written from F01: Free, Starter, Team; Enterprise has no limits.
    const table = {
      tokens: [10_000, 100_000, 500_000],
      tool_calls: [100, 1_000, 10_000],
      images: [10, 100, 500],
      voice_minutes: [10, 60, 300],
      api_calls: [1_000, 10_000, 100_000],
      memory_tokens: [50_000, 500_000, 2_000_000],
      vector_ops: [5_000, 50_000, 500_000],
      learning: [10, 100, 1_000],
      storage_gb: [1, 10, 100],
      sessions: [1, 5, 20],
    };
    for (const metric of METRICS)
      expect([...PLANS, null].map((plan) => governance.budget(plan, metric))).toEqual([
        ...table[metric],
        null,
        null,
      ]);
    expect(governance.lowWarning).toBe(0.8);
  });

  test("C39: approvals: 600 s, one person, 45 s at the door; a tool may say otherwise", () => {
    expect(governance.approvalRules(testTool())).toEqual({
      expiresInSeconds: 600,
      approvals: 1,
      holdSeconds: 45,
    });
    const own = withTool("    approvals: { approvals: 2, hold_seconds: 0 }");
    expect(own.approvalRules(testTool())).toEqual({
      expiresInSeconds: 600,
      approvals: 2,
      holdSeconds: 0,
    });
  });

  test("F06 F07: sensors and transitions", () => {
    expect(governance.sensors["cpu"]).toEqual({
      action: "warn",
      threshold: 85,
      clearBelow: 70,
      forSeconds: 30,
    });
    expect(governance.sensors["disk"]).toMatchObject({ action: "act", threshold: 95 });
    expect(governance.sensors["audit_failures"]).toMatchObject({ action: "act" });
    expect(governance.sensors["denials"]).toMatchObject({
      action: "warn",
      threshold: 3,
      throttle: { callsPerMinute: 30, forSeconds: 300 },
    });
    const ways = governance.transitions.map(
      ({ from, to, needsHuman }) => `${from}>${to}${needsHuman ? "!" : ""}`,
    );
    expect(ways).toEqual([
      "NORMAL>ALERT",
      "NORMAL>DEGRADED",
      "ALERT>NORMAL!",
      "ALERT>DEGRADED",
      "ALERT>LOCKDOWN",
      "DEGRADED>NORMAL!",
      "DEGRADED>LOCKDOWN",
      "LOCKDOWN>RECOVERY!",
      "RECOVERY>NORMAL!",
    ]);
    expect(governance.describe("LOCKDOWN")).toBe("critical safety event");
  });
});
