// Servers upstream that answer a call with a task: it is followed under the gate and within the call's time, a cancel is
// passed on, and what comes of it is checked and recorded like any answer.
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { startApp, type StartedApp } from "../fixtures/app.ts";
import { newUser, until } from "../fixtures/contract.ts";
import {
  answer,
  startMcpUpstream,
  type Asked,
  type McpUpstream,
} from "../fixtures/mcp-upstream.ts";
import { taskRequest, TASKS } from "./mcp-task-clients.ts";

const SECRET = `ghp_${"a1B2".repeat(9)}`;
const text = (words: string) => ({ content: [{ type: "text", text: words }] });
const AT = new Date(0).toISOString();
const task = (status: string, more: object = {}) => ({
  taskId: "up-1",
  status,
  createdAt: AT,
  lastUpdatedAt: AT,
  ttlMs: 60_000,
  pollIntervalMs: 50,
  ...more,
});

/** What the server tells of its task, one after the other; the last for ever. */
let states: object[] = [];
let upstream: McpUpstream;
let app: StartedApp;
let key: string;

const TOOLS = ["job", "guarded"].map((name) => ({
  name,
  description: "Takes its time.",
  inputSchema: { type: "object", properties: { text: { type: "string" } } },
}));

beforeAll(async () => {
  const start = ({
    id,
    res,
  }: Parameters<NonNullable<ReturnType<McpUpstream["behave"]["get"]>>>[0]) =>
    answer(res, id, { resultType: "task", ...task("working") });
  upstream = await startMcpUpstream({
    tools: [
      ...TOOLS,
      {
        name: "typed",
        description: "Promises a number.",
        inputSchema: { type: "object" },
        outputSchema: {
          type: "object",
          properties: { n: { type: "number" } },
          required: ["n"],
        },
      },
    ],
    extensions: TASKS.extensions,
    behave: {
      job: start,
      guarded: start,
      typed: start,
      "tasks/get": ({ id, res }) => {
        const state = (states.length > 1 ? states.shift() : states[0]) ?? {};
        if ("status" in state) return answer(res, id, { ...state });
        res.writeHead(502).end("bad gateway");
      },
      "tasks/update": ({ id, res }) => answer(res, id, {}),
      "tasks/cancel": ({ id, res }) => answer(res, id, {}),
    },
  });
  app = await startApp();
  const body = {
    name: "up",
    transport: { kind: "http", url: upstream.url },
    settings: { breakerFailures: 100 },
  };
  expect((await app.api("POST", "/servers", { body })).status).toBe(201);
  const approve = (terms: object, tools: string[]) =>
    app.api("POST", "/servers/up/approve", { body: { terms, tools, evenWithFindings: true } });
  await approve({ risk: "safe", effects: "system_write" }, ["job", "typed"]);
  await approve({ risk: "dangerous", effects: "system_write" }, ["guarded"]);
  const scopes = ["agent:execute:dangerous", "agent:execute:safe"];
  key = await newUser(app, "bot", { level: "admin", capsuleId: "all", scopes });
}, 60_000);
afterAll(async () => {
  await app.close();
  await upstream.close();
});
beforeEach(() => {
  upstream.asked.length = 0;
  states = [task("completed", { result: text("done") })];
});

const asked = (method: string): Asked[] => upstream.asked.filter((one) => one.method === method);
const declared = (one: Asked | undefined): unknown =>
  one?.params._meta?.["io.modelcontextprotocol/clientCapabilities"];
const rest = (body: object = {}) =>
  app.api("POST", "/executions", {
    key,
    body: { name: "up/job", arguments: { text: "x" }, ...body },
  });
const send = (method: string, params: object, capabilities: object = TASKS) =>
  taskRequest(app.url, key, method, params, capabilities);
const call = (name: string, capabilities?: object) =>
  send("tools/call", { name: `up_${name}`, arguments: { text: "x" } }, capabilities);
async function ended(taskId: unknown): Promise<Record<string, unknown>> {
  for (const end = Date.now() + 10_000; Date.now() < end; await sleep(20)) {
    const { result } = await send("tasks/get", { taskId });
    if (result?.["status"] !== "working") return result ?? {};
  }
  throw new Error("the task does not end");
}

