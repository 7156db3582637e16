// The official SDK client of both eras against a whole app, and what it cannot see with bare requests.
import { Ajv2020 } from "ajv/dist/2020.js";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startApp, type StartedApp } from "../fixtures/app.ts";
import { slowTool, type SlowObserver } from "../fixtures/slow-tool.ts";
import { connect, ERAS, keyFor, modernCall, modernHeaders, post, until } from "./mcp-clients.ts";

const observer: SlowObserver = { runs: [] };
let app: StartedApp;
let anna: string;
let berta: string;

beforeAll(async () => {
  app = await startApp({ tools: [slowTool(observer)] });
  anna = await keyFor(app, "anna", ["system/echo", "system/slow"]);
  berta = await keyFor(app, "berta", ["system/echo"]);
});
afterAll(() => app.close());

/** As the history tells it over REST. */
async function executionOf(id: string): Promise<unknown> {
  const answer = await app.api("GET", `/executions/${id}`);
  return (answer.body as { execution: unknown }).execution;
}

describe.each(ERAS)("an SDK client of the %s era", (era) => {
  const use = async <T>(
    work: (c: Awaited<ReturnType<typeof connect>>) => Promise<T>,
    key?: string,
  ) => {
    const connected = await connect(app.url, key ?? app.adminKey, era);
    try {
      return await work(connected);
    } finally {
      await connected.client.close();
    }
  };

  test("speaks the newest version of its era", () =>
    use(async ({ client, transport }) => {
      const version = era === "modern" ? "2026-07-28" : "2025-11-25";
      expect(client.getNegotiatedProtocolVersion()).toBe(version);
      expect(client.getServerVersion()?.name).toBe("ostiary");
      expect(client.getServerCapabilities()).toEqual({
        tools: { listChanged: true },
        ...(era === "modern" ? { extensions: { "io.modelcontextprotocol/tasks": {} } } : {}),
      });
      expect(transport.sessionId === undefined).toBe(era === "modern");
    }));

  test("lists its tools in order, with annotations", () =>
    use(async ({ client }) => {
      const { tools } = await client.listTools();
      const names = tools.map((tool) => tool.name);
      expect(names).toContain("system_echo");
      expect(names).toEqual([...names].sort());
      const echo = tools.find((tool) => tool.name === "system_echo");
      expect(echo?.annotations).toMatchObject({ readOnlyHint: true, destructiveHint: false });
    }));

  test("sees only what its capsule links", () =>
    use(async ({ client }) => {
      const { tools } = await client.listTools();
      expect(tools.map((tool) => tool.name)).toEqual(["system_echo"]);
    }, berta));

  test("R231: calls a tool and finds it in the history", () =>
    use(async ({ client }) => {
      const result = await client.callTool({ name: "system_echo", arguments: { text: "hi" } });
      expect(result.isError).toBeUndefined();
      expect(result.structuredContent).toMatchObject({ text: "hi" });
      expect(result.content).toEqual([
        { type: "text", text: expect.stringContaining("hi") as string },
      ]);
      const id = result._meta?.["ostiary/executionId"] as string;
      const execution = { id, status: "success", toolName: "system/echo", entry: "mcp" };
      expect(await executionOf(id)).toMatchObject(execution);
    }));

  test("accepts the canonical name too", () =>
    use(async ({ client }) => {
      const result = await client.callTool({ name: "system/echo", arguments: { text: "hi" } });
      expect(result.isError).toBeUndefined();
    }));

  test("gets input faults as a result the model can read", () =>
    use(async ({ client }) => {
      const result = await client.callTool({ name: "system_echo", arguments: { txt: "hi" } });
      expect(result.isError).toBe(true);
      const error = (result.structuredContent as { error: Record<string, unknown> }).error;
      expect(error).toMatchObject({ code: "BAD_REQUEST" });
      expect(error["errors"]).toEqual(
        expect.arrayContaining([expect.objectContaining({ path: "/txt" })]),
      );
      expect(result.content[0]).toMatchObject({ text: expect.stringContaining("/txt") as string });
    }));

  test("gets an error that fits the listed output schema, as older clients demand", () =>
    use(async ({ client }) => {
      const { tools } = await client.listTools();
      const schema = tools.find((tool) => tool.name === "system_echo")?.outputSchema;
      expect(schema).toBeDefined();
      const validate = new Ajv2020({ strict: false }).compile(schema as object);
      const good = await client.callTool({ name: "system_echo", arguments: { text: "hi" } });
      const bad = await client.callTool({ name: "system_echo", arguments: {} });
      expect(validate(good.structuredContent)).toBe(true);
      expect(validate(bad.structuredContent)).toBe(true);
      expect(validate({ neither: 1 })).toBe(false);
    }));

  test("hears of progress, rising, and of nothing after the result", () =>
    use(async ({ client }) => {
      const heard: number[] = [];
      const result = await client.callTool(
        { name: "system_slow", arguments: { ms: 600, progressEveryMs: 10 } },
        { onprogress: ({ progress }) => heard.push(progress) },
      );
      expect(result.isError).toBeUndefined();
      expect(heard.length).toBeGreaterThan(2);
      expect(heard).toEqual([...heard].sort((a, b) => a - b));
      expect(new Set(heard).size).toBe(heard.length);
    }));

  test("cancels, and the handler sees it", () =>
    use(async ({ client }) => {
      const before = observer.runs.length;
      const abort = new AbortController();
      const call = client.callTool(
        { name: "system_slow", arguments: { ms: 30_000 } },
        { signal: abort.signal },
      );
      const settled = call.then(
        () => "answered",
        () => "rejected",
      );
      await until(() => observer.runs.length > before);
      abort.abort();
      expect(await settled).toBe("rejected");
      const run = observer.runs[before]!;
      await until(() => run.finishedAt !== null);
      expect(run.abortReason).toBe("user");
      const read = () => executionOf(run.executionId);
      await expect.poll(read).toMatchObject({ status: "cancelled", cancelReason: "user" });
    }));

  test("is told the same of an unknown and of an invisible tool", () =>
    use(async ({ client }) => {
      const told = async (name: string) =>
        client.callTool({ name, arguments: {} }).then(
          () => null,
          (error: { code: number; message: string; data?: unknown }) => ({
            code: error.code,
            message: error.message.replace(name, "X"),
            data: error.data,
          }),
        );
      const unknown = await told("system_nothing");
      expect(unknown).toMatchObject({ code: -32602 });
      expect(await told("system_slow")).toEqual(unknown);
      expect(await told("system/slow")).toEqual(unknown);
    }, berta));

  test("learns that the list has changed", () =>
    use(async ({ client }) => {
      let notices = 0;
      client.setNotificationHandler("notifications/tools/list_changed", () => void notices++);
      if (era === "modern") await client.listen({ toolsListChanged: true });
      else await new Promise((resolve) => setTimeout(resolve, 100)); // the GET stream opens by itself
      await app.doors.registry.setEnabled("system_slow", false);
      await app.doors.registry.setEnabled("system_slow", true);
      await until(() => notices > 0);
      await new Promise((resolve) => setTimeout(resolve, 150));
      expect(notices).toBe(1);
    }));
});

