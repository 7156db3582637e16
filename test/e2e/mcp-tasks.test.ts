// Held and long calls as tasks (SEP-2663), for clients that declare them: what a task tells, to whom, and what nobody can
// do with one.
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { PassThrough } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { createTaskSessionFromClient } from "@modelcontextprotocol/ext-tasks/client";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { serveStdioDoor } from "../../src/server/stdio/stdio.ts";
import { defineTool, type Tool } from "../../src/contract/tool.ts";
import { startApp, type StartedApp } from "../fixtures/app.ts";
import { startServer } from "../fixtures/bin.ts";
import { newUser, until } from "../fixtures/contract.ts";
import { connect, META, MODERN, post } from "./mcp-clients.ts";
import { rawDispatch, taskRequest, TASKS } from "./mcp-task-clients.ts";

const written: string[] = [];
const times = (text: string): number => written.filter((one) => one === text).length;
const stopped: string[] = [];

const schema = { input: z.strictObject({ text: z.string().max(50) }) };
const HELD = "system_scribble";
const LONG = "system_dawdle";
const tools: Tool[] = [
  defineTool({
    ...schema,
    name: "system/scribble",
    description: "Writes a text down. For tests only.",
    output: z.strictObject({ bytes: z.number() }),
    risk: "dangerous",
    effects: "system_write",
    needs: [],
    timeoutMs: 20_000,
    examples: [{ text: "hi" }],
    async run({ text }, _powers, { signal }) {
      written.push(text);
      if (text.startsWith("slow"))
        await sleep(10_000, undefined, { signal }).catch(() => stopped.push(text));
      return { bytes: text.length };
    },
  }),
  defineTool({
    ...schema,
    name: "system/dawdle",
    description: "Takes as long as the text says. For tests only.",
    output: z.strictObject({ text: z.string() }),
    risk: "safe",
    effects: "system_write",
    needs: [],
    timeoutMs: 20_000,
    examples: [{ text: "10 ms" }],
    async run({ text }, _powers, { signal }) {
      await sleep(parseInt(text, 10), undefined, { signal }).catch(() => stopped.push(text));
      written.push(text);
      return { text };
    },
  }),
];

let app: StartedApp;
const folder = mkdtempSync(join(tmpdir(), "ostiary-mcp-tasks-"));
beforeAll(async () => {
  app = await startApp({ tools, dataDir: folder });
});
afterAll(async () => {
  await app.close();
  rmSync(folder, { recursive: true, force: true });
});

let agents = 0;
const SCOPES = ["agent:execute:dangerous", "agent:execute:safe"];
const agent = (): Promise<string> =>
  newUser(app, `bot${++agents}`, { level: "admin", capsuleId: "all", scopes: SCOPES });

interface Waiting {
  id: string;
  executionId: string;
  state: string;
}
async function asked(text: string): Promise<Waiting> {
  const { items } = (await app.api("GET", "/approvals?limit=100")).body as {
    items: (Waiting & { arguments: { text: string } })[];
  };
  return items.find((item) => item.arguments.text === text)!;
}
async function decide(verb: "approve" | "deny", text: string): Promise<number> {
  const { id } = await asked(text);
  return (await app.api("POST", `/approvals/${id}/${verb}`, { body: {} })).status;
}

const send = (key: string, method: string, params: object, capabilities: object = TASKS) =>
  taskRequest(app.url, key, method, params, capabilities);
const call = (key: string, name: string, text: string, more: object = {}, capabilities?: object) =>
  send(key, "tools/call", { name, arguments: { text }, ...more }, capabilities);
const get = (key: string, taskId: unknown) => send(key, "tasks/get", { taskId });

/** Asks until the task has ended. */
async function ended(key: string, taskId: unknown): Promise<Record<string, unknown>> {
  for (const end = Date.now() + 10_000; ;) {
    const { result, error } = await get(key, taskId);
    if (!result) throw new Error(error?.message);
    if (result["status"] !== "working") return result;
    if (Date.now() > end) throw new Error("the task does not end");
    await sleep(20);
  }
}