describe("over REST, where only we wait", () => {
  test("the task is followed to its result, which is masked and recorded", async () => {
    states = [
      task("working"),
      task("working"),
      task("completed", { result: text(`key ${SECRET}`) }),
    ];
    const { status, body } = await rest();
    expect(status).toBe(200);
    expect(body).toMatchObject({ status: "success" });
    expect(JSON.stringify(body)).not.toContain(SECRET);
    expect([asked("tools/call"), asked("tasks/get")].map(({ length }) => length)).toEqual([1, 3]);
    expect(declared(asked("tools/call")[0])).toEqual(TASKS);
    // Routed by the task, under our own envelope, without the caller's key (the fixture looks for it).
    expect(asked("tasks/get")[0]?.headers["mcp-name"]).toBe("up-1");
    expect(declared(asked("tasks/get")[0])).toEqual(TASKS);
    const { body: kept } = await app.api("GET", `/executions/${body.executionId as string}`, {
      key,
    });
    expect(kept.execution).toMatchObject({ status: "success", resultMetadata: { masked: 1 } });
    expect(asked("tasks/cancel")).toHaveLength(0);
  });

  test("its error is the call's error; a task that the server cancelled leaves the outcome open", async () => {
    states = [task("failed", { error: { code: -32603, message: "it broke" } })];
    expect((await rest()).body).toMatchObject({
      status: "failed",
      errorCode: "EXECUTION_FAILED",
      errorReason: "upstream_error",
    });
    states = [task("cancelled")];
    expect((await rest()).body).toMatchObject({ errorCode: "OUTCOME_UNKNOWN" });
    expect(asked("tasks/cancel")).toHaveLength(0);
  });

  test("a few failed polls are passed over; after more of them the outcome is not known, and nothing is sent twice", async () => {
    states = [{}, {}, task("completed", { result: text("done") })];
    expect((await rest()).body).toMatchObject({ status: "success" });
    states = [{}];
    expect((await rest()).body).toMatchObject({ errorCode: "OUTCOME_UNKNOWN" });
    expect(asked("tools/call")).toHaveLength(2);
  }, 20_000);

  test.each([
    ["another task", task("completed", { taskId: "up-2", result: text("other") })],
    ["no known status", task("paused")],
    ["no result", task("completed")],
    ["no error", task("failed")],
    [
      "questions to nobody",
      task("input_required", { inputRequests: { q: { method: "roots/list" } } }),
    ],
    ["content that is none", task("completed", { result: { content: [{ type: "hologram" }] } })],
  ])("an answer with %s is no result", async (_what, state) => {
    states = [state];
    const { body } = await rest();
    expect(body.status).toBe("failed");
    expect(["OUTCOME_UNKNOWN", "EXECUTION_FAILED"]).toContain(body.errorCode);
    expect(asked("tools/call")).toHaveLength(1);
  });

  test("its result is held to the promised schema", async () => {
    states = [task("completed", { result: { ...text("{}"), structuredContent: { n: "many" } } })];
    expect((await rest({ name: "up/typed", arguments: {} })).body).toMatchObject({
      errorReason: "output_invalid",
    });
  });

  test("the call's time is the task's: afterwards the server is told to cancel", async () => {
    states = [task("working")];
    const { body } = await rest({ timeout: 1_000 });
    expect(body).toMatchObject({ status: "cancelled", errorCode: "TIMEOUT" });
    await until(() => asked("tasks/cancel").length === 1);
    expect(asked("tasks/cancel")[0]?.headers["mcp-name"]).toBe("up-1");
  });
});

