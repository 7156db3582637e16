// Tool search, code mode and the result cache through the doors: whatever leads to a tool leads through the whole gate.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { defineTool } from "../../src/contract/tool.ts";
import { startApp, type StartedApp } from "../fixtures/app.ts";
import { until } from "../fixtures/contract.ts";
import { shippedFiles } from "../fixtures/governance.ts";
import { slowTool, type SlowObserver } from "../fixtures/slow-tool.ts";
import { connect, ERAS } from "./mcp-clients.ts";

const entered: string[] = [];
const observer: SlowObserver = { runs: [] };
const [none, text] = [z.strictObject({}), z.strictObject({ text: z.string() })];
const FACTS = {
  risk: "safe",
  effects: "read_only",
  needs: [],
  timeoutMs: 10_000,
  examples: [{}],
} as const;

/** Found by a word that stands nowhere else. */
const lever = defineTool({
  ...FACTS,
  name: "shell/lever",
  description: "Pulls the zanzibar lever of the lock gate, for tests.",
  input: none,
  output: text,
  risk: "dangerous",
  effects: "system_dangerous",
  run(_input, _powers, { executionId }) {
    entered.push(executionId);
    return { text: "pulled" };
  },
});
const hidden = defineTool({
  ...FACTS,
  name: "memory/hidden",
  description: "Holds the zanzibar treasure, for tests; nobody but the administrator may see it.",
  input: none,
  output: text,
  run(_input, _powers, { executionId }) {
    entered.push(executionId);
    return { text: "treasure" };
  },
});
let looked = 0;
const look = defineTool({
  ...FACTS,
  name: "web/look",
  description: "Looks something up, for tests, and counts how often it did.",
  input: z.strictObject({ word: z.string().max(100).default("") }),
  output: z.strictObject({ looked: z.int() }),
  cacheable: true,
  run: () => ({ looked: ++looked }),
});
const picture = defineTool({
  ...FACTS,
  name: "ai/picture",
  description: "Answers a block of content and a width beside it, for tests.",
  input: none,
  output: z.looseObject({}),
  run: () => ({ $content: [{ type: "image", data: "AAAA", mimeType: "image/png" }], width: 3 }),
});

const HELD = ["shell/lever", "web/look", "ai/picture", "system/slow", "system/echo", "system/time"];
const META_TOOLS = ["ostiary_call", "ostiary_code", "ostiary_find_tools"];
let app: StartedApp;
let searcher: string;
let other: string;
beforeAll(async () => {
  app = await startApp({
    tools: [lever, hidden, look, picture, slowTool(observer)],
    flags: { "execution.maxRunning": "4" },
  });
  await publish("/governance", shippedFiles({ "hold_seconds: 45": "hold_seconds: 1" }));
  await app.api("POST", "/capsules", {
    body: {
      id: "seek",
      name: "seek",
      capabilities: [...HELD, "system/run_code"],
      listing: "search",
    },
  });
  await app.api("POST", "/capsules", {
    body: { id: "plain", name: "plain", capabilities: HELD, listing: "search" },
  });
  searcher = await person("searcher", "seek");
  other = await person("other", "plain");
}, 60_000);
afterAll(() => app.close());

async function publish(path: string, files: object): Promise<void> {
  const { body } = await app.api("POST", path, { body: { files, note: "test" } });
  const { status } = await app.api("POST", `${path}/${body.document.version}/publish`, {
    body: { as: "enforced" },
  });
  expect(status).toBe(200);
}

async function person(id: string, capsuleId: string): Promise<string> {
  await app.api("POST", "/users", { body: { id, name: id, plan: "enterprise" } });
  const scopes = ["agent:execute:safe", "agent:execute:moderate", "agent:execute:dangerous"];
  const { body } = await app.api("POST", "/keys", {
    body: { userId: id, name: id, capsuleId, level: "admin", scopes },
  });
  return body.secret as string;
}

const rest = async (
  name: string,
  args: object,
  { key = searcher, ...more }: { key?: string; context?: object; timeout?: number } = {},
) => (await app.api("POST", "/executions", { key, body: { name, arguments: args, ...more } })).body;
const record = async (id: string, key = searcher) =>
  (await app.api("GET", `/executions/${id}`, { key })).body.execution;

