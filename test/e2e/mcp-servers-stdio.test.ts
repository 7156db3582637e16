// Servers upstream for a client that speaks stdio: by the door that runs the engine itself, and by the bridge.
import { PassThrough } from "node:stream";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { bridgeStdio } from "../../src/server/stdio/bridge.ts";
import { serveStdioDoor } from "../../src/server/stdio/stdio.ts";
import { startFixtureServer, type FixtureServer } from "../conformance/fixture-server.ts";
import { startApp, type StartedApp } from "../fixtures/app.ts";
import { META, until } from "./mcp-clients.ts";

interface Message {
  readonly id?: unknown;
  readonly method?: string;
  readonly params?: Record<string, unknown>;
  readonly result?: Record<string, unknown>;
  readonly error?: { readonly code: number };
}

let app: StartedApp;
let fixture: FixtureServer;
beforeAll(async () => {
  fixture = await startFixtureServer();
  app = await startApp();
  await app.api("POST", "/servers", {
    body: { name: "fixture", transport: { kind: "http", url: fixture.url } },
  });
  const terms = { risk: "safe", effects: "read_only" };
  const { status } = await app.api("POST", "/servers/fixture/approve", { body: { terms } });
  expect(status).toBe(200);
}, 60_000);
afterAll(async () => {
  await app.close();
  await fixture.close();
});

const WAYS = {
  door: async (input: PassThrough, output: PassThrough) =>
    serveStdioDoor(app.doors, await app.callerOf(app.adminKey), { input, output }),
  bridge: (input: PassThrough, output: PassThrough) =>
    bridgeStdio({ url: `${app.url}/mcp`, key: app.adminKey, input, output }),
};

function open(serve: (input: PassThrough, output: PassThrough) => Promise<void>) {
  const [input, output] = [new PassThrough(), new PassThrough()];
  const received: Message[] = [];
  let rest = "";
  output.setEncoding("utf8").on("data", (chunk: string) => {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop() ?? "";
    received.push(...lines.map((line) => JSON.parse(line) as Message));
  });
  const done = serve(input, output);
  const send = (message: object): void =>
    void input.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  const find = async (fits: (message: Message) => boolean): Promise<Message> => {
    await until(() => received.some(fits), 20_000);
    return received.find(fits)!;
  };
  return {
    send,
    answer: (id: unknown) => find((message) => message.id === id && message.method === undefined),
    asked: (method: string) => find((message) => message.method === method),
    async end() {
      input.end();
      await done;
    },
  };
}

const CALL = { name: "fixture_test_input_required_result_elicitation", arguments: {} };
const ANSWER = { action: "accept", content: { name: "Anna" } };
const HELLO = { content: [{ type: "text", text: "Hello, Anna!" }] };

describe.each(Object.entries(WAYS))("servers upstream over stdio, %s", (_way, serve) => {
  test("ask a legacy client in the middle of the call", async () => {
    const line = open(serve);
    const capabilities = { elicitation: {} };
    const clientInfo = { name: "test", version: "1" };
    line.send({
      id: 1,
      method: "initialize",
      params: { protocolVersion: "2025-11-25", capabilities, clientInfo },
    });
    expect((await line.answer(1)).result).toMatchObject({
      capabilities: { resources: { subscribe: true }, prompts: {}, completions: {}, logging: {} },
    });
    line.send({ method: "notifications/initialized" });
    line.send({ id: 2, method: "tools/call", params: CALL });
    const question = await line.asked("elicitation/create");
    expect(question.params).toMatchObject({ message: "fixture asks: What is your name?" });
    line.send({ id: question.id, result: ANSWER });
    expect((await line.answer(2)).result).toMatchObject(HELLO);
    line.send({ id: 3, method: "resources/read", params: { uri: "fixture+test://static-text" } });
    expect((await line.answer(3)).result).toMatchObject({
      contents: [{ uri: "fixture+test://static-text" }],
    });
    await line.end();
  });

  test("ask a modern client between two requests", async () => {
    const line = open(serve);
    const _meta = { ...META, "io.modelcontextprotocol/clientCapabilities": { elicitation: {} } };
    line.send({ id: 1, method: "tools/call", params: { ...CALL, _meta } });
    const { result } = await line.answer(1);
    expect(result).toMatchObject({
      resultType: "input_required",
      inputRequests: { user_name: { method: "elicitation/create" } },
    });
    const requestState = result?.["requestState"];
    line.send({
      id: 2,
      method: "tools/call",
      params: { ...CALL, _meta, requestState, inputResponses: { user_name: ANSWER } },
    });
    expect((await line.answer(2)).result).toMatchObject(HELLO);
    line.send({
      id: 3,
      method: "tools/call",
      params: { ...CALL, _meta, requestState, inputResponses: { user_name: ANSWER } },
    });
    expect((await line.answer(3)).error).toMatchObject({ code: -32602 });
    await line.end();
  });
});