describe("over MCP", () => {
  test("a client without tasks changes nothing for the server: no task is offered to it", async () => {
    upstream.behave.set("job", ({ id, res }) => answer(res, id, text("plain")));
    try {
      const { result } = await call("job", {});
      expect(result).toMatchObject({ content: [{ type: "text", text: "plain" }] });
      expect(declared(asked("tools/call")[0])).toEqual({});
      expect((await call("job")).result).toMatchObject({ resultType: "complete" });
      expect(declared(asked("tools/call")[1])).toMatchObject(TASKS);
    } finally {
      upstream.behave.set("job", ({ id, res }) =>
        answer(res, id, { resultType: "task", ...task("working") }),
      );
    }
  });

  test("a task that nobody asked for is refused", async () => {
    const { result } = await call("job", {});
    expect(result).toMatchObject({ isError: true });
    expect(asked("tasks/get")).toHaveLength(0);
  });

  test("a client with tasks gets ours at once, never the server's id", async () => {
    states = [task("working"), task("completed", { result: text("done") })];
    const { result } = await call("job");
    expect(result).toMatchObject({ resultType: "task", status: "working" });
    expect(JSON.stringify(result)).not.toContain("up-1");
    expect(await ended(result?.["taskId"])).toMatchObject({
      status: "completed",
      result: { content: [{ type: "text", text: "done" }] },
    });
    expect((await send("tasks/get", { taskId: "up-1" })).error).toMatchObject({ code: -32602 });
  });

  test("its JSON-RPC error makes our task fail with it", async () => {
    states = [task("failed", { error: { code: -32050, message: "it broke", data: { at: 7 } } })];
    const { result } = await call("job");
    const failed = await ended(result?.["taskId"]);
    expect(failed).toMatchObject({
      status: "failed",
      error: { code: -32050, message: "it broke", data: { at: 7 } },
    });
    expect(failed).not.toHaveProperty("result");
  });

  test("tasks/cancel is passed on", async () => {
    states = [task("working")];
    const { taskId } = (await call("job")).result!;
    await until(() => asked("tasks/get").length > 0);
    await send("tasks/cancel", { taskId });
    expect(await ended(taskId)).toMatchObject({ status: "cancelled" });
    await until(() => asked("tasks/cancel").length === 1);
    const polls = asked("tasks/get").length;
    await sleep(200);
    expect(asked("tasks/get")).toHaveLength(polls);
  });

  test("its questions are asked of the client, with the server's name; answers reach the server under its keys", async () => {
    const form = { mode: "form", message: "Sure?", requestedSchema: { type: "object" } };
    const question = { sure: { method: "elicitation/create", params: form } };
    states = [
      task("input_required", { inputRequests: question }),
      // It has not taken the answer in yet: nobody is asked again.
      task("input_required", { inputRequests: question }),
      task("completed", { result: text("done") }),
    ];
    const capable = { ...TASKS, elicitation: { form: {} } };
    const { taskId } = (await call("job", capable)).result!;
    const open = await ended(taskId);
    expect(open).toMatchObject({
      status: "input_required",
      inputRequests: {
        "1.sure": { method: "elicitation/create", params: { message: "up asks: Sure?" } },
      },
    });
    const other = await newUser(app, "other", { level: "admin", capsuleId: "all", scopes: ["*"] });
    const inputResponses = { "1.sure": { action: "accept", content: {} } };
    await taskRequest(app.url, other, "tasks/update", { taskId, inputResponses }, TASKS);
    await send("tasks/update", { taskId, inputResponses: { sure: { action: "accept" } } });
    await sleep(150);
    expect(asked("tasks/update")).toHaveLength(0);
    await send("tasks/update", { taskId, inputResponses });
    expect(await ended(taskId)).toMatchObject({ status: "completed" });
    expect(asked("tasks/update").map(({ params }) => params)).toMatchObject([
      { taskId: "up-1", inputResponses: { sure: { action: "accept", content: {} } } },
    ]);
  });

  test("held first: nothing reaches the server before the yes; then its task is followed, once", async () => {
    states = [task("working"), task("completed", { result: text("guarded") })];
    const { taskId } = (await call("guarded")).result!;
    await sleep(200);
    expect(asked("tools/call")).toHaveLength(0);
    const { items } = (await app.api("GET", "/approvals?limit=100")).body;
    const { id } = (items as { id: string; executionId: string }[]).find(
      (one) => one.executionId === taskId,
    )!;
    await app.api("POST", `/approvals/${id}/approve`, { body: {} });
    expect(await ended(taskId)).toMatchObject({
      status: "completed",
      result: { content: [{ type: "text", text: "guarded" }] },
    });
    expect(asked("tools/call")).toHaveLength(1);
    expect(declared(asked("tools/call")[0])).toEqual(TASKS);
  });
});
