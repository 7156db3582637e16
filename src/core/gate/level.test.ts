import { describe, expect, test } from "vitest";
import { ask, testCaller, testPowers, testTool } from "../../../test/fixtures/gate.ts";
import { LEVELS, type Caller } from "../../contract/call.ts";
import type { CheckRequest } from "../../governance/relations/relation.ts";
import { RISKS, type Risk } from "../../contract/tool.ts";
import { level } from "./level.ts";
import type { GatePowers } from "./stage.ts";

const ALL_SCOPES = RISKS.map((risk) => `agent:execute:${risk}`);
const decide = (risk: Risk, caller: Partial<Caller>) =>
  ask(level, { tool: testTool({ risk }), caller: testCaller(caller) });

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
      test(`R060 R061: ${name} ${allowed ? "may" : "may not"} run a ${risk} tool`, () => {
        const answer = decide(risk, { level: name, scopes: ALL_SCOPES });
        expect(answer).toMatchObject(
          allowed
            ? { kind: "allow" }
            : { kind: "deny", code: "FORBIDDEN", reason: "level_too_low" },
        );
      });
    }
  }
});

test("R063: a risk nobody knows counts as dangerous", () => {
  const strange = "harmless" as Risk;
  expect(decide(strange, { level: "execute_advanced", scopes: ["*"] })).toMatchObject({
    reason: "level_too_low",
  });
  expect(decide(strange, { level: "admin", scopes: ["*"] })).toEqual({ kind: "allow" });
});

test("R053: a key without the scope of the risk is refused, whatever its level", () => {
  expect(decide("safe", { level: "admin", scopes: [] })).toMatchObject({
    code: "FORBIDDEN",
    reason: "scope_missing",
  });
  expect(decide("safe", { level: "admin", scopes: ["agent:execute:moderate"] })).toMatchObject({
    reason: "scope_missing",
  });
  expect(decide("safe", { level: "execute_basic", scopes: ["*"] })).toEqual({ kind: "allow" });
  expect(decide("safe", { level: "execute_basic", scopes: [], via: "console" })).toEqual({
    kind: "allow",
  });
});

test("R070 C9 C31 C42: a special permission is a relation to the caller's tenant", async () => {
  const granted = new Set(["shell_execute"]);
  const asked: CheckRequest[] = [];
  const relations: GatePowers["relations"] = {
    ...testPowers().relations,
    check(request) {
      asked.push(request);
      return { has: granted.has(request.permission) ? "yes" : "no" };
    },
  };
  const asks = (...requiredPermissions: string[]) =>
    ask(level, { tool: testTool({ requiredPermissions }) }, { relations });
  expect(await asks("tool:shell:execute")).toEqual({ kind: "allow" });
  expect(asked[0]).toEqual({
    resource: { type: "tenant", id: "local" },
    permission: "shell_execute",
    subject: { type: "user", id: "ada" },
  });
  const refused = { code: "FORBIDDEN", reason: "permission_missing" };
  expect(await asks("tool:shell:execute", "tool:create")).toMatchObject(refused);
  expect(await asks("tool:package_manager:install")).toMatchObject(refused);
  expect(await asks("tool:pkg:install")).toMatchObject(refused);
  // One that no relation stands for is held by nobody.
  expect(await asks("tool:anything")).toMatchObject(refused);
  expect(asked.map(({ permission }) => permission)).toEqual([
    "shell_execute",
    "shell_execute",
    "tool_create",
    "package_install",
    "package_install",
  ]);
});

test("a call without a tool never gets past it", () => {
  expect(ask(level, { tool: null })).toMatchObject({
    code: "NOT_FOUND",
  });
});

test("R065: a refusal says what is missing and what to do", () => {
  const answer = decide("dangerous", { level: "execute_basic", scopes: ["*"] });
  expect(answer).toMatchObject({
    message: "system/probe is dangerous and needs level admin; this caller has execute_basic",
    remedy: expect.stringContaining("admin") as string,
  });
});
