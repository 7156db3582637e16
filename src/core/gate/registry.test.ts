import { expect, test } from "vitest";
import { ask, testCaller, testTool } from "../../../test/fixtures/gate.ts";
import { registry } from "./registry.ts";
import type { Subject } from "../../contract/subject.ts";

const decide = (change: Partial<Subject>) => ask(registry, change);
const NOT_FOUND = {
  kind: "deny",
  code: "NOT_FOUND",
  reason: "unknown",
  message: "Tool 'system/probe' not found",
};

test("R033: an enabled native tool passes", () => {
  expect(decide({})).toEqual({ kind: "allow" });
});

test("R031: an unknown, a disabled and a pending tool get the same answer", () => {
  const answers = [
    decide({ tool: null, requestedName: "system/probe" }),
    decide({ tool: testTool({ enabled: false }) }),
    decide({ tool: testTool({ linkState: "pending_link" }) }),
  ];
  for (const answer of answers) expect(answer).toMatchObject(NOT_FOUND);
  expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1);
});

test("C18: a provider without a runner is hidden, and named to administrators only", () => {
  const tool = testTool({ provider: "external", native: null });
  expect(decide({ tool })).toMatchObject(NOT_FOUND);
  expect(decide({ tool, caller: testCaller({ role: "admin" }) })).toMatchObject({
    kind: "deny",
    code: "UNSUPPORTED_PROVIDER",
    reason: "external",
  });
});

const route = {
  server: "pets",
  method: "http",
  name: "getPet",
  pin: "0".repeat(64),
  operation: null,
};

test("R160: a tool of a server upstream passes once it is linked and something here can call it", () => {
  for (const provider of ["mcp", "external"] as const) {
    const tool = testTool({ provider, native: null, route });
    expect(decide({ tool })).toEqual({ kind: "allow" });
    expect(ask(registry, { tool }, { providers: new Set(["native"]) })).toMatchObject(NOT_FOUND);
    expect(
      decide({ tool: testTool({ provider, native: null, route, linkState: "pending_link" }) }),
    ).toMatchObject(NOT_FOUND);
  }
});

test("a linked draft without a route stays hidden, whatever runs", () => {
  expect(decide({ tool: testTool({ provider: "external", native: null }) })).toMatchObject(
    NOT_FOUND,
  );
});

test("a native tool that lost its handler is hidden", () => {
  expect(decide({ tool: testTool({ native: null }) })).toMatchObject(NOT_FOUND);
});

test("R024 C30: with the flag mcp_tools off no tool exists", () => {
  expect(ask(registry, {}, { toolsOn: false })).toMatchObject(NOT_FOUND);
});