describe("a held call", () => {
  test("is a task at once; after the yes its result is fetched, from one run", async () => {
    const [key, text] = [await agent(), "held"];
    const { result } = await call(key, HELD, text);
    const { id, executionId } = await asked(text);
    expect(result).toMatchObject({
      resultType: "task",
      taskId: executionId,
      status: "working",
      pollIntervalMs: 3_000,
      _meta: { "ostiary/approval": { id, state: "pending", url: `${app.url}/a/${id}` } },
    });
    expect(result).not.toHaveProperty("content");
    expect(result).not.toHaveProperty("requestState");
    expect(result?.["statusMessage"]).toContain(`${app.url}/a/${id}`);
    const [createdAt, ttlMs] = [Date.parse(String(result?.["createdAt"])), result?.["ttlMs"]];
    expect(Math.abs(createdAt - Date.now())).toBeLessThan(60_000);
    expect(ttlMs).toBeGreaterThan(86_400_000);
    expect((await get(key, executionId)).result).toMatchObject({
      resultType: "complete",
      status: "working",
      createdAt: result?.["createdAt"],
    });
    expect(times(text)).toBe(0);
    expect(await decide("approve", text)).toBe(200);
    expect(await ended(key, executionId)).toMatchObject({
      resultType: "complete",
      status: "completed",
      createdAt: result?.["createdAt"],
      result: { structuredContent: { bytes: text.length } },
    });
    expect((await get(key, executionId)).result).toMatchObject({ status: "completed" });
    expect(times(text)).toBe(1);
  });

  test("that a person declines is completed with the error that the call would have had", async () => {
    const [key, text] = [await agent(), "declined"];
    const { result } = await call(key, HELD, text);
    await decide("deny", text);
    expect(await ended(key, result?.["taskId"])).toMatchObject({
      status: "completed",
      result: {
        isError: true,
        structuredContent: { error: { code: "FORBIDDEN", reason: "approval_declined" } },
      },
    });
    expect(times(text)).toBe(0);
  });

  test("a client that shows links too is led to the page first, and gets the task when it comes back", async () => {
    const [key, text] = [await agent(), "link"];
    const both = { ...TASKS, elicitation: { url: {} } };
    const { result } = await call(key, HELD, text, {}, both);
    expect(result).toMatchObject({ resultType: "input_required" });
    expect(result).not.toHaveProperty("taskId");
    const back = {
      requestState: result?.["requestState"],
      inputResponses: { approval: { action: "accept" } },
    };
    const again = (await call(key, HELD, text, back, both)).result;
    expect(again).toMatchObject({ resultType: "task", status: "working" });
    expect(again).not.toHaveProperty("requestState");
    expect(times(text)).toBe(0);
    await decide("approve", text);
    expect(await ended(key, again?.["taskId"])).toMatchObject({ status: "completed" });
    expect(times(text)).toBe(1);
  });

  test("a repeat joins the same task; today's gate decides once more after the yes", async () => {
    const [key, text] = [await agent(), "joined"];
    const [first, second] = [await call(key, HELD, text), await call(key, HELD, text)];
    expect(second.result?.["taskId"]).toBe(first.result?.["taskId"]);
    const path = "/tools/system/scribble";
    await app.api("PATCH", path, { body: { enabled: false } });
    try {
      await decide("approve", text);
      expect(await ended(key, first.result?.["taskId"])).toMatchObject({
        status: "completed",
        result: { isError: true, structuredContent: { error: { code: "NOT_FOUND" } } },
      });
    } finally {
      await app.api("PATCH", path, { body: { enabled: true } });
    }
    expect(times(text)).toBe(0);
  });
});

describe("a long call", () => {
  test("is a task after half a second, and goes on without the request", async () => {
    const key = await agent();
    const { result } = await call(key, LONG, "1200 ms");
    expect(result).toMatchObject({ resultType: "task", status: "working", pollIntervalMs: 1_000 });
    // Durable before the answer: the very next request finds it.
    expect((await get(key, result?.["taskId"])).result).toMatchObject({ status: "working" });
    expect(times("1200 ms")).toBe(0);
    expect(await ended(key, result?.["taskId"])).toMatchObject({
      status: "completed",
      result: { structuredContent: { text: "1200 ms" }, _meta: { "ostiary/status": "success" } },
    });
    expect([times("1200 ms"), stopped.includes("1200 ms")]).toEqual([1, false]);
  });

  test("a quick one is answered as ever", async () => {
    const { result } = await call(await agent(), LONG, "5 ms");
    expect(result).toMatchObject({ resultType: "complete", structuredContent: { text: "5 ms" } });
    expect(result).not.toHaveProperty("taskId");
  });

  test("a client that leaves before there is a task cancels the call", async () => {
    const gone = new AbortController();
    const params = { name: LONG, arguments: { text: "3000 ms" } };
    const left = taskRequest(app.url, await agent(), "tools/call", params, TASKS, gone.signal);
    await sleep(200);
    gone.abort();
    await left.catch(() => null);
    await until(() => stopped.includes("3000 ms"));
  });
});

