import { beforeEach, describe, expect, test } from "vitest";
import { ask, testCaller, testPowers, testSubject, testTool } from "../../../test/fixtures/gate.ts";
import { STARTER } from "../../governance/policy/policy.suite.ts";
import { openEmbedded } from "../../governance/policy/embedded.ts";
import { createPolicies } from "../../governance/policy/policies.ts";
import type { PolicyJudgement, PolicyEngine, PolicyInput } from "../../governance/policy/policy.ts";
import { type Subject } from "../../contract/subject.ts";
import { judge, newTrail, type GatePowers } from "./stage.ts";
import { policy } from "./policy.ts";

const HEAD = "package ostiary.tools\n\ndefault allow := false\n\n";

describe("with the policies of a real engine", () => {
  let engine: PolicyEngine;
  let powers: { policies: GatePowers["policies"] };
  const enforce = (text: string) =>
    engine.load("enforced", { version: "1", files: { "a.rego": text } });
  beforeEach(async () => {
    engine = openEmbedded({ path: "ostiary/tools/allow", now: () => 0 });
    powers = { policies: createPolicies(engine) };
    await engine.load("enforced", { version: "1", files: STARTER });
    await engine.setTools({ "system/probe": { enabled: true } });
  });

  test("R037 R038: the starter policy lets a tool user see and run an enabled tool", () => {
    expect(ask(policy, {}, powers)).toEqual({ kind: "allow" });
    expect(ask(policy, { action: "view" }, powers)).toEqual({ kind: "allow" });
  });

  test("C32: a no to view hides the tool, and the audit has the rule", async () => {
    const caller = testCaller({ roles: [] });
    for (const action of ["view", "execute"] as const) {
      const hidden = ask(policy, { caller, action }, powers);
      expect(hidden).toEqual({
        kind: "deny",
        code: "NOT_FOUND",
        reason: "unknown",
        message: "Tool 'system/probe' not found",
        remedy: expect.any(String) as string,
        rule: "tools.rego:33",
      });
    }
    await engine.setTools({});
    expect(ask(policy, {}, powers)).toMatchObject({ code: "NOT_FOUND", rule: "tools.rego:31" });
  });

  test("C32: a no to execute after a yes to view says why", async () => {
    await enforce(
      `${HEAD}allow if input.action == "view"\n\nreasons contains "only looking" if input.action == "execute"`,
    );
    expect(ask(policy, { action: "view" }, powers)).toEqual({ kind: "allow" });
    expect(ask(policy, {}, powers)).toEqual({
      kind: "deny",
      code: "FORBIDDEN",
      reason: "policy_denied",
      message: "the policy refuses this call: only looking",
      remedy: expect.stringContaining("administrator") as string,
      rule: "a.rego:7",
    });
    await enforce(`${HEAD}allow if input.action == "view"`);
    expect(ask(policy, {}, powers)).toMatchObject({
      message: "no rule of the policy allows this call",
      rule: "a.rego:3",
    });
  });

  test("arguments and their names are told with execute only", async () => {
    await enforce(
      `${HEAD}allow if {\n\tinput.action == "view"\n\tnot input.arguments\n\tinput.argument_names == []\n}\n\nallow if {\n\tinput.action == "execute"\n\tinput.arguments.text == "hi"\n\tinput.argument_names == ["text"]\n}`,
    );
    expect(ask(policy, {}, powers)).toEqual({ kind: "allow" });
    expect(ask(policy, { arguments: { text: "ho" } }, powers)).toMatchObject({
      reason: "policy_denied",
    });
  });

  test("an explanation supposes another mode and time, and shows rule, text and what was read", async () => {
    await enforce(
      `${HEAD}allow if {\n\tinput.user_id\n\tinput.mode != "LOCKDOWN"\n}\n\nallow if input.time == "2026-01-01T00:00:00.000Z"`,
    );
    const at = Date.UTC(2026, 0, 1);
    expect(ask(policy, { suppose: {} }, powers)).toEqual({
      kind: "allow",
      rule: "a.rego:5",
      ruleText: 'allow if {\n\tinput.user_id\n\tinput.mode != "LOCKDOWN"\n}',
      read: {
        version: "1",
        reasons: [],
        facts: expect.objectContaining({ "input.mode": "NORMAL" }) as object,
      },
    });
    expect(ask(policy, { suppose: { mode: "LOCKDOWN" } }, powers)).toMatchObject({
      code: "NOT_FOUND",
      rule: "a.rego:3",
      ruleText: "default allow := false",
    });
    expect(
      ask(policy, { suppose: { mode: "LOCKDOWN", at }, action: "view" }, powers),
    ).toMatchObject({ kind: "allow", rule: "a.rego:10" });
  });

  test("a policy in trial is heard, in a yes and in a no", async () => {
    await engine.load("shadow", {
      version: "2",
      files: { "a.rego": `${HEAD}allow if input.action == "execute"` },
    });
    const deny = { version: "2", verdict: "deny" };
    expect(ask(policy, { action: "view" }, powers)).toMatchObject({ kind: "allow", shadow: deny });
    expect(ask(policy, {}, powers)).toMatchObject({ kind: "allow", shadow: deny });
    expect(ask(policy, { caller: testCaller({ roles: [] }) }, powers)).not.toHaveProperty("shadow");
    await engine.load("shadow", {
      version: "3",
      files: { "a.rego": `${HEAD}allow if input.action` },
    });
    const refused = ask(policy, { caller: testCaller({ roles: [] }) }, powers);
    expect(refused).toMatchObject({
      code: "NOT_FOUND",
      shadow: { version: "3", verdict: "allow" },
    });
  });

  test("an unknown name is asked about as it was written, and stays unknown whatever the policy says", async () => {
    await enforce(`${HEAD}allow if {\n\tinput.tool_name == "no/such"\n\tinput.tool == null\n}`);
    const unknown = { tool: null, requestedName: "no/such" };
    expect(ask(policy, unknown, powers)).toMatchObject({
      code: "NOT_FOUND",
      message: "Tool 'no/such' not found",
    });
    expect(ask(policy, { ...unknown, suppose: {} }, powers)).toMatchObject({
      code: "NOT_FOUND",
      rule: "a.rego:5",
    });
  });

  test("threats §6: a policy that fails, or none at all, denies and names its engine", async () => {
    const denied = { verdict: "deny", code: "UNAVAILABLE", engine: "policy", stage: "policy" };
    const decide = () => judge(policy, testSubject(), testPowers(powers), newTrail());
    await enforce(`${HEAD}allow := true if input.user_id\n\nallow := false if input.user_id`);
    expect(decide()).toMatchObject(denied);
    await engine.load("enforced", null);
    expect(decide()).toMatchObject(denied);
  });
});

