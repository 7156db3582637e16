// The agent tools with real powers and a scripted model; the gate is tested over the wire.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  lastToolResult,
  scriptedModel,
  type ScriptedModel,
} from "../../../test/fixtures/scripted-model.ts";
import { HAS_BOX } from "../../../test/fixtures/programs.ts";
import { openBench, type Bench, type BenchCall } from "../../../test/fixtures/tool-bench.ts";
import type { JsonObject } from "../../contract/call.ts";
import askUser from "./ask_user.ts";
import communicate from "./communicate.ts";
import coordinate from "./coordinate.ts";
import createTool from "./create_tool.ts";
import spawn from "./spawn.ts";
import status from "./status.ts";
import stop from "./stop.ts";

const never = new Promise<never>(() => undefined);
let bench: Bench;
let script: ScriptedModel;
/** How the next question is decided; null: nobody looks. */
let decision: "answer" | "decline" | null = "answer";

beforeAll(async () => {
  script = scriptedModel((request, turn) => {
    const [first] = request.messages;
    const objective = first?.content ?? "";
    if (request.schema)
      return {
        text: objective.includes("badly")
          ? "no list"
          : '{"tasks": ["do the first part", "do the second part"]}',
      };
    if (objective.includes("waits forever")) return never;
    if (objective.includes("listens")) {
      const heard = request.messages.findLast(({ role }) => role === "user")?.content ?? "";
      if (heard.startsWith("heard:")) return { text: `you said ${heard}` };
      return new Promise((resolve) =>
        setTimeout(
          () => resolve({ calls: [{ name: "system_echo", arguments: { text: "tick" } }] }),
          20,
        ),
      );
    }
    if (objective.includes("calls too much"))
      return turn > 3
        ? { text: JSON.stringify(lastToolResult(request)) }
        : { calls: [{ name: "system_echo", arguments: { text: "x" } }] };
    if (objective.includes("talks too much"))
      return { calls: [{ name: "system_echo", arguments: { text: "x" } }], tokens: 600 };
    if (turn === 0)
      return {
        text: "let me see",
        calls: [{ name: "system_calculator", arguments: { expression: "6 * 7" } }],
      };
    return { text: `the answer is ${JSON.stringify(lastToolResult(request)?.["output"])}` };
  });
  bench = await openBench({
    model: script.model,
    note: async (action, body, store) => {
      const id = body["questionId"] as string;
      if (action !== "question.asked" || decision === null) return;
      await store.questions.presented([id], 1);
      const change =
        decision === "answer"
          ? ({ state: "answered", answer: "main" } as const)
          : ({ state: "declined", answer: null } as const);
      await store.questions.decide(id, { ...change, answeredBy: "alice", at: bench.now });
    },
  });
});
afterAll(() => bench.close());

const start = (objective: string, more: JsonObject = {}, options: BenchCall = {}) =>
  bench.run(spawn, { objective: `${objective}, please`, ...more }, options);
const ended = async (agentId: unknown) => {
  let row: JsonObject = {};
  await expect
    .poll(async () => (row = await bench.run(status, { agentId: String(agentId) }))["status"], {
      timeout: 20_000,
    })
    .not.toBe("running");
  return row;
};

