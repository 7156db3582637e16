// Tools that call tools: through the whole gate, as their caller, within their time.
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { startApp, type StartedApp } from "../../../../test/fixtures/app.ts";
import { slowTool, type SlowObserver } from "../../../../test/fixtures/slow-tool.ts";
import type { Json, JsonObject } from "../../../contract/call.ts";
import { defineTool } from "../../../contract/tool.ts";

const outer = defineTool({
  name: "workflow/outer",
  description:
    "Calls another tool and tells how that went, for the tests of the engine as a power.",
  input: z.strictObject({
    name: z.string(),
    arguments: z.unknown(),
    timeoutMs: z.number().optional(),
  }),
  output: z.unknown(),
  risk: "safe",
  effects: "read_only",
  needs: ["engine"],
  timeoutMs: 20_000,
  examples: [{ name: "system/echo", arguments: { text: "hi" } }],
  async run({ name, arguments: args, timeoutMs }, { engine }) {
    const outcome = await engine.execute({
      name,
      arguments: args as JsonObject,
      ...(timeoutMs ? { timeoutMs } : {}),
      metadata: { step: 1 },
    });
    const { executionId, status, output, error } = outcome;
    return {
      executionId,
      status,
      output,
      reason: error?.reason ?? null,
      cancelReason: outcome.cancelReason,
      sees: (await engine.visible()).map((tool) => tool.name),
    };
  },
});

const observer: SlowObserver = { runs: [] };
let house: StartedApp;
beforeAll(async () => {
  house = await startApp({ tools: [outer, slowTool(observer)] });
});
afterAll(() => house.close());

const call = async (args: JsonObject, more: JsonObject = {}): Promise<Json> =>
  (
    await house.api("POST", "/executions", {
      body: { name: "workflow/outer", arguments: args, ...more },
    })
  ).body;
const record = async (id: string) => (await house.api("GET", `/executions/${id}`)).body;

test("an inner call is an execution of its own, of the same caller and session, and names its parent", async () => {
  const answer = (await call(
    { name: "system_echo", arguments: { text: "hi" } },
    { context: { sessionId: "s1", metadata: { depth: 7 } } },
  )) as { executionId: string; result: { executionId: string; sees: string[] } };
  expect(answer.result).toMatchObject({ status: "success", output: { text: "hi" } });
  expect(answer.result.sees).toContain("system/echo");
  const { execution: inner } = await record(answer.result.executionId);
  const { execution: parent } = await record(answer.executionId);
  expect(inner).toMatchObject({
    toolName: "system/echo",
    entry: "workflow",
    sessionId: "s1",
    userId: parent.userId,
    metadata: { step: 1, parentExecutionId: answer.executionId, depth: 1 },
  });
  expect(inner.traceId).toBe(parent.traceId);
});

test("what the caller may not do, its tool may not do either", async () => {
  expect(await call({ name: "no/such", arguments: {} })).toMatchObject({
    result: { status: "failed", reason: "unknown" },
  });
  expect(await call({ name: "system/echo", arguments: { texts: 1 } })).toMatchObject({
    result: { reason: expect.stringMatching(/unknown_parameter|invalid_arguments/) as string },
  });
});

test("calls within calls end at a depth, whatever the caller says about it", async () => {
  let args: JsonObject = { name: "system/echo", arguments: { text: "bottom" } };
  for (let depth = 0; depth < 9; depth++) args = { name: "workflow/outer", arguments: args };
  const text = JSON.stringify(await call(args));
  expect(text).toContain("depth_exceeded");
  expect(text).not.toContain('bottom"}');
});

test("a cancelled or timed out call takes what it called with it, for its own reason", async () => {
  const answer = await call({ name: "system/slow", arguments: { ms: 60_000 } }, { timeout: 1_500 });
  expect(answer).toMatchObject({ status: "cancelled" });
  await expect.poll(() => observer.runs.at(-1)?.abortReason, { timeout: 5_000 }).toBe("timeout");
});
