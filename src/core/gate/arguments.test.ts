import { describe, expect, test } from "vitest";
import {
  ask,
  testGovernance,
  testPowers,
  testSubject,
  testTool,
} from "../../../test/fixtures/gate.ts";
import { governanceOf } from "../../../test/fixtures/governance.ts";
import type { ArgumentFinding, ArgumentSubject } from "../../governance/rules/governance.ts";
import { argumentRules } from "./arguments.ts";
import { allow, judge, newTrail } from "./stage.ts";

const finding = (
  kind: ArgumentFinding["kind"],
  reason: string,
  path = "/path",
): ArgumentFinding => ({
  kind,
  reason,
  path,
  value: "x",
  message: `${reason} here`,
  suggestion: "do otherwise",
  rule: { at: "tools.yaml:7", text: "- $HOME/.ssh" },
});
const found = (...findings: ArgumentFinding[]) => ({
  governance: testGovernance({ judgeArguments: () => findings }),
});
const reader = testTool({ touches: [{ argument: "/path", kind: "path", access: "read" }] });

describe("R099 R100: findings become a verdict", () => {
  test("nothing found: allowed, at once and with the shared answer", () => {
    expect(ask(argumentRules, {}, { governance: governanceOf() })).toBe(allow());
  });

  test("a refusal names each value, its remedy and the first rule", () => {
    const answer = ask(
      argumentRules,
      {},
      found(
        finding("ask", "host_asks"),
        finding("deny", "path_forbidden"),
        finding("deny", "size_exceeded", "/content"),
      ),
    );
    expect(answer).toEqual({
      kind: "deny",
      code: "FORBIDDEN",
      reason: "path_forbidden",
      message: "path_forbidden here",
      remedy: "do otherwise",
      rule: "tools.yaml:7",
      errors: [
        { path: "/path", message: "path_forbidden here", suggestion: "do otherwise" },
        { path: "/content", message: "size_exceeded here", suggestion: "do otherwise" },
      ],
    });
  });

  test("questions are put together, under the first one's reason", () => {
    const answer = ask(
      argumentRules,
      {},
      found(finding("ask", "command_asks"), finding("ask", "host_asks")),
    );
    expect(answer).toEqual({
      kind: "allow",
      rule: "tools.yaml:7",
      ask: {
        reason: "command_asks",
        message: "command_asks here; host_asks here",
        rule: "tools.yaml:7",
      },
    });
  });

  test("a waiver takes the question of the mode back, and no other", async () => {
    const trail = newTrail();
    trail.asks.push({ reason: "mode_asks", message: "" }, { reason: "tool_asks", message: "" });
    const verdict = await judge(
      argumentRules,
      testSubject(),
      testPowers(found(finding("waive", "unattended_path"))),
      trail,
    );
    expect(verdict).toMatchObject({
      stage: "arguments",
      verdict: "allow",
      waives: "mode_asks",
      rule: "tools.yaml:7",
    });
    expect(trail.asks.map(({ reason }) => reason)).toEqual(["tool_asks"]);
  });
});

describe("with the shipped governance", () => {
  const powers = { governance: governanceOf() };

  test("R096: a forbidden path is refused with the file's line", async () => {
    const answer = await ask(
      argumentRules,
      { tool: reader, arguments: { path: "~/.ssh/id" } },
      powers,
    );
    expect(answer).toMatchObject({
      reason: "path_forbidden",
      rule: expect.stringMatching(/^tools\.yaml:\d+$/) as string,
      errors: [{ path: "/path" }],
    });
    expect(answer).not.toHaveProperty("ruleText");
    expect(await ask(argumentRules, { tool: reader, arguments: { path: "a.txt" } }, powers)).toBe(
      allow(),
    );
  });

  test("supposed: the rule's text and what was judged are shown", async () => {
    const subject = { tool: reader, arguments: { path: "~/.ssh/id" }, suppose: {} };
    expect(await ask(argumentRules, subject, powers)).toMatchObject({
      kind: "deny",
      ruleText: "- $HOME/.ssh",
      read: [{ kind: "deny", path: "/path", value: "~/.ssh/id", reason: "path_forbidden" }],
    });
    expect(ask(argumentRules, { suppose: {} }, found(finding("ask", "host_asks")))).toMatchObject({
      kind: "allow",
      ruleText: "- $HOME/.ssh",
      read: [{ kind: "ask" }],
    });
  });
});