describe.each(ERAS)("over MCP, %s", (era) => {
  test("a capsule of listing search shows the tools to search with, and a full one does not", async () => {
    const names = async (key: string): Promise<string[]> => {
      const { client } = await connect(app.url, key, era);
      const { tools } = await client.listTools();
      await client.close();
      return tools.map(({ name }) => name);
    };
    expect(await names(searcher)).toEqual(META_TOOLS);
    expect(await names(other)).toEqual(META_TOOLS.filter((name) => name !== "ostiary_code"));
    const full = await names(app.adminKey);
    expect(full).toContain("file_read");
    expect(full.filter((name) => name.startsWith("ostiary_"))).toEqual([]);
  });

  test("what is found is called: its own result comes back, its own record names its parent", async () => {
    const { client } = await connect(app.url, searcher, era);
    const found = await client.callTool({
      name: "ostiary_find_tools",
      arguments: { query: "echo a text", limit: 1 },
    });
    expect(found.structuredContent).toMatchObject({
      tools: [{ name: "system_echo", risk: "safe", inputSchema: { type: "object" } }],
    });
    const called = await client.callTool({
      name: "ostiary_call",
      arguments: { name: "system_echo", arguments: { text: "hi" } },
    });
    const direct = await client.callTool({ name: "system_echo", arguments: { text: "hi" } });
    expect([called.content, called.structuredContent]).toEqual([
      direct.content,
      direct.structuredContent,
    ]);
    const drawn = await client.callTool({
      name: "ostiary_call",
      arguments: { name: "ai/picture" },
    });
    expect(drawn.content).toEqual([{ type: "image", data: "AAAA", mimeType: "image/png" }]);
    expect(drawn.structuredContent).toEqual({ width: 3 });
    await client.close();
  });

  test("a hidden tool is not found, and calling it answers as for an invented one", async () => {
    const { client } = await connect(app.url, searcher, era);
    const found = await client.callTool({
      name: "ostiary_find_tools",
      arguments: { query: "zanzibar treasure hidden", limit: 50 },
    });
    expect(JSON.stringify(found)).not.toMatch(/memory_hidden|treasure,/);
    const answers = await Promise.all(
      ["memory_hidden", "memory_nothing"].map(async (name) =>
        JSON.stringify(await client.callTool({ name: "ostiary_call", arguments: { name } }))
          .replaceAll(name, "NAME")
          .replace(/exec_[\w-]+/g, "ID")
          .replace(/"ms":[\d.]+/g, '"ms":0'),
      ),
    );
    expect(answers[0]).toBe(answers[1]);
    expect(answers[0]).toContain("NOT_FOUND");
    expect(entered).toEqual([]);
    await client.close();
  });
});

test("an inner call is an execution of its own, of the same caller, through the full gate", async () => {
  const outer = await rest("system/call_tool", { name: "system_echo", arguments: { text: "hi" } });
  expect(outer).toMatchObject({ status: "success", result: { text: "hi" } });
  const { resultMetadata } = await record(outer.executionId);
  const inner = await record(resultMetadata.innerExecutionId);
  expect(inner).toMatchObject({
    toolName: "system/echo",
    entry: "tool",
    userId: "searcher",
    metadata: { parentExecutionId: outer.executionId, depth: 1 },
  });
  expect(inner.gates.length).toBe(12);
});

test("a refusal of the inner call is told as it is: schema, rules, names", async () => {
  expect(
    await rest("ostiary_call", { name: "system_echo", arguments: { texts: 1 } }),
  ).toMatchObject({ status: "failed", errorCode: "BAD_REQUEST", errorReason: "invalid_arguments" });
  expect(await rest("ostiary_call", { name: "file_read", arguments: { path: "a" } })).toMatchObject(
    { status: "failed", errorCode: "NOT_FOUND", errorReason: "unknown" },
  );
  expect(
    await rest(
      "ostiary_call",
      { name: "ostiary_code", arguments: { code: "return 1" } },
      { key: other },
    ),
  ).toMatchObject({ errorCode: "NOT_FOUND" });
});

test("a dangerous inner call waits for a person; who comes back with its id gets its answer, and it runs once", async () => {
  const before = entered.length;
  const held = await rest("ostiary_call", { name: "shell_lever" });
  expect(held).toMatchObject({
    status: "failed",
    errorCode: "CONFLICT",
    errorReason: "approval_required",
    remedy: expect.stringContaining("executionId") as string,
  });
  expect(entered.length).toBe(before);
  const executionId = (await record(held.executionId)).resultMetadata.innerExecutionId as string;
  const { approvalId } = await record(executionId);
  // The same call joins what waits already.
  const again = await rest("ostiary_call", { name: "shell_lever" });
  expect((await record(again.executionId)).resultMetadata.innerExecutionId).toBe(executionId);
  expect((await app.api("POST", `/approvals/${approvalId}/approve`, { body: {} })).status).toBe(
    200,
  );
  expect(await rest("ostiary_call", { name: "shell_lever", executionId })).toMatchObject({
    status: "success",
    result: { text: "pulled" },
  });
  expect(await rest("ostiary_call", { name: "shell_lever", executionId })).toMatchObject({
    status: "success",
  });
  expect(entered.slice(before)).toEqual([executionId]);
  expect(await rest("ostiary_call", { name: "system_echo", executionId })).toMatchObject({
    errorCode: "NOT_FOUND",
  });
  expect(
    await rest("ostiary_call", { name: "shell_lever", executionId }, { key: other }),
  ).toMatchObject({ errorCode: "NOT_FOUND" });
});

