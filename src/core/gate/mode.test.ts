import { describe, expect, test } from "vitest";
import {
  ask,
  testGovernance,
  testPowers,
  testSubject,
  testTool,
} from "../../../test/fixtures/gate.ts";
import { governanceOf } from "../../../test/fixtures/governance.ts";
import type { Mode } from "../../contract/call.ts";
import { mode } from "./mode.ts";
import { judge, newTrail, type GatePowers } from "./stage.ts";

const governance = governanceOf();
const inMode = (name: Mode): Partial<GatePowers> => ({
  governance,
  mode: {
    current: () => ({
      mode: name,
      reason: "",
      by: "ada",
      since: 0,
      until: null,
      revertTo: null,
      proposal: null,
    }),
    throttleOf: () => null,
  },
});
const writer = testTool({ effects: "system_write", risk: "dangerous" });

describe("R075: the mode and the tool's rule", () => {
  test("a tool that runs in this mode is allowed, and nothing is said", () => {
    expect(ask(mode, {}, inMode("NORMAL"))).toEqual({ kind: "allow" });
  });

  test("R077: a no refuses with the rule and what the mode means", () => {
    expect(ask(mode, { tool: writer }, inMode("LOCKDOWN"))).toEqual({
      kind: "deny",
      code: "FORBIDDEN",
      reason: "mode_forbids",
      mode: "LOCKDOWN",
      message:
        "Tool not allowed in LOCKDOWN mode: system/probe (system_write, dangerous), critical safety event",
      remedy: "wait until the mode changes, or use a tool that this mode lets run",
      rule: expect.stringMatching(/^tools\.yaml:\d+$/) as string,
    });
  });

  test("an approval lets the call go on with a question", () => {
    const answer = ask(mode, { tool: writer }, inMode("NORMAL"));
    expect(answer).toMatchObject({
      kind: "allow",
      ask: {
        reason: "mode_asks",
        message: "system/probe (system_write, dangerous) needs approval in mode NORMAL",
        rule: expect.stringMatching(/^tools\.yaml:\d+$/) as string,
      },
    });
    expect(answer).not.toHaveProperty("ruleText");
  });

  test("a tool that itself asks says so", () => {
    const tool = testTool({ requiresApproval: true });
    expect(ask(mode, { tool }, inMode("NORMAL"))).toMatchObject({
      ask: { reason: "tool_asks" },
      rule: "tool system/probe",
    });
  });

  test("C29: LOCKDOWN: health checks run, reading asks, all else is refused", () => {
    const verdict = (effects: typeof writer.effects) =>
      ask(mode, { tool: testTool({ effects }) }, inMode("LOCKDOWN"));
    expect(verdict("essential_health_check")).toEqual({ kind: "allow" });
    expect(verdict("read_only")).toMatchObject({ kind: "allow", ask: { reason: "mode_asks" } });
    for (const effects of ["network", "system_write", "system_dangerous"] as const)
      expect(verdict(effects)).toMatchObject({ kind: "deny", reason: "mode_forbids" });
  });
});

describe("supposed", () => {
  test("another mode can be asked about; the rule and what was read are shown", () => {
    const supposed = (name: Mode) =>
      ask(mode, { tool: writer, suppose: { mode: name } }, inMode("NORMAL"));
    const read = { effects: "system_write", risk: "dangerous", requiresApproval: false };
    expect(supposed("LOCKDOWN")).toMatchObject({
      kind: "deny",
      ruleText: "LOCKDOWN: no",
      read: { mode: "LOCKDOWN", ...read },
    });
    expect(supposed("ALERT")).toMatchObject({
      kind: "allow",
      ask: {},
      ruleText: "ALERT: approval",
      read: { mode: "ALERT", ...read },
    });
    expect(ask(mode, { suppose: {} }, inMode("ALERT"))).toMatchObject({
      kind: "allow",
      rule: expect.any(String) as string,
      ruleText: expect.stringContaining("read_only") as string,
      read: { mode: "ALERT" },
    });
  });
});

test("a call without a tool never gets past it", () => {
  expect(ask(mode, { tool: null })).toMatchObject({ code: "NOT_FOUND" });
});

test("a mode that cannot be confirmed denies", async () => {
  const out = {
    current: () => {
      throw new Error("no answer");
    },
    throttleOf: () => null,
  };
  const verdict = await judge(
    mode,
    testSubject(),
    testPowers({ governance: testGovernance(), mode: out }),
    newTrail(),
  );
  expect(verdict).toMatchObject({
    verdict: "deny",
    code: "UNAVAILABLE",
    reason: "engine_unavailable",
    engine: "mode",
  });
  expect(mode.limitMs).toBe(250);
});