describe("spawn", () => {
  test("an agent uses its tools and ends with a result, counted", async () => {
    const made = await start("compute something", { tools: ["system/calculator"], wait: true });
    expect(made).toMatchObject({
      status: "success",
      tools: ["system/calculator"],
      result: expect.stringContaining("42") as string,
    });
    expect(await bench.run(status, { agentId: made["agentId"] ?? "" })).toMatchObject({
      toolCalls: 1,
      tokens: 20,
      lastEvent: "answered",
      objective: "compute something, please",
    });
    const asked = script.asked.find(({ messages }) => messages[0]?.content.startsWith("compute"));
    expect(asked?.tools?.map(({ name }) => name)).toEqual(["system_calculator"]);
  });

  test("never more than the caller has", async () => {
    expect(
      await bench.fault(spawn, { objective: "a wide agent", tools: ["system/echo", "no/such"] }),
    ).toMatchObject({
      code: "FORBIDDEN",
      reason: "tools_exceed_caller",
      message: expect.stringContaining("no/such") as string,
    });
    const made = await start("compute by default");
    expect(made["tools"]).not.toContain("agent/spawn");
    expect(made["tools"]).toContain("system/echo");
  });

  test("budgets end it: calls are refused to it, tokens stop it", async () => {
    const calls = await ended(
      (await start("calls too much", { budget: { toolCalls: 2 } }))["agentId"],
    );
    expect(calls).toMatchObject({
      status: "success",
      toolCalls: 2,
      result: expect.stringContaining("tool_calls_exhausted") as string,
    });
    const tokens = await ended(
      (await start("talks too much", { budget: { tokens: 1_000 } }))["agentId"],
    );
    expect(tokens).toMatchObject({
      status: "failed",
      lastEvent: "its budget of tokens is used up",
    });
  });

  test("an agent gives its agents at most what it has left, and goes three deep", async () => {
    const inner = async (call: JsonObject, metadata: JsonObject) => {
      const powers = bench.powersFor(["agents"], {
        ...bench.call(),
        entry: "agent",
        metadata: { depth: 1, ...metadata },
        startedAt: bench.now,
      });
      return spawn.native?.run(call, powers, {
        signal: new AbortController().signal,
        note: () => undefined,
      } as never);
    };
    const parent = await start("waits forever", { budget: { toolCalls: 5, tokens: 1_000 } });
    const agentId = parent["agentId"] ?? "";
    const child = { objective: "waits forever as a child" };
    await expect(
      inner({ ...child, budget: { toolCalls: 6 } }, { agentId, agentDepth: 1 }),
    ).rejects.toMatchObject({ fault: { code: "FORBIDDEN", reason: "budget_exceeds_caller" } });
    await inner({ ...child, budget: { toolCalls: 4, tokens: 500 } }, { agentId, agentDepth: 1 });
    await expect(
      inner({ ...child, budget: { toolCalls: 2 } }, { agentId, agentDepth: 1 }),
    ).rejects.toMatchObject({ fault: { reason: "budget_exceeds_caller" } });
    await expect(inner(child, { agentId, agentDepth: 3 })).rejects.toMatchObject({
      fault: { reason: "depth_exceeded" },
    });
    await bench.run(stop, { agentId });
  });

  test("without a model it is UNAVAILABLE and says what to do", async () => {
    const bare = await openBench();
    for (const [tool, input] of [
      [spawn, { objective: "anything at all" }],
      [coordinate, { objective: "anything at all", agents: ["a"] }],
    ] as const)
      expect(await bare.fault(tool, input)).toMatchObject({
        code: "UNAVAILABLE",
        reason: "provider_not_configured",
        remedy: expect.stringContaining("models") as string,
      });
    await bare.close();
  });
});

describe("communicate, status, stop", () => {
  test("a message reaches it before its next step, and the reply comes back", async () => {
    const { agentId = "" } = await start("listens", { budget: { toolCalls: 200 } });
    const told = await bench.run(communicate, {
      agentId,
      message: "heard: hello",
      waitReply: true,
    });
    expect(told).toMatchObject({ delivered: true, reply: "you said heard: hello" });
    await ended(agentId);
    expect(await bench.fault(communicate, { agentId, message: "too late" })).toMatchObject({
      reason: "agent_ended",
    });
  });

  test("stopping ends it at once, with the reason; again is a success", async () => {
    const { agentId = "" } = await start("waits forever");
    expect(await bench.run(stop, { agentId, reason: "enough" })).toEqual({
      agentId,
      stopped: true,
      cancelledExecutions: 0,
    });
    expect(await bench.run(status, { agentId })).toMatchObject({
      status: "stopped",
      lastEvent: "stopped: enough",
    });
    expect(await bench.run(stop, { agentId })).toMatchObject({ stopped: true });
  });

  test("nobody else's agents are there", async () => {
    const { agentId = "" } = await start("waits forever");
    for (const caller of [{ userId: "bob" }, { tenantId: "other" }])
      for (const [tool, input] of [
        [status, { agentId }],
        [stop, { agentId }],
        [communicate, { agentId, message: "x" }],
      ] as const)
        expect(await bench.fault(tool, input, { caller })).toMatchObject({
          code: "NOT_FOUND",
          reason: "agent_not_found",
        });
    await bench.run(stop, { agentId });
  });
});

describe("coordinate", () => {
  test("one agent for each task the model made", async () => {
    const group = await bench.run(coordinate, {
      objective: "waits forever on two things",
      agents: ["reader", "writer"],
    });
    expect(group).toMatchObject({
      status: "running",
      assignments: [{ task: "do the first part" }, { task: "do the second part" }],
    });
    for (const { agentId } of group["assignments"] as unknown as { agentId: string }[]) {
      expect(await bench.run(status, { agentId })).toMatchObject({
        status: "running",
        objective: expect.stringContaining("part") as string,
      });
      await bench.run(stop, { agentId });
    }
  });

  test("too many agents and an answer that is no list are refused", async () => {
    expect(
      await bench.fault(coordinate, {
        objective: "a great many",
        agents: Array(6).fill("x") as string[],
      }),
    ).toMatchObject({ code: "BAD_REQUEST", reason: "invalid_arguments" });
    expect(
      await bench.fault(coordinate, { objective: "answered badly", agents: ["a", "b"] }),
    ).toMatchObject({ reason: "upstream_protocol" });
  });
});

