import { expect, it } from "vitest";
import { testCaller, testPowers, testSubject } from "../../test/fixtures/gate.ts";
import { capsule } from "./capsule.ts";
import { judge } from "./stage.ts";

it("R034: a tool linked to the caller's capsule passes", () => {
  expect(capsule.decide(testSubject(), testPowers())).toEqual({ kind: "allow" });
});

it("R031: without a capsule, outside it, or with an unknown one the tool does not exist", async () => {
  const answers = [
    capsule.decide(testSubject({ caller: testCaller({ capsuleId: null }) }), testPowers()),
    capsule.decide(testSubject(), testPowers({ capsule: () => new Set(["system/other"]) })),
    capsule.decide(testSubject(), testPowers({ capsule: () => null })),
    await capsule.decide(testSubject(), testPowers({ capsule: () => Promise.resolve(null) })),
    capsule.decide(testSubject({ tool: null }), testPowers()),
  ];
  for (const answer of answers) expect(answer).toMatchObject({ kind: "deny", code: "NOT_FOUND" });
});

it("waits for a capsule that must be read first", async () => {
  const powers = testPowers({ capsule: () => Promise.resolve(new Set(["system/probe"])) });
  expect(await capsule.decide(testSubject(), powers)).toEqual({ kind: "allow" });
});

it("L04: a store that does not answer denies and names the engine", async () => {
  const powers = testPowers({ capsule: () => Promise.reject(new Error("gone")) });
  expect(await judge(capsule, testSubject(), powers)).toMatchObject({
    stage: "capsule",
    verdict: "deny",
    code: "UNAVAILABLE",
    reason: "engine_unavailable",
    engine: "store",
  });
});