describe("C55: a caller who has read content from outside", () => {
  const taint = [
    { tool: "web/get", executionId: "exec_1", from: "example.com", reader: "chat" as const },
  ];
  const rule = { at: "tools.yaml:9", text: "chat: ask" };
  const minding = (treatment: "ask" | "refuse", ...findings: ArgumentFinding[]) => ({
    governance: testGovernance({
      taintRule: () => ({ treatment, does: "writes", rule }),
      judgeArguments: () => findings,
    }),
  });
  const message = "The agent has read content from example.com (web/get), and system/probe writes";

  test("is refused, or asks a person, with the sources and the line of the rule", () => {
    expect(ask(argumentRules, { taint }, minding("refuse"))).toMatchObject({
      kind: "deny",
      code: "FORBIDDEN",
      reason: "tainted",
      message,
      rule: "tools.yaml:9",
    });
    expect(ask(argumentRules, { taint }, minding("ask"))).toEqual({
      kind: "allow",
      rule: "tools.yaml:9",
      ask: { reason: "tainted", message, rule: "tools.yaml:9" },
    });
  });

  test("other questions are asked besides, and refusals refuse", async () => {
    const trail = newTrail();
    const powers = testPowers(minding("ask", finding("ask", "path_asks")));
    const verdict = await judge(argumentRules, testSubject({ taint }), powers, trail);
    expect(verdict).toMatchObject({ verdict: "allow", asks: "tainted" });
    expect(trail.asks.map(({ reason }) => reason)).toEqual(["tainted", "path_asks"]);
    expect(
      ask(argumentRules, { taint }, minding("ask", finding("deny", "path_forbidden"))),
    ).toMatchObject({ kind: "deny", reason: "path_forbidden" });
  });

  test("supposed: the rule's text and the sources are shown", () => {
    for (const treatment of ["ask", "refuse"] as const)
      expect(ask(argumentRules, { taint, suppose: {} }, minding(treatment))).toMatchObject({
        ruleText: "chat: ask",
        read: [{ from: "example.com", tool: "web/get" }],
      });
  });

  test("goes on where no rule minds it", () => {
    expect(ask(argumentRules, { taint }, { governance: testGovernance() })).toBe(allow());
  });
});

test("the rules hear the present mode, or the supposed one", async () => {
  const heard: string[] = [];
  const governance = testGovernance({
    judgeArguments: ({ mode }: ArgumentSubject) => (heard.push(mode), []),
  });
  await ask(argumentRules, {}, { governance });
  await ask(argumentRules, { suppose: { mode: "ALERT" } }, { governance });
  expect(heard).toEqual(["NORMAL", "ALERT"]);
});

test("a call without a tool never gets past it", () => {
  expect(ask(argumentRules, { tool: null })).toMatchObject({ code: "NOT_FOUND" });
});

test("a rule that cannot be evaluated denies", async () => {
  const broken = [
    () => {
      throw new Error("broken");
    },
    () => Promise.reject(new Error("broken")),
  ];
  for (const judgeArguments of broken) {
    const verdict = await judge(
      argumentRules,
      testSubject(),
      testPowers({ governance: testGovernance({ judgeArguments }) }),
      newTrail(),
    );
    expect(verdict).toMatchObject({
      verdict: "deny",
      reason: "engine_unavailable",
      engine: "governance",
    });
  }
});

test("where nothing may reach out, an upstream server and a tool of the web are refused, others run", () => {
  const egress = { reach: "none" as const, rule: "capsule still: autonomy 1" };
  const judged = (change: Parameters<typeof testTool>[0]) =>
    argumentRules.decide(testSubject({ tool: testTool(change) }), testPowers(), {
      ...newTrail(),
      egress,
    });
  const route = { server: "s", method: "tools/call", name: "t", pin: "p", operation: null };
  const refused = { kind: "deny", reason: "egress_blocked", rule: egress.rule };
  expect(judged({ route })).toMatchObject(refused);
  expect(judged({ effects: "network" })).toMatchObject(refused);
  expect(judged({ openWorld: true })).toMatchObject(refused);
  expect(judged({})).toMatchObject({ kind: "allow" });
});
