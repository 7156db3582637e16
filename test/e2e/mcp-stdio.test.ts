// stdio both ways: the door that runs the engine itself, and the bridge to a running server. One client for both.
import { PassThrough } from "node:stream";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { bridgeStdio } from "../../src/server/stdio/bridge.ts";
import { serveStdioDoor } from "../../src/server/stdio/stdio.ts";
import { startApp, type StartedApp } from "../fixtures/app.ts";
import { slowTool, type SlowObserver } from "../fixtures/slow-tool.ts";
import { META, until } from "./mcp-clients.ts";

type Message = Record<string, unknown> & { id?: unknown; result?: unknown; error?: unknown };

const observer: SlowObserver = { runs: [] };
let app: StartedApp;
beforeAll(async () => {
  app = await startApp({ tools: [slowTool(observer)] });
});
afterAll(() => app.close());

const WAYS = {
  door: async (input: PassThrough, output: PassThrough) =>
    serveStdioDoor(app.doors, await app.callerOf(app.adminKey), { input, output }),
  bridge: (input: PassThrough, output: PassThrough) =>
    bridgeStdio({ url: `${app.url}/mcp`, key: app.adminKey, input, output }),
};

/** Speaks lines; every line that comes back must be one message. */
function open(serve: (input: PassThrough, output: PassThrough) => Promise<void>) {
  const input = new PassThrough();
  const output = new PassThrough();
  const received: Message[] = [];
  let rest = "";
  output.setEncoding("utf8").on("data", (chunk: string) => {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop() ?? "";
    received.push(...lines.map((line) => JSON.parse(line) as Message));
  });
  const done = serve(input, output);
  const send = (message: object | string): void =>
    void input.write(`${typeof message === "string" ? message : JSON.stringify(message)}\n`);
  const answer = async (id: unknown): Promise<Message> => {
    const find = () => received.find((message) => message.id === id && !("method" in message));
    await until(() => find() !== undefined);
    return find()!;
  };
  const end = async (): Promise<void> => {
    input.end();
    await done;
  };
  return { send, answer, end, received, done };
}

const INITIALIZE = {
  jsonrpc: "2.0",
  id: "init",
  method: "initialize",
  params: {
    protocolVersion: "2025-11-25",
    capabilities: {},
    clientInfo: { name: "test", version: "1" },
  },
};
const INITIALIZED = { jsonrpc: "2.0", method: "notifications/initialized" };
const request = (id: unknown, method: string, params: object = {}) => ({
  jsonrpc: "2.0",
  id,
  method,
  params,
});
const modern = (
  id: unknown,
  method: string,
  params: { _meta?: object; name?: string; arguments?: object } = {},
) => request(id, method, { ...params, _meta: { ...params._meta, ...META } });
const ECHO = { name: "system_echo", arguments: { text: "hi" } };
const cancelled = (requestId: unknown) => ({
  jsonrpc: "2.0",
  method: "notifications/cancelled",
  params: { requestId },
});