describe("tasks/cancel", () => {
  test("of a held call withdraws the question: a late yes runs nothing", async () => {
    const [key, text] = [await agent(), "withdrawn"];
    const { taskId } = (await call(key, HELD, text)).result!;
    const { result } = await send(key, "tasks/cancel", { taskId });
    expect(result).toMatchObject({ resultType: "complete" });
    expect(result).not.toHaveProperty("taskId");
    expect(await ended(key, taskId)).toMatchObject({ status: "cancelled" });
    expect([await decide("approve", text), (await asked(text)).state]).toEqual([409, "cancelled"]);
    expect(times(text)).toBe(0);
  });

  test("of a running call stops it; of one that has ended changes nothing", async () => {
    const [key, text] = [await agent(), "9000 ms"];
    const { taskId } = (await call(key, LONG, text)).result!;
    await send(key, "tasks/cancel", { taskId });
    await until(() => stopped.includes(text));
    expect(await ended(key, taskId)).toMatchObject({ status: "cancelled" });
    const done = (await call(key, LONG, "600 ms")).result!;
    const before = await ended(key, done["taskId"]);
    const again = await send(key, "tasks/cancel", { taskId: done["taskId"] });
    expect(again.result).toMatchObject({ resultType: "complete" });
    expect((await get(key, done["taskId"])).result).toEqual(before);
  });

  test("of a call that runs after its yes stops that run", async () => {
    const [key, text] = [await agent(), "slow, then stopped"];
    const { taskId } = (await call(key, HELD, text)).result!;
    await decide("approve", text);
    await until(() => times(text) === 1);
    await send(key, "tasks/cancel", { taskId });
    await until(() => stopped.includes(text));
    expect(await ended(key, taskId)).toMatchObject({ status: "cancelled" });
  });
});

describe("whose a task is", () => {
  test("T18: forged ids, those of other users and of other keys of the same user are all unknown; nothing happens", async () => {
    const [key, other] = [await agent(), await agent()];
    const { userId } = await app.callerOf(key);
    const made = { userId, name: "second", level: "admin", capsuleId: "all", scopes: SCOPES };
    const second = (await app.api("POST", "/keys", { body: made })).body.secret as string;
    const text = "mine";
    const { taskId } = (await call(key, HELD, text)).result!;
    const running = (await call(key, LONG, "2500 ms")).result!["taskId"];
    const ids = [
      "",
      "x",
      String(taskId).slice(0, -1),
      `${String(taskId)}0`,
      "../a",
      "a".repeat(9_000),
    ];
    const forged = ids.map((id) => [key, id] as const);
    const foreign = [taskId, running].flatMap((id) => [
      [other, id] as const,
      [second, id] as const,
      [app.adminKey, id] as const,
    ]);
    const unknown = (await get(key, "exec_1_00000000000000000000000000")).error;
    expect(unknown).toMatchObject({ code: -32602 });
    for (const [who, id] of [...forged, ...foreign])
      for (const method of ["tasks/get", "tasks/cancel", "tasks/update"])
        expect(
          (await send(who, method, { taskId: id, inputResponses: {} })).error,
          `${method} ${String(id).slice(0, 40)}`,
        ).toEqual(unknown);
    expect((await asked(text)).state).toBe("pending");
    expect(await ended(key, running)).toMatchObject({ status: "completed" });
    expect((await get(key, taskId)).result).toMatchObject({ status: "working" });
  });

  test("protocol 7: no input to a task approves anything", async () => {
    const [key, text] = [await agent(), "forged"];
    const { taskId } = (await call(key, HELD, text)).result!;
    const { id } = await asked(text);
    const yes = { action: "accept", content: { approved: true, confirm: true } };
    for (const inputResponses of [
      { approval: yes },
      { approval: { action: "accept" }, [id]: yes, [String(taskId)]: yes, "1.approval": yes },
      { approved: { approvalId: id, decision: "approve" } },
    ]) {
      const params = { taskId, inputResponses, _meta: { "ostiary/approved": true } };
      expect((await send(key, "tasks/update", params)).result).toMatchObject({
        resultType: "complete",
      });
      await call(key, HELD, text, { inputResponses });
    }
    await sleep(300);
    expect([times(text), (await asked(text)).state]).toEqual([0, "pending"]);
    expect((await get(key, taskId)).result).toMatchObject({ status: "working" });
    // The control: one person, one run.
    await decide("approve", text);
    expect(await ended(key, taskId)).toMatchObject({
      status: "completed",
      result: { structuredContent: { bytes: text.length } },
    });
    expect(times(text)).toBe(1);
  });

  test("a revoked key has no tasks any more", async () => {
    const key = await agent();
    const { taskId } = (await call(key, HELD, "revoked")).result!;
    const { keyId } = await app.callerOf(key);
    expect((await app.api("DELETE", `/keys/${keyId}`)).status).toBeLessThan(300);
    const answer = await post(app.url, key, {}, {});
    expect(answer.status).toBe(401);
    expect((await get(app.adminKey, taskId)).error).toMatchObject({ code: -32602 });
  });
});