describe("legacy sessions", () => {
  test("belong to the caller that opened them", async () => {
    const [mine, other] = await Promise.all([
      connect(app.url, anna, "legacy"),
      connect(app.url, berta, "legacy"),
    ]);
    const id = mine.transport.sessionId!;
    const list = { jsonrpc: "2.0", id: 1, method: "tools/list", params: {} };
    const own = await post(app.url, anna, list, { "mcp-session-id": id });
    expect(own.status).toBe(200);
    expect(await own.text()).toContain("system_slow");

    const foreign = await post(app.url, berta, list, { "mcp-session-id": id });
    const missing = await post(app.url, berta, list, { "mcp-session-id": "no-such-session" });
    expect(foreign.status).toBe(404);
    expect(missing.status).toBe(404);
    expect(await foreign.text()).toBe(await missing.text());
    const ended = await fetch(`${app.url}/mcp`, {
      method: "DELETE",
      headers: { authorization: `Bearer ${berta}`, "mcp-session-id": id },
    });
    expect(ended.status).toBe(404);

    // Both still work, each with its own tools.
    expect((await mine.client.listTools()).tools).toHaveLength(2);
    expect((await other.client.listTools()).tools).toHaveLength(1);
    await Promise.all([mine.client.close(), other.client.close()]);
  });

  test("hold no authority: a key revoked in between is refused", async () => {
    const key = await keyFor(app, "carla", ["system/echo"]);
    const { client, transport } = await connect(app.url, key, "legacy");
    const admin = await app.callerOf(app.adminKey);
    const { keyId } = await app.callerOf(key);
    await app.doors.directory.revokeKey(admin, keyId!);
    const list = { jsonrpc: "2.0", id: 1, method: "tools/list", params: {} };
    const answer = await post(app.url, key, list, { "mcp-session-id": transport.sessionId! });
    expect(answer.status).toBe(401);
    await client.close();
  });

  test("cancel by the notice, and the stream of the cancelled call ends", async () => {
    const { client, transport } = await connect(app.url, anna, "legacy");
    const session = { "mcp-session-id": transport.sessionId! };
    const before = observer.runs.length;
    const params = { name: "system_slow", arguments: { ms: 30_000 } };
    const call = { jsonrpc: "2.0", id: "c", method: "tools/call", params };
    const stream = await post(app.url, anna, call, session);
    await until(() => observer.runs.length > before);
    const notice = { method: "notifications/cancelled", params: { requestId: "c" } };
    expect((await post(app.url, anna, { jsonrpc: "2.0", ...notice }, session)).status).toBe(202);
    expect(await stream.text()).not.toContain('"id":"c"');
    expect(observer.runs[before]!.abortReason).toBe("user");
    await client.close();
  });

  test("end with DELETE, and what they ran is cancelled", async () => {
    const { client, transport } = await connect(app.url, anna, "legacy");
    const before = observer.runs.length;
    const call = client.callTool({ name: "system_slow", arguments: { ms: 30_000 } });
    const settled = call.catch(() => "rejected");
    await until(() => observer.runs.length > before);
    const id = transport.sessionId!;
    await transport.terminateSession();
    await until(() => observer.runs[before]!.abortedAt !== null);
    const list = { jsonrpc: "2.0", id: 1, method: "tools/list", params: {} };
    expect((await post(app.url, anna, list, { "mcp-session-id": id })).status).toBe(404);
    await client.close();
    await settled;
  });

  test("are bounded per caller: the one idle longest goes first", async () => {
    const key = await keyFor(app, "dora", ["system/echo"]);
    const initialize = {
      jsonrpc: "2.0",
      id: 1,
      method: "initialize",
      params: {
        protocolVersion: "2025-11-25",
        capabilities: {},
        clientInfo: { name: "test", version: "1" },
      },
    };
    const ids: string[] = [];
    for (let i = 0; i < 33; i++) {
      const answer = await post(app.url, key, initialize);
      await answer.text();
      ids.push(answer.headers.get("mcp-session-id")!);
    }
    const ping = { jsonrpc: "2.0", id: 2, method: "ping" };
    const status = async (id: string) =>
      (await post(app.url, key, ping, { "mcp-session-id": id })).status;
    expect(await status(ids[0]!)).toBe(404);
    expect(await status(ids[1]!)).toBe(200);
    expect(await status(ids[32]!)).toBe(200);
  });
});