describe("with a server that answers later", () => {
  const later = (
    answer: (input: PolicyInput) => PolicyJudgement,
  ): { policies: GatePowers["policies"] } => {
    const decide = (input: PolicyInput) => Promise.resolve(answer(input));
    return { policies: { decide, remembered: (_, input) => decide(input()) } };
  };
  const yes: PolicyJudgement = { allow: true, reasons: [], version: "1" };
  const no: PolicyJudgement = { allow: false, reasons: [], version: "1", decisionId: "d-1" };

  test("the same answers", async () => {
    const onlyView = later(({ action }) => (action === "view" ? yes : no));
    expect(
      await ask(
        policy,
        {},
        later(() => yes),
      ),
    ).toEqual({ kind: "allow" });
    expect(await ask(policy, { action: "view" }, onlyView)).toEqual({ kind: "allow" });
    expect(await ask(policy, {}, onlyView)).toMatchObject({ reason: "policy_denied" });
    expect(await ask(policy, {}, onlyView)).not.toHaveProperty("rule");
    expect(
      await ask(
        policy,
        {},
        later(() => no),
      ),
    ).toMatchObject({ code: "NOT_FOUND" });
    expect(
      await ask(
        policy,
        { suppose: {} },
        later(() => no),
      ),
    ).toMatchObject({
      read: { version: "1", reasons: [], decisionId: "d-1", facts: null },
    });
  });

  test("threats §6: too slow or broken is a no that names the engine", async () => {
    const slow = {
      decide: () => new Promise<PolicyJudgement>(() => undefined),
      remembered: () => new Promise<PolicyJudgement>(() => undefined),
    };
    const began = performance.now();
    const denied = { verdict: "deny", code: "UNAVAILABLE", engine: "policy" };
    expect(
      await judge(policy, testSubject(), testPowers({ policies: slow }), newTrail()),
    ).toMatchObject(denied);
    // After half a second; the machine may be busy with others.
    expect(performance.now() - began).toBeLessThan(5_000);
    const broken = later(() => {
      throw new Error("garbage");
    });
    expect(await judge(policy, testSubject(), testPowers(broken), newTrail())).toMatchObject(
      denied,
    );
  });
});

test("R037 R049: the input has every field that policies may read", async () => {
  const inputs: PolicyInput[] = [];
  const note = (input: PolicyInput): PolicyJudgement => {
    inputs.push(input);
    return { allow: true, reasons: [], version: "1" };
  };
  const policies = {
    decide: note,
    remembered: (_: unknown, input: () => PolicyInput) => note(input()),
  };
  const subject: Partial<Subject> = {
    sessionId: "ses_1",
    requestedName: "system_probe",
    tool: testTool(),
  };
  await ask(policy, subject, { policies, now: () => 0 });
  const view = {
    user_id: "ada",
    tool_name: "system/probe",
    action: "view",
    roles: ["tool_user"],
    context: { tenant_id: "local", session_id: "ses_1" },
    tenant: "local",
    capsule: "starter",
    session: "ses_1",
    tool: {
      name: "system/probe",
      category: "system",
      risk: "safe",
      class: "read_only",
      provider: "native",
      version: "1.0.0",
    },
    mode: "NORMAL",
    time: "1970-01-01T00:00:00.000Z",
    argument_names: [],
  };
  expect(inputs).toEqual([
    view,
    { ...view, action: "execute", argument_names: ["text"], arguments: { text: "hi" } },
  ]);
});