describe.each(Object.entries(WAYS))("MCP over stdio, %s", (way, serve) => {
  test("serves the legacy era", async () => {
    const line = open(serve);
    line.send(INITIALIZE);
    line.send(INITIALIZED);
    line.send(request(1, "tools/list"));
    line.send(request(2, "tools/call", ECHO));
    expect(await line.answer("init")).toMatchObject({ result: { protocolVersion: "2025-11-25" } });
    expect(JSON.stringify(await line.answer(1))).toContain("system_echo");
    expect(await line.answer(2)).toMatchObject({ result: { structuredContent: { text: "hi" } } });
    await line.end();
  });

  test("serves the modern era", async () => {
    const line = open(serve);
    line.send(modern(0, "server/discover"));
    line.send(modern(1, "tools/call", ECHO));
    line.send(modern(2, "tools/call", { name: "système/echo", arguments: {} }));
    expect(await line.answer(0)).toMatchObject({ result: { supportedVersions: ["2026-07-28"] } });
    expect(await line.answer(1)).toMatchObject({ result: { resultType: "complete" } });
    expect(await line.answer(2)).toMatchObject({
      error: { message: "Unknown tool: système/echo" },
    });
    await line.end();
  });

  test("records the door the call came through", async () => {
    const line = open(serve);
    line.send(modern(1, "tools/call", ECHO));
    const { result } = (await line.answer(1)) as { result: { _meta: Record<string, string> } };
    await line.end();
    const { body } = (await app.api(
      "GET",
      `/executions/${result._meta["ostiary/executionId"]}`,
    )) as { body: { execution: { entry: string } } };
    expect(body.execution.entry).toBe(way === "door" ? "stdio" : "mcp");
  });

  test.each(["legacy", "modern"])("reports progress, %s", async (era) => {
    const line = open(serve);
    const params = {
      name: "system_slow",
      arguments: { ms: 400, progressEveryMs: 10 },
      _meta: { progressToken: "p" },
    };
    if (era === "legacy") {
      line.send(INITIALIZE);
      await line.answer("init");
      line.send(INITIALIZED);
    }
    line.send(
      era === "legacy" ? request(1, "tools/call", params) : modern(1, "tools/call", params),
    );
    await line.answer(1);
    const notices = line.received.filter(({ method }) => method === "notifications/progress");
    expect(notices.length).toBeGreaterThan(1);
    expect(line.received.at(-1)).toMatchObject({ id: 1 });
    await line.end();
  });

  test.each(["legacy", "modern"])("cancels, and the handler sees it, %s", async (era) => {
    const line = open(serve);
    const params = { name: "system_slow", arguments: { ms: 30_000 } };
    if (era === "legacy") {
      line.send(INITIALIZE);
      await line.answer("init");
      line.send(INITIALIZED);
    }
    const before = observer.runs.length;
    line.send(
      era === "legacy" ? request(1, "tools/call", params) : modern(1, "tools/call", params),
    );
    await until(() => observer.runs.length > before);
    line.send(cancelled(1));
    await until(() => observer.runs[before]!.abortedAt !== null);
    expect(observer.runs[before]!.abortReason).toBe("user");
    line.send(era === "legacy" ? request(2, "ping") : modern(2, "tools/call", ECHO));
    await line.answer(2);
    expect(line.received.some(({ id }) => id === 1)).toBe(false);
    await line.end();
  });

  test("answers what is no message, and goes on", async () => {
    const line = open(serve);
    line.send("{broken");
    line.send("");
    await until(() => line.received.length > 0);
    expect(line.received[0]).toMatchObject({ id: null, error: { code: -32700 } });
    line.send(modern(1, "tools/call", ECHO));
    await line.answer(1);
    await line.end();
  });

  test("finishes what is under way when stdin ends", async () => {
    const line = open(serve);
    line.send(modern(1, "tools/call", ECHO));
    await line.end();
    expect(await line.answer(1)).toMatchObject({ result: { resultType: "complete" } });
  });

  test("cancels what takes too long after stdin has ended", async () => {
    const line = open(serve);
    const before = observer.runs.length;
    line.send(modern(1, "tools/call", { name: "system_slow", arguments: { ms: 30_000 } }));
    await until(() => observer.runs.length > before);
    await line.end();
    await until(() => observer.runs[before]!.abortedAt !== null);
  });
});

describe("the door", () => {
  test("parses as strictly as HTTP", async () => {
    const line = open(WAYS.door);
    line.send('{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}');
    line.send('{"jsonrpc":"2.0","id":1,"method":"ping","params":{"__proto__":{}}}');
    line.send("[]");
    await until(() => line.received.length === 3);
    expect(line.received.map(({ error }) => (error as { code: number }).code)).toEqual([
      -32600, -32600, -32600,
    ]);
    await line.end();
  });
});

describe("the bridge", () => {
  test("opens its session again after the server has forgotten it", async () => {
    const first = await startApp({});
    const { port } = new URL(first.url);
    const line = open((input, output) =>
      bridgeStdio({ url: `${first.url}/mcp`, key: first.adminKey, input, output }),
    );
    line.send(INITIALIZE);
    await line.answer("init");
    line.send(INITIALIZED);
    line.send(request(1, "tools/list"));
    await line.answer(1);
    await first.stop();
    const second = await startApp({ dataDir: first.dataDir, flags: { "server.port": port } });
    line.send(request(2, "tools/call", ECHO));
    expect(await line.answer(2)).toMatchObject({ result: { structuredContent: { text: "hi" } } });
    await line.end();
    await second.close();
  });

  test("says that the server does not answer", async () => {
    const line = open((input, output) =>
      bridgeStdio({ url: "http://127.0.0.1:9/mcp", key: "none", input, output }),
    );
    line.send(modern(1, "tools/call", ECHO));
    expect(await line.answer(1)).toMatchObject({ error: { code: -32603 } });
    await line.end();
  });

  test("gives an answer without an id the id of its request", async () => {
    const line = open((input, output) =>
      bridgeStdio({ url: `${app.url}/mcp`, key: "wrong", input, output }),
    );
    line.send(modern(7, "tools/call", ECHO));
    expect(await line.answer(7)).toMatchObject({ error: { data: { code: "UNAUTHORIZED" } } });
    await line.end();
  });
});
