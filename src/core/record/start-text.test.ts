import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { testCaller, testTool } from "../../../test/fixtures/gate.ts";
import type { Caller } from "../../contract/call.ts";
import type { WrittenStart } from "../../storage/store/store.ts";
import { readStart } from "../../util/record/event-bodies.ts";
import type { Tool } from "../../contract/tool.ts";
import { createStartText } from "./start-text.ts";

const USUAL = {
  argumentsCut: null,
  sessionId: null,
  metadata: null,
  idempotencyKey: null,
  approvalId: null,
  reserved: false,
  mode: "NORMAL",
};

function bodyOf(caller: Caller, tool: Tool | null, change: Partial<WrittenStart>): WrittenStart {
  const { userId, tenantId, capsuleId, keyId, roles } = caller;
  return {
    toolName: tool?.name ?? "none",
    requestedName: "system_probe",
    category: "system",
    status: "running",
    arguments: { text: "hi" },
    startTime: 1,
    timeout: 5_000,
    userId,
    tenantId,
    capsuleId,
    keyId,
    traceId: "t",
    spanId: "s",
    toolVersion: tool?.version ?? null,
    toolPin: tool?.pin ?? null,
    runner: tool?.provider ?? null,
    entry: "mcp",
    instanceId: "one",
    gates: "registry 0.001",
    budget: { tool_calls: 1 },
    roles,
    ...change,
  };
}

describe("the text of a start", () => {
  test("says what the body says, whatever was written before it", () => {
    const callers = [
      testCaller(),
      testCaller({ userId: 'b"ob\n', capsuleId: null, keyId: null, roles: [] }),
    ];
    const tools = [testTool(), testTool({ name: "system/other" }), null];
    const text = createStartText();
    const changes = fc.record(
      {
        requestedName: fc.constantFrom("system_probe", "system/probe", 'a"b'),
        entry: fc.constantFrom("mcp", "rest"),
        arguments: fc.dictionary(fc.string(), fc.jsonValue()) as fc.Arbitrary<
          WrittenStart["arguments"]
        >,
        status: fc.constantFrom("running", "pending"),
        gates: fc.constantFrom<WrittenStart["gates"]>("registry 0.001", [
          "registry 0.1",
          { stage: "mode", verdict: "deny" },
        ]),
        argumentsCut: fc.constant({ size: 70_000, sha256: "ab" }),
        sessionId: fc.string(),
        metadata: fc.constant({ a: { b: [1, "\u2028"] } }),
        idempotencyKey: fc.string(),
        approvalId: fc.string(),
        reserved: fc.constant(true),
        mode: fc.constantFrom("ALERT", "LOCKDOWN"),
      },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(
        fc.constantFrom(...callers),
        fc.constantFrom(...tools),
        changes,
        (caller, tool, change) => {
          const body = bodyOf(caller, tool, change);
          const plain = JSON.parse(JSON.stringify({ ...USUAL, ...body })) as object;
          expect(readStart(text({ caller, tool }, body))).toEqual(plain);
        },
      ),
    );
  });

  test("leaves out what has its usual value", () => {
    const caller = testCaller();
    const text = createStartText()({ caller, tool: null }, bodyOf(caller, null, {}));
    for (const name of Object.keys(USUAL)) expect(text).not.toContain(`"${name}"`);
  });
});