describe("clients that declare no tasks", () => {
  const MISSING = {
    code: -32021,
    data: { requiredCapabilities: { extensions: { "io.modelcontextprotocol/tasks": {} } } },
  };

  test("get none, and are told what is missing", async () => {
    const key = await agent();
    const { result } = await call(key, LONG, "700 ms", {}, {});
    expect(result).toMatchObject({ resultType: "complete", structuredContent: { text: "700 ms" } });
    const { taskId } = (await call(key, LONG, "800 ms")).result!;
    for (const method of ["tasks/get", "tasks/cancel", "tasks/update"]) {
      const { error } = await send(key, method, { taskId, inputResponses: {} }, {});
      expect(error, method).toMatchObject(MISSING);
    }
    expect(await ended(key, taskId)).toMatchObject({ status: "completed" });
  });

  test("the older era is offered no extension: its held call is answered as ever", async () => {
    const key = await agent();
    const { client } = await connect(app.url, key, "legacy", { capabilities: TASKS });
    expect(client.getServerCapabilities()).not.toHaveProperty("extensions");
    expect(client.getServerCapabilities()).not.toHaveProperty("tasks");
    const waiting = client.callTool({ name: HELD, arguments: { text: "older" } });
    await until(async () => (await asked("older")) !== undefined);
    await decide("approve", "older");
    expect(await waiting).toMatchObject({ structuredContent: { bytes: 5 } });
    await client.close();
  });

  test("methods of other editions do not exist", async () => {
    const key = await agent();
    for (const method of ["tasks/result", "tasks/list"])
      expect((await send(key, method, { taskId: "x" })).error).toMatchObject({ code: -32601 });
    const { error } = await send(key, "tasks/update", { taskId: "x" });
    expect(error).toMatchObject({ code: -32602 });
  });
});

