// Calls on record under two sets of rules: only what would be decided otherwise is told.
import { expect, test } from "vitest";
import { testGovernance, testPowers, testTool } from "../../../test/fixtures/gate.ts";
import type { Json } from "../../contract/call.ts";
import type { AuditedRecord } from "../record/history.ts";
import { replay } from "./replay.ts";

const tool = testTool();
const registry = { get: (name: string) => (name === tool.name ? tool : null) };

const record = (change: Partial<AuditedRecord> = {}): AuditedRecord => ({
  id: "exec_1",
  toolName: tool.name,
  requestedName: tool.name,
  category: "system",
  status: "success",
  arguments: { text: "hi" },
  argumentsCut: null,
  startTime: 1_000,
  timeout: 5_000,
  userId: "ada",
  tenantId: "local",
  capsuleId: "starter",
  keyId: null,
  sessionId: null,
  metadata: null,
  idempotencyKey: null,
  traceId: "t",
  spanId: "s",
  toolVersion: null,
  toolPin: null,
  runner: "native",
  entry: "rest",
  instanceId: "i",
  gates: [],
  approvalId: null,
  budget: {},
  reserved: false,
  mode: "NORMAL",
  roles: ["tool_user"],
  endTime: 1_001,
  executionTime: 1,
  result: null,
  resultCut: null,
  error: null,
  errorCode: null,
  errorReason: null,
  remedy: null,
  cancelReason: null,
  resultMetadata: null,
  ...change,
});

const now = testPowers();
const rule = { at: "tools.yaml:1", text: "read_only: no" };
const forbids = testPowers({
  governance: testGovernance({ modeRule: () => ({ treatment: "no", rule }) }),
});
const asks = testPowers({
  governance: testGovernance({ modeRule: () => ({ treatment: "approval", rule }) }),
});
const hides = testPowers({ relations: { ...now.relations, check: () => ({ has: "no" }) } });

test("the same rules change nothing", async () => {
  expect(await replay([record(), record({ id: "exec_2" })], registry, now, now)).toEqual({
    tried: 2,
    left: 0,
    changed: [],
  });
});

test("what would be refused, asked or hidden is told with stage, reason and rule", async () => {
  const told = async (draft: typeof now) =>
    (await replay([record()], registry, now, draft)).changed;
  const facts = { executionId: "exec_1", tool: tool.name, userId: "ada", at: 1_000 };
  expect(await told(forbids)).toMatchObject([
    {
      ...facts,
      before: { verdict: "run" },
      after: { verdict: "no", stage: "mode", reason: "mode_forbids", rule: "tools.yaml:1" },
    },
  ]);
  expect(await told(asks)).toMatchObject([
    {
      ...facts,
      before: { verdict: "run" },
      after: { verdict: "ask", stage: "mode", reason: "mode_asks" },
    },
  ]);
  expect(await told(hides)).toMatchObject([
    { ...facts, after: { verdict: "no", stage: "relationship", reason: "unknown" } },
  ]);
  const loosened = await replay([record()], registry, forbids, now);
  expect(loosened.changed).toMatchObject([
    { before: { verdict: "no", stage: "mode" }, after: { verdict: "run" } },
  ]);
});

test("the rules are asked about then: its mode, its time, its roles", async () => {
  const seen: Json[] = [];
  const policies = {
    ...now.policies,
    decide: (input: { mode: string; time: string; roles: readonly string[] }) => {
      seen.push([input.mode, input.time, [...input.roles]]);
      return { allow: true, reasons: [], version: "1" };
    },
  };
  await replay([record({ mode: "ALERT", startTime: 0 })], registry, { ...now, policies }, now);
  expect(seen[0]).toEqual(["ALERT", "1970-01-01T00:00:00.000Z", ["tool_user"]]);
});

test("a call of a hidden tool is replayed as what it really was; one whose tool is gone is left out", async () => {
  const hidden = record({
    toolName: "alias",
    runner: null,
    audit: { toolName: tool.name, gates: [] },
  });
  const gone = record({ toolName: "no/such" });
  expect(await replay([hidden, gone], registry, hides, now)).toMatchObject({
    tried: 1,
    left: 1,
    changed: [{ tool: tool.name, after: { verdict: "run" } }],
  });
});