describe("ask_user", () => {
  const ask = (more: JsonObject = {}, options: BenchCall = {}) =>
    bench.run(askUser, { question: "Which branch?", timeoutSeconds: 10, ...more }, options);

  test("answered, with who and when", async () => {
    decision = "answer";
    expect(await ask({ options: ["main", "next"] })).toEqual({
      state: "answered",
      answer: "main",
      by: "alice",
      at: new Date(bench.now).toISOString(),
    });
  });

  test("declined", async () => {
    decision = "decline";
    expect(await ask()).toMatchObject({ state: "declined", by: "alice" });
  });

  test("a cancel ends the wait at once", async () => {
    decision = null;
    const controller = new AbortController();
    const asked = ask({}, { signal: controller.signal });
    setTimeout(() => controller.abort("user"), 50);
    expect(await asked).toMatchObject({ state: "not_presented" });
  });

  test("the same option twice is refused", async () => {
    expect(await bench.fault(askUser, { question: "?", options: ["a", "a"] })).toMatchObject({
      reason: "invalid_arguments",
    });
  });
});

test("ten questions a minute are enough", async () => {
  decision = "answer";
  const caller = { userId: "chatty" };
  for (let at = 0; at < 10; at++)
    await bench.run(askUser, { question: `${at}?`, timeoutSeconds: 10 }, { caller });
  const fault = await bench.fault(
    askUser,
    { question: "one more?", timeoutSeconds: 10 },
    { caller },
  );
  expect(fault).toMatchObject({ code: "TOO_MANY_REQUESTS", reason: "rate_tool" });
  expect(fault.retryAfterSeconds).toBeGreaterThan(0);
});

describe("create_tool", () => {
  const draft = (more: JsonObject = {}): JsonObject => ({
    name: "file/count_words",
    description: "Counts the words of a text.",
    schema: { type: "object", properties: {} },
    config: { kind: "code", language: "js", source: "export default () => ({ words: 1 });" },
    examples: [],
    tests: [
      { input: {}, output: { words: 1 } },
      { input: {}, output: { words: 2 } },
    ],
    timeoutSeconds: 10,
    ...more,
  });

  test.skipIf(!HAS_BOX)(
    "kept, tested and pinned, not callable; a lower risk is only a proposal",
    async () => {
      const made = await bench.run(createTool, draft({ risk: "safe" }));
      expect(made).toMatchObject({
        capabilityId: "file/count_words",
        version: "1.0.0",
        linkState: "pending_link",
        pin: expect.stringMatching(/^[0-9a-f]{64}$/) as string,
        tests: [
          { status: "passed", message: null },
          { status: "failed", message: 'expected {"words":2}, got {"words":1}' },
        ],
      });
      expect(JSON.stringify(made["warnings"])).toMatch(
        /administrator.*1 of 2 tests.*only a proposal/,
      );
      expect(await bench.fault(createTool, draft())).toMatchObject({
        code: "CONFLICT",
        reason: "already_exists",
      });
      expect(await bench.run(createTool, draft({ replaces: "1.0.0" }))).toMatchObject({
        version: "1.1.0",
      });
    },
  );

  test.skipIf(HAS_BOX)("without a sandbox nothing is drafted", async () => {
    expect(await bench.fault(createTool, draft())).toMatchObject({
      code: "UNAVAILABLE",
      reason: "sandbox_unavailable",
    });
  });

  test.each<[string, JsonObject, string]>([
    ["a name of no category", { name: "mine/tool" }, "name_invalid"],
    ["a name with capitals", { name: "file/Tool" }, "name_invalid"],
    ["a taken name", { name: "file/read" }, "already_exists"],
    [
      "a schema that is no object",
      { name: "file/x1", schema: { type: "array" } },
      "schema_invalid",
    ],
    [
      "a schema that refers",
      { name: "file/x2", schema: { type: "object", properties: { a: { $ref: "http://x/" } } } },
      "schema_invalid",
    ],
    ["a schema that is too deep", { name: "file/x3", schema: deep(40) }, "schema_invalid"],
    [
      "an output schema that is no object",
      { name: "file/x4", outputSchema: { type: "string" } },
      "schema_invalid",
    ],
    ["an example that does not fit", { name: "file/x5", examples: [{ a: 1 }] }, "draft_invalid"],
    [
      "a program without a language",
      { name: "file/x6", config: { kind: "code" } },
      "draft_invalid",
    ],
    [
      "a kind without a runner",
      { name: "file/x7", config: { kind: "upstream", url: "https://a.example" } },
      "kind_unsupported",
    ],
    ["a version to replace that is not", { name: "file/x8", replaces: "1.0.0" }, "stale"],
  ])("%s is refused", async (_what, more, reason) => {
    expect(await bench.fault(createTool, draft(more))).toMatchObject({
      reason,
      remedy: expect.any(String) as string,
    });
  });
});

function deep(levels: number): JsonObject {
  let schema: JsonObject = { type: "object" };
  for (let at = 0; at < levels; at++) schema = { type: "object", properties: { inner: schema } };
  return schema;
}