describe("over stdin and stdout", () => {
  interface Line extends Record<string, unknown> {
    readonly id?: unknown;
    readonly result?: Record<string, unknown>;
    readonly error?: { readonly code: number };
  }

  async function open(key: string) {
    const [input, output] = [new PassThrough(), new PassThrough()];
    const received: Line[] = [];
    createInterface({ input: output }).on("line", (line) =>
      received.push(JSON.parse(line) as Line),
    );
    const done = serveStdioDoor(app.doors, await app.callerOf(key), { input, output });
    let id = 0;
    return {
      async ask(method: string, params: object): Promise<Line> {
        const own = ++id;
        input.write(`${JSON.stringify({ jsonrpc: "2.0", id: own, method, params })}\n`);
        await until(() => received.some((line) => line.id === own));
        return received.find((line) => line.id === own)!;
      },
      async end(): Promise<void> {
        input.end();
        await done;
      },
    };
  }

  test("modern: the same tasks, also after the program that asked has ended", async () => {
    const [key, text] = [await agent(), "stdio"];
    const _meta = { ...META, "io.modelcontextprotocol/clientCapabilities": TASKS };
    const first = await open(key);
    const discovered = await first.ask("server/discover", { _meta });
    expect(discovered.result).toMatchObject({ capabilities: TASKS });
    const params = { name: HELD, arguments: { text }, _meta };
    const { result } = await first.ask("tools/call", params);
    expect(result).toMatchObject({ resultType: "task", status: "working" });
    await first.end();
    const second = await open(key);
    const state = () => second.ask("tasks/get", { taskId: result?.["taskId"], _meta });
    expect((await state()).result).toMatchObject({ status: "working" });
    const undeclared = await second.ask("tasks/get", { taskId: result?.["taskId"], _meta: META });
    expect(undeclared.error).toMatchObject({ code: -32021 });
    await decide("approve", text);
    await until(async () => (await state()).result?.["status"] === "completed");
    await second.end();
    expect(times(text)).toBe(1);
  });

  test("legacy: none", async () => {
    const line = await open(await agent());
    const { result } = await line.ask("initialize", {
      protocolVersion: "2025-11-25",
      capabilities: TASKS,
      clientInfo: { name: "t", version: "1" },
    });
    expect(result?.["capabilities"]).not.toHaveProperty("extensions");
    for (const method of ["tasks/get", "tasks/cancel", "tasks/update", "tasks/list"])
      expect((await line.ask(method, { taskId: "x" })).error).toMatchObject({ code: -32601 });
    await line.end();
  });
});

describe("listening for tasks", () => {
  async function listen(key: string, notifications: object, capabilities: object = TASKS) {
    const gone = new AbortController();
    const _meta = { ...META, "io.modelcontextprotocol/clientCapabilities": capabilities };
    const params = { notifications, _meta };
    const body = { jsonrpc: "2.0", id: "sub", method: "subscriptions/listen", params };
    const headers = { "mcp-protocol-version": MODERN, "mcp-method": "subscriptions/listen" };
    const response = await post(app.url, key, body, headers, gone.signal);
    const messages: { method?: string; params?: Record<string, unknown>; error?: unknown }[] = [];
    const read = async (): Promise<void> => {
      let rest = "";
      for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
        const lines = (rest + Buffer.from(chunk).toString()).split("\n");
        rest = lines.pop() ?? "";
        for (const line of lines)
          if (line.startsWith("data: ")) messages.push(JSON.parse(line.slice(6)) as object);
      }
    };
    const isStream = response.headers.get("content-type")?.startsWith("text/event-stream");
    if (isStream) read().catch(() => undefined);
    else messages.push((await response.json()) as object);
    const states = () =>
      messages
        .filter(({ method }) => method === "notifications/tasks")
        .map(({ params: { taskId, status } = {} }) => [taskId, status]);
    return { messages, states, status: response.status, end: () => gone.abort() };
  }

  test("states are pushed as tasks/get has them, of the caller's own tasks alone", async () => {
    const [key, text] = [await agent(), "listened"];
    const { taskId } = (await call(key, HELD, text)).result!;
    const foreign = (await call(await agent(), HELD, "foreign")).result!["taskId"];
    const stream = await listen(key, { taskIds: [taskId, foreign, "exec_1_x"] });
    await until(() => stream.states().length === 1);
    expect(stream.messages[0]).toMatchObject({
      method: "notifications/subscriptions/acknowledged",
      params: { notifications: { taskIds: [taskId] } },
    });
    expect(stream.messages[0]?.params?.["notifications"]).not.toHaveProperty("toolsListChanged");
    await decide("approve", text);
    await until(() => stream.states().length === 2);
    expect(stream.states()).toEqual([
      [taskId, "working"],
      [taskId, "completed"],
    ]);
    const { resultType: _resultType, _meta, ...task } = (await get(key, taskId)).result!;
    expect(stream.messages.at(-1)?.params).toMatchObject({
      ...task,
      _meta: { "io.modelcontextprotocol/subscriptionId": "sub" },
    });
    stream.end();
  });

  test("needs the declaration", async () => {
    const key = await agent();
    const refused = await listen(key, { taskIds: ["x"] }, {});
    expect([refused.status, refused.messages[0]]).toMatchObject([400, { error: { code: -32021 } }]);
    const none = await listen(key, { taskIds: ["x"], toolsListChanged: true });
    await until(() => none.messages.length > 0);
    expect(none.messages[0]).toMatchObject({
      params: { notifications: { toolsListChanged: true } },
    });
    none.end();
  });
});