describe("bare requests", () => {
  test("need no session: the stateless leg answers", async () => {
    const call = {
      jsonrpc: "2.0",
      id: 7,
      method: "tools/call",
      params: { name: "system_echo", arguments: { text: "hi" } },
    };
    const answer = await post(app.url, app.adminKey, call);
    expect(answer.status).toBe(200);
    expect(await answer.text()).toContain('"text":"hi"');
  });

  test.each([
    ["on the fast path", {}],
    ["on the SDK path", { progressToken: 1 }],
  ])("that go away cancel the call, %s", async (_path, meta) => {
    const before = observer.runs.length;
    const abort = new AbortController();
    const call = modernCall("system_slow", { ms: 30_000 });
    Object.assign(call.params, { _meta: { ...call.params._meta, ...meta } });
    const gone = post(
      app.url,
      app.adminKey,
      call,
      modernHeaders("system_slow"),
      abort.signal,
    ).catch(() => "gone");
    await until(() => observer.runs.length > before);
    abort.abort();
    expect(await gone).toBe("gone");
    await until(() => observer.runs[before]!.finishedAt !== null);
    expect(observer.runs[before]!.abortReason).toBe("user");
  });

  test("tell an unknown tool and an invisible one apart by no byte, on either path", async () => {
    const slow = await startApp({ tools: [slowTool({ runs: [] })], fastPath: false });
    const key = await keyFor(slow, "berta", ["system/echo"]);
    const answers: string[] = [];
    for (const [url, caller] of [
      [app.url, berta],
      [slow.url, key],
    ] as const) {
      for (const name of ["system_slow", "system_slaw"]) {
        const answer = await post(url, caller, modernCall(name), modernHeaders(name));
        expect(answer.status).toBe(200);
        const { id, jsonrpc, error } = (await answer.json()) as Record<string, unknown>;
        const headers = [...answer.headers]
          .filter(([header]) => !["request-id", "date"].includes(header))
          .filter(([header]) => !/^(content-length|transfer-encoding|vary)$/.test(header));
        const text = JSON.stringify({ id, jsonrpc, error, headers });
        answers.push(text.replaceAll(name, "X"));
      }
    }
    expect(answers[0]).toBe(answers[1]);
    expect(answers[2]).toBe(answers[3]);
    await slow.close();
  });
});