test("more calls than there are places to run do not wait for each other", async () => {
  const all = await Promise.all(
    Array.from({ length: 24 }, () =>
      rest("ostiary_call", { name: "system_slow", arguments: { ms: 20 } }),
    ),
  );
  expect(all.map(({ status }) => status as string)).toEqual(
    Array.from({ length: 24 }, () => "success"),
  );
}, 60_000);

describe("code mode", { timeout: 60_000 }, () => {
  const code = (source: string, more = {}) => rest("ostiary_code", { code: source }, more);

  test("every call of a program is an execution of its own, as its caller", async () => {
    const outer = await code(
      "const { tools: [first] } = await tools.find('echo a text', { limit: 1 }); console.log(first.name); return (await call(first.name, { text: 'hi' })).text",
    );
    expect(outer).toMatchObject({
      status: "success",
      result: {
        result: "hi",
        printed: ["system_echo"],
        calls: [{ name: "system_echo", status: "success" }],
      },
    });
    const inner = await record(outer.result.calls[0].executionId);
    expect(inner).toMatchObject({
      toolName: "system/echo",
      entry: "tool",
      metadata: { parentExecutionId: outer.executionId },
    });
  });

  test("hidden and invented tools are alike to it; what needs a person does not run", async () => {
    const before = entered.length;
    const { result } = await code(
      "const told = []; for (const name of ['memory_hidden', 'memory_nothing']) await call(name).catch((e) => told.push([e.code, e.reason, e.message.replace(name, 'NAME')])); return [told, (await tools.find('zanzibar')).tools.map((t) => t.name)]",
    );
    const [[hiddenTool, invented], found] = result.result;
    expect(hiddenTool).toEqual(invented);
    expect(found).toEqual(["shell_lever"]);
    const asks = await code("return await call('shell_lever')");
    expect(asks.result).toMatchObject({ suspended: { waitsFor: [{ tool: "shell/lever" }] } });
    expect(entered.length).toBe(before);
  });

  test("a cancel or the end of its time reaches the calls it makes", async () => {
    const answer = await code("await call('system_slow', { ms: 60000 })", { timeout: 4_000 });
    expect(answer).toMatchObject({ status: "cancelled" });
    await until(() => observer.runs.at(-1)?.abortReason === "timeout");
  });

  test("a loop without end stops, and whoever calls meanwhile is served", async () => {
    const looping = code("for (;;) {}");
    expect(await rest("system/echo", { text: "still here" })).toMatchObject({ status: "success" });
    expect(await looping).toMatchObject({ status: "failed", errorReason: "program_too_long" });
  });
});

describe("the cache", () => {
  const cached = async ({ executionId }: { executionId: string }, key = searcher) =>
    (await record(executionId, key)).resultMetadata?.cached ?? false;

  test("gives an answer again to the same caller only, after the gate, and says so on the record", async () => {
    const first = await rest("web/look", { word: "a" });
    const second = await rest("web_look", { word: "a" });
    expect(second.result).toEqual(first.result);
    expect([await cached(first), await cached(second)]).toEqual([false, true]);
    expect((await record(second.executionId)).gates.length).toBe(12);
    const metrics = await (
      await fetch(`${app.url}/metrics`, { headers: { authorization: `Bearer ${app.adminKey}` } })
    ).text();
    expect(metrics).toMatch(/^ostiary_cache_hits_total [1-9]/m);
    for (const [key, args] of [
      [other, { word: "a" }],
      [searcher, { word: "b" }],
    ] as const)
      expect((await rest("web/look", args, { key })).result).not.toEqual(first.result);
    const fresh = await rest(
      "web/look",
      { word: "a" },
      { context: { metadata: { cache: false } } },
    );
    expect(fresh.result.looked).toBeGreaterThan(first.result.looked as number);
    expect(
      (await rest("ostiary_call", { name: "web_look", arguments: { word: "a" } })).result,
    ).toEqual(fresh.result);
  });

  test("is shown on the tool; other rules make it forget; whoever lost the tool is refused, hit or not", async () => {
    expect((await app.api("GET", "/tools/web/look")).body.tool.cacheable).toBe(true);
    const before = await rest("web/look", { word: "c" });
    await publish("/governance", shippedFiles({ "hold_seconds: 45": "hold_seconds: 2" }));
    const after = await rest("web/look", { word: "c" });
    expect(after.result.looked).toBeGreaterThan(before.result.looked as number);
    await app.api("PATCH", "/capsules/seek", { body: { capabilities: ["system/echo"] } });
    expect(await rest("web/look", { word: "c" })).toMatchObject({ code: "NOT_FOUND" });
    expect(
      await rest("ostiary_call", { name: "web/look", arguments: { word: "c" } }),
    ).toMatchObject({ errorCode: "NOT_FOUND" });
  });
});
