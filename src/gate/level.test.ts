import { describe, expect, it } from "vitest";
import { testCaller, testPowers, testSubject, testTool } from "../../test/fixtures/gate.ts";
import { LEVELS, type Caller } from "../call.ts";
import { RISKS, type Risk } from "../tools/tool.ts";
import { level } from "./level.ts";

const ALL_SCOPES = RISKS.map((risk) => `agent:execute:${risk}`);
const decide = (risk: Risk, caller: Partial<Caller>) =>
  level.decide(testSubject({ tool: testTool({ risk }), caller: testCaller(caller) }), testPowers());

describe("AC-007: four levels against three risks", () => {
  // An independent table, written from R060 and R061.
  const may: Record<(typeof LEVELS)[number], readonly Risk[]> = {
    view_only: [],
    execute_basic: ["safe"],
    execute_advanced: ["safe", "moderate"],
    admin: ["safe", "moderate", "dangerous"],
  };
  for (const name of LEVELS) {
    for (const risk of RISKS) {
      const allowed = may[name].includes(risk);
      it(`R060 R061: ${name} ${allowed ? "may" : "may not"} run a ${risk} tool`, () => {
        const answer = decide(risk, { level: name, scopes: ALL_SCOPES });
        expect(answer).toMatchObject(allowed ? { kind: "allow" } : { kind: "deny", code: "FORBIDDEN", reason: "level_too_low" }); // prettier-ignore
      });
    }
  }
});

it("R063: a risk nobody knows counts as dangerous", () => {
  const strange = "harmless" as Risk;
  expect(decide(strange, { level: "execute_advanced", scopes: ["*"] })).toMatchObject({
    reason: "level_too_low",
  });
  expect(decide(strange, { level: "admin", scopes: ["*"] })).toEqual({ kind: "allow" });
});

it("R053: a key without the scope of the risk is refused, whatever its level", () => {
  expect(decide("safe", { level: "admin", scopes: [] })).toMatchObject({
    code: "FORBIDDEN",
    reason: "scope_missing",
  });
  expect(decide("safe", { level: "admin", scopes: ["agent:execute:moderate"] })).toMatchObject({ reason: "scope_missing" }); // prettier-ignore
  expect(decide("safe", { level: "execute_basic", scopes: ["*"] })).toEqual({ kind: "allow" });
  expect(decide("safe", { level: "execute_basic", scopes: [], via: "console" })).toEqual({
    kind: "allow",
  });
});

it("R070: a special permission is asked of everybody but administrators", () => {
  const tool = testTool({ requiredPermissions: ["tool:shell:execute"] });
  const asked = (caller: Partial<Caller>) => level.decide(testSubject({ tool, caller: testCaller(caller) }), testPowers()); // prettier-ignore
  expect(asked({})).toMatchObject({ code: "FORBIDDEN", reason: "permission_missing" });
  expect(asked({ scopes: [...ALL_SCOPES, "tool:shell:execute"] })).toEqual({ kind: "allow" });
  expect(asked({ role: "admin" })).toEqual({ kind: "allow" });
});

it("a call without a tool never gets past it", () => {
  expect(level.decide(testSubject({ tool: null }), testPowers())).toMatchObject({
    code: "NOT_FOUND",
  });
});

it("R065: a refusal says what is missing and what to do", () => {
  const answer = decide("dangerous", { level: "execute_basic", scopes: ["*"] });
  expect(answer).toMatchObject({
    message: "system/probe is dangerous and needs level admin; this caller has execute_basic",
    remedy: expect.stringContaining("admin") as string,
  });
});
