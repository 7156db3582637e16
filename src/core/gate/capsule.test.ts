import { describe, expect, test } from "vitest";
import type { CapsuleRules } from "../../contract/agent-config.ts";
import { ask, testCaller, testPowers, testSubject } from "../../../test/fixtures/gate.ts";
import { capsule } from "./capsule.ts";
import { judge, newTrail } from "./stage.ts";

test("R034: a tool linked to the caller's capsule passes", () => {
  expect(ask(capsule)).toEqual({ kind: "allow" });
});

test("R031: without a capsule, outside it, or with an unknown one the tool does not exist", async () => {
  const answers = [
    ask(capsule, { caller: testCaller({ capsuleId: null }) }),
    ask(capsule, {}, { capsule: () => new Set(["system/other"]) }),
    ask(capsule, {}, { capsule: () => null }),
    await ask(capsule, {}, { capsule: () => Promise.resolve(null) }),
    ask(capsule, { tool: null }),
  ];
  for (const answer of answers) expect(answer).toMatchObject({ kind: "deny", code: "NOT_FOUND" });
});

test("a caller who is narrowed to some tools sees no others of the capsule", () => {
  const narrowed = (only: string[]) => ask(capsule, { caller: testCaller({ only }) });
  expect(narrowed(["system/probe"])).toEqual({ kind: "allow" });
  for (const only of [[], ["system/other"]])
    expect(narrowed(only)).toMatchObject({ kind: "deny", code: "NOT_FOUND" });
});

test("a caller who is narrowed to further capsules sees only what all of them hold", async () => {
  const capsules: Record<string, readonly string[]> = {
    starter: ["system/probe", "system/other"],
    agent: ["system/probe"],
    empty: [],
  };
  const among = (also: string[]) =>
    ask(
      capsule,
      { caller: testCaller({ also }) },
      { capsule: (id) => Promise.resolve(new Set(capsules[id])) },
    );
  expect(await among(["agent"])).toEqual({ kind: "allow" });
  for (const also of [["empty"], ["agent", "empty"]])
    expect(await among(also)).toMatchObject({ kind: "deny", code: "NOT_FOUND" });
});

test("waits for a capsule that must be read first", async () => {
  const powers = testPowers({ capsule: () => Promise.resolve(new Set(["system/probe"])) });
  expect(await ask(capsule, {}, powers)).toEqual({ kind: "allow" });
});

test("L04: a store that does not answer denies and names the engine", async () => {
  const powers = testPowers({ capsule: () => Promise.reject(new Error("gone")) });
  expect(await judge(capsule, testSubject(), powers, newTrail())).toMatchObject({
    stage: "capsule",
    verdict: "deny",
    code: "UNAVAILABLE",
    reason: "engine_unavailable",
    engine: "store",
  });
});

describe("what capsules say about their tools", () => {
  const question = (from: string) => ({
    reason: "capsule_asks",
    message: `${from} asks`,
    rule: from,
  });
  const none = { reach: "none" as const, rule: "still" };
  const listed = { reach: "list" as const, rule: "near" };
  const rulesOf: Record<string, CapsuleRules> = {
    starter: { forbids: () => null, asks: () => null, egress: null },
    never: { forbids: () => "never", asks: () => null, egress: null },
    asks: { forbids: () => null, asks: () => question("asks"), egress: null },
    wary: { forbids: () => null, asks: () => question("wary"), egress: null },
    still: { forbids: () => null, asks: () => null, egress: none },
    near: { forbids: () => null, asks: () => null, egress: listed },
  };
  const powers = {
    capsule: (id: string) => {
      const rules = rulesOf[id];
      return { has: () => true, ...(rules ? { rules } : {}) };
    },
  };
  const through = (capsuleId: string, ...also: string[]) =>
    ask(
      capsule,
      { caller: testCaller({ capsuleId, ...(also.length > 0 ? { also } : {}) }) },
      powers,
    );

  test("one of them: nothing, a question, a reach, or a refusal that names it", () => {
    expect(through("starter")).toEqual({ kind: "allow" });
    expect(through("asks")).toEqual({ kind: "allow", rule: "asks", ask: question("asks") });
    expect(through("still")).toEqual({ kind: "allow", rule: "still", egress: none });
    expect(through("never")).toMatchObject({ kind: "deny", code: "FORBIDDEN", rule: "never" });
  });

  test("several of them: every question is asked, and the shortest reach counts", async () => {
    expect(await through("plain", "asks")).toMatchObject({ ask: question("asks") });
    expect(await through("asks", "plain")).toMatchObject({ ask: question("asks") });
    expect(await through("asks", "wary")).toMatchObject({
      rule: "asks, wary",
      ask: { message: "asks asks; wary asks", rule: "asks, wary" },
    });
    expect(await through("still", "near")).toMatchObject({ egress: none });
    expect(await through("near", "still")).toMatchObject({ egress: none });
    expect(await through("asks", "near")).toMatchObject({ ask: question("asks"), egress: listed });
    expect(await through("near", "asks")).toMatchObject({ ask: question("asks"), egress: listed });
    expect(await through("asks", "never")).toMatchObject({ kind: "deny" });
  });
});