describe("the extension's own client", () => {
  test("calls, polls and gets the result; cancels", async () => {
    const key = await agent();
    const { client } = await connect(app.url, key, "modern");
    expect(client.getServerCapabilities()).toMatchObject(TASKS);
    const session = createTaskSessionFromClient(client, {
      endpointId: "ostiary",
      rawDispatch: rawDispatch(app.url, key),
      v2RequestFraming: {
        protocolVersion: MODERN,
        clientInfo: { name: "test", version: "1.0.0" },
        clientCapabilities: {},
      },
    });
    const execution = await session.callTool(LONG, { text: "650 ms" });
    expect(execution.kind).toBe("task");
    const { outcome } = await execution.settle();
    expect(outcome).toMatchObject({
      status: "completed",
      result: { structuredContent: { text: "650 ms" } },
    });
    const held = await session.callTool(HELD, { text: "session" });
    await decide("approve", "session");
    expect((await held.settle()).outcome).toMatchObject({ status: "completed" });
    const other = await session.callTool(HELD, { text: "session 2" });
    await other.cancel();
    expect((await asked("session 2")).state).toBe("cancelled");
    await session.close();
    await client.close();
    expect([times("session"), times("session 2")]).toEqual([1, 0]);
  }, 30_000);
});

describe("a task outlives the process", () => {
  test("a restart while it is held: the same key finds it, and the yes runs it once", async () => {
    const [key, text] = [await agent(), "restart"];
    const { taskId } = (await call(key, HELD, text)).result!;
    const running = (await call(key, LONG, "9500 ms")).result!["taskId"];
    await app.stop();
    app = await startApp({ tools, dataDir: folder });
    // What ran was stopped with the server: nothing runs it again by itself.
    expect(await ended(key, running)).toMatchObject({
      status: "completed",
      result: { isError: true, structuredContent: { error: { reason: "shutdown" } } },
    });
    expect((await get(key, taskId)).result).toMatchObject({ status: "working" });
    await decide("approve", text);
    expect(await ended(key, taskId)).toMatchObject({ status: "completed" });
    expect(times(text)).toBe(1);
  });

  test("kill -9 while it is held: still there, still approvable", async () => {
    const dataDir = mkdtempSync(join(tmpdir(), "ostiary-mcp-task-killed-"));
    let server = await startServer(["--data-dir", dataDir, "--port", "0"]);
    try {
      const owner = readFileSync(join(dataDir, "admin.key"), "utf8").trim();
      const api = async (method: string, path: string, body: object) => {
        const headers = { authorization: `Bearer ${owner}`, "content-type": "application/json" };
        const options = { method, headers, body: JSON.stringify(body) };
        const answer = await fetch(`${server.url}/api/v1${path}`, options);
        return (await answer.json()) as { secret: string; state: string };
      };
      await api("PUT", "/mode", { mode: "ALERT", reason: "writing asks" });
      await api("POST", "/users", { id: "bot", name: "bot" });
      const made = { userId: "bot", name: "k", capsuleId: "all", level: "admin" };
      const { secret } = await api("POST", "/keys", {
        ...made,
        scopes: ["agent:execute:moderate"],
      });
      const ask = async (method: string, params: object) =>
        (await taskRequest(server.url, secret, method, params, TASKS)).result!;
      const args = { name: "memory_store", arguments: { key: "a", value: 1 } };
      const { taskId, _meta } = await ask("tools/call", args);
      const approval = (_meta as { "ostiary/approval": { id: string } })["ostiary/approval"];
      await server.stop("SIGKILL");
      server = await startServer(["--data-dir", dataDir, "--port", "0"]);
      expect(await ask("tasks/get", { taskId })).toMatchObject({ status: "working" });
      expect((await api("POST", `/approvals/${approval.id}/approve`, {})).state).toBe("approved");
      for (const end = Date.now() + 10_000; Date.now() < end; await sleep(50))
        if ((await ask("tasks/get", { taskId }))["status"] === "completed") break;
      // A second run would have raised the version.
      expect(await ask("tasks/get", { taskId })).toMatchObject({
        status: "completed",
        result: { structuredContent: { key: "a", version: 1 } },
      });
    } finally {
      await server.stop("SIGKILL");
      rmSync(dataDir, { recursive: true, force: true });
    }
  }, 60_000);
});
