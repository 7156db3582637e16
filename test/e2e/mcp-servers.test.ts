// Servers upstream at the MCP doors: one server's own face, all of them under prefixed names, and what they offer
// besides tools: resources, prompts, completions, questions to the client, log messages, news.
import {
  Client,
  StreamableHTTPClientTransport,
  type ClientOptions,
} from "@modelcontextprotocol/client";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startFixtureServer, type FixtureServer } from "../conformance/fixture-server.ts";
import { startApp, type StartedApp } from "../fixtures/app.ts";
import { ERAS, keyFor, META, MODERN, until, type Era } from "./mcp-clients.ts";

let app: StartedApp;
let fixture: FixtureServer;
/** Sees the echo of the house, and nothing of any server. */
let stranger: string;
/** Sees one tool of the server and none of what else it offers. */
let guest: string;

beforeAll(async () => {
  fixture = await startFixtureServer();
  app = await startApp();
  const body = { name: "fixture", transport: { kind: "http", url: fixture.url } };
  expect((await app.api("POST", "/servers", { body })).status).toBe(201);
  const terms = { risk: "safe", effects: "read_only" };
  const approved = await app.api("POST", "/servers/fixture/approve", {
    body: { terms, evenWithFindings: true },
  });
  expect(approved.status).toBe(200);
  stranger = await keyFor(app, "stranger", ["system/echo"]);
  guest = await keyFor(app, "guest", ["system/echo", "fixture/test_simple_text"]);
}, 60_000);
afterAll(async () => {
  await app.close();
  await fixture.close();
});

const ASKABLE = { capabilities: { elicitation: { form: {} }, sampling: {}, roots: {} } };

async function connect(path: string, era: Era, key = app.adminKey, options: ClientOptions = {}) {
  const negotiation = era === "modern" ? { versionNegotiation: { mode: "auto" as const } } : {};
  const client = new Client({ name: "test", version: "1.0.0" }, { ...negotiation, ...options });
  const requestInit = { headers: { authorization: `Bearer ${key}` } };
  await client.connect(
    new StreamableHTTPClientTransport(new URL(`${app.url}${path}`), { requestInit }),
  );
  return client;
}

interface Rpc {
  readonly result?: Record<string, unknown>;
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown };
}

/** One bare request of the modern era. */
async function ask(
  method: string,
  params: Record<string, unknown>,
  { key = app.adminKey, path = "/mcp/fixture", capabilities = {} } = {},
) {
  const _meta = { ...META, "io.modelcontextprotocol/clientCapabilities": capabilities };
  const named = method === "resources/read" ? params["uri"] : params["name"];
  const response = await fetch(`${app.url}${path}`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${key}`,
      accept: "application/json, text/event-stream",
      "content-type": "application/json",
      "mcp-protocol-version": MODERN,
      "mcp-method": method,
      ...(typeof named === "string" ? { "mcp-name": named } : {}),
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 7, method, params: { ...params, _meta } }),
  });
  const text = await response.text();
  return { status: response.status, text, body: JSON.parse(text || "null") as Rpc };
}

const runsOf = async (tool: string): Promise<number> => {
  const { body } = await app.api(
    "GET",
    `/executions?toolName=${encodeURIComponent(tool)}&limit=100`,
  );
  return (body as { executions: unknown[] }).executions.length;
};
const textOf = (result: unknown): string =>
  (result as { content: { text?: string }[] }).content.map((block) => block.text ?? "").join("\n");

describe("the face of one server", () => {
  test.each(ERAS)(
    "R230: has the server's own names, in order, and nothing else (%s)",
    async (era) => {
      const client = await connect("/mcp/fixture", era);
      const names = (await client.listTools()).tools.map(({ name }) => name);
      expect(names).toContain("test_simple_text");
      expect(names).toEqual([...names].sort());
      expect(
        names.filter((name) => name.startsWith("fixture") || name.startsWith("system")),
      ).toEqual([]);
      expect(names).not.toContain("resources_read");
      expect(client.getServerVersion()).toMatchObject({
        name: "ostiary",
        title: "Ostiary in front of fixture",
      });
      expect(client.getInstructions()).toContain('the server "fixture"');
      expect(textOf(await client.callTool({ name: "test_simple_text" }))).toContain("simple text");
      await expect(
        client.callTool({ name: "system_echo", arguments: { text: "x" } }),
      ).rejects.toThrow("Unknown tool: system_echo");
      await expect(client.callTool({ name: "fixture_test_simple_text" })).rejects.toThrow(
        "Unknown tool",
      );
      await client.close();
    },
  );

  test("is as absent for a caller who sees nothing of the server as one that never was", async () => {
    const pairs = [
      ["tools/call", { name: "test_simple_text" }],
      ["tools/list", {}],
      ["resources/read", { uri: "test://static-text" }],
      ["server/discover", {}],
    ] as const;
    for (const [method, params] of pairs) {
      const hidden = await ask(method, params, { key: stranger });
      const absent = await ask(method, params, { key: stranger, path: "/mcp/nothing" });
      expect([method, hidden.status, hidden.text]).toEqual([method, 404, absent.text]);
      expect(absent.status).toBe(404);
    }
    const bare = async (path: string, method: string) => {
      const headers = { authorization: `Bearer ${stranger}`, accept: "text/event-stream" };
      const response = await fetch(`${app.url}${path}`, { method, headers });
      return [response.status, await response.text()];
    };
    for (const method of ["GET", "DELETE"])
      expect(await bare("/mcp/fixture", method)).toEqual(await bare("/mcp/nothing", method));
    expect((await ask("tools/list", {}, { key: "ost_none" })).status).toBe(401);
  });

  test("offers what the caller may see, no more", async () => {
    const client = await connect("/mcp/fixture", "legacy", guest);
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(["test_simple_text"]);
    expect(client.getServerCapabilities()).not.toHaveProperty("resources");
    expect(client.getServerCapabilities()).not.toHaveProperty("prompts");
    await client.close();
    const read = await ask("resources/read", { uri: "test://static-text" }, { key: guest });
    expect(read.body.error?.code).toBe(-32601);
  });

  test("does not take the session of another route", async () => {
    const transport = new StreamableHTTPClientTransport(new URL(`${app.url}/mcp/fixture`), {
      requestInit: { headers: { authorization: `Bearer ${app.adminKey}` } },
    });
    const client = new Client({ name: "test", version: "1.0.0" });
    await client.connect(transport);
    const list = { jsonrpc: "2.0", id: 1, method: "tools/list", params: {} };
    const headers = {
      authorization: `Bearer ${app.adminKey}`,
      accept: "application/json, text/event-stream",
      "content-type": "application/json",
      "mcp-session-id": transport.sessionId ?? "",
    };
    const at = async (path: string) =>
      (await fetch(`${app.url}${path}`, { method: "POST", headers, body: JSON.stringify(list) }))
        .status;
    expect([await at("/mcp/fixture"), await at("/mcp")]).toEqual([200, 404]);
    await client.close();
  });
});

describe.each(ERAS)("all servers together, for a %s client", (era) => {
  test("have prefixed names for tools, prompts and resources, which lead to the server", async () => {
    const client = await connect("/mcp", era);
    const tools = (await client.listTools()).tools.map(({ name }) => name);
    expect(tools).toContain("fixture_test_simple_text");
    expect(tools).toContain("system_echo");
    expect(tools).not.toContain("fixture_resources_read");
    const prompts = (await client.listPrompts()).prompts.map(({ name }) => name);
    expect(prompts).toContain("fixture_test_simple_prompt");
    const prompt = await client.getPrompt({
      name: "fixture_test_prompt_with_arguments",
      arguments: { arg1: "a", arg2: "b" },
    });
    expect(JSON.stringify(prompt.messages)).toContain("arg1='a', arg2='b'");
    const resources = (await client.listResources()).resources.map(({ uri }) => uri);
    expect(resources).toContain("fixture+test://static-text");
    const templates = (await client.listResourceTemplates()).resourceTemplates;
    expect(templates[0]?.uriTemplate).toBe("fixture+test://template/{id}/data");
    const read = await client.readResource({ uri: "fixture+test://template/9/data" });
    expect(read.contents[0]).toMatchObject({
      uri: "fixture+test://template/9/data",
      text: expect.stringContaining('"id":"9"') as string,
    });
    const completed = await client.complete({
      ref: { type: "ref/prompt", name: "fixture_test_prompt_with_arguments" },
      argument: { name: "arg1", value: "par" },
    });
    expect(completed.completion.values).toEqual(["paris", "park", "party"]);
    const inside = (await client.callTool({ name: "fixture_test_embedded_resource" })).content[0];
    expect(inside).toMatchObject({ resource: { uri: "fixture+test://embedded-resource" } });
    await expect(client.readResource({ uri: "test://static-text" })).rejects.toMatchObject({
      code: -32602,
    });
    await expect(client.readResource({ uri: "other+test://static-text" })).rejects.toMatchObject({
      code: -32602,
    });
    await expect(client.getPrompt({ name: "test_simple_prompt" })).rejects.toMatchObject({
      code: -32602,
    });
    await client.close();
  });

  test("show a tool's own failure in its own words, and an error of the server with its code", async () => {
    const client = await connect("/mcp/fixture", era);
    const failed = await client.callTool({ name: "test_error_handling" });
    expect(failed).toMatchObject({
      isError: true,
      content: [{ type: "text", text: "This tool intentionally returns an error for testing" }],
    });
    await expect(client.readResource({ uri: "test://nowhere" })).rejects.toMatchObject({
      code: -32602,
      data: { uri: "test://nowhere" },
    });
    await client.close();
  });

  test("ask the client through us, with the server's name, and go on with the answer", async () => {
    const client = await connect("/mcp/fixture", era, app.adminKey, ASKABLE);
    const messages: string[] = [];
    client.setRequestHandler("elicitation/create", ({ params }) => {
      messages.push(params.message);
      return { action: "accept", content: { name: "Anna", color: "red" } };
    });
    client.setRequestHandler("sampling/createMessage", () => ({
      model: "m",
      role: "assistant",
      content: { type: "text", text: "hello" },
    }));
    client.setRequestHandler("roots/list", () => ({ roots: [{ uri: "file:///a" }] }));
    const all = await client.callTool({ name: "test_input_required_result_multiple_inputs" });
    expect(textOf(all)).toBe("hello Anna, 1 roots");
    expect(messages).toEqual(["fixture asks: What is your name?"]);
    const twice = await client.callTool({ name: "test_input_required_result_multi_round" });
    expect(textOf(twice)).toBe("both answered");
    const prompt = await client.getPrompt({ name: "test_input_required_result_prompt" });
    expect(prompt.messages).toHaveLength(1);
    await client.close();
  });

  test("ask nothing of a client that did not declare it", async () => {
    const client = await connect("/mcp/fixture", era);
    const refused = client.callTool({ name: "test_input_required_result_elicitation" });
    // The modern era has an error of the protocol for it, and wants it to be used.
    if (era === "modern") await expect(refused).rejects.toMatchObject({ code: -32021 });
    else expect(await refused).toMatchObject({ isError: true });
    await client.close();
  });

  test("send log messages of a call to the client that asked for them, and to no other", async () => {
    const listen = async (key?: string) => {
      const client = await connect("/mcp/fixture", era, key);
      const heard: unknown[] = [];
      client.setNotificationHandler(
        "notifications/message",
        ({ params }) => void heard.push(params.data),
      );
      return { client, heard };
    };
    const [one, other] = [await listen(), await listen(guest)];
    const level = era === "modern" ? { _meta: { "io.modelcontextprotocol/logLevel": "info" } } : {};
    if (era === "legacy")
      for (const { client } of [one, other]) await client.setLoggingLevel("info");
    await one.client.callTool({ name: "test_tool_with_logging", ...level });
    await until(() => one.heard.length === 3);
    expect(one.heard[0]).toBe("Tool execution started");
    expect(other.heard).toEqual([]);
    await one.client.close();
    await other.client.close();
  });

  test("tell of changed lists whoever may see them, on both routes", async () => {
    const listen = async (path: string, key?: string) => {
      const client = await connect(path, era, key);
      const heard = { tools: 0, prompts: 0 };
      client.setNotificationHandler("notifications/tools/list_changed", () => void heard.tools++);
      client.setNotificationHandler(
        "notifications/prompts/list_changed",
        () => void heard.prompts++,
      );
      if (era === "modern")
        await client.listen({ toolsListChanged: true, promptsListChanged: true });
      return { client, heard };
    };
    const [own, union, blind] = [
      await listen("/mcp/fixture"),
      await listen("/mcp"),
      await listen("/mcp", stranger),
    ];
    const all = () => [own, union].every(({ heard }) => heard.tools > 0 && heard.prompts > 0);
    for (const end = Date.now() + 20_000; !all();) {
      if (Date.now() > end) throw new Error("waited in vain");
      // The stream of the older era opens by itself: what was told before it did is not repeated.
      for (const name of ["test_trigger_tool_change", "test_trigger_prompt_change"])
        await own.client.callTool({ name });
      await new Promise((resolve) => setTimeout(resolve, 300));
    }
    expect(blind.heard.prompts).toBe(0);
    for (const { client } of [own, union, blind]) await client.close();
  });

  test("tell of a changed resource those who watch it, and nobody else", async () => {
    const uri = "test://watched-resource";
    const watch = async (path: string, name: string, wanted: boolean) => {
      const client = await connect(path, era);
      const heard: string[] = [];
      client.setNotificationHandler(
        "notifications/resources/updated",
        ({ params }) => void heard.push(params.uri),
      );
      if (wanted && era === "legacy") await client.subscribeResource({ uri: name });
      if (era === "modern")
        await client.listen({
          toolsListChanged: true,
          ...(wanted ? { resourceSubscriptions: [name] } : {}),
        });
      return { client, heard };
    };
    const own = await watch("/mcp/fixture", uri, true);
    const union = await watch("/mcp", `fixture+${uri}`, true);
    const nobody = await watch("/mcp/fixture", uri, false);
    // The stream of the other era opens by itself, and the subscription travels to the server first.
    for (const end = Date.now() + 20_000; own.heard.length === 0 || union.heard.length === 0;) {
      if (Date.now() > end) throw new Error("waited in vain");
      fixture.updated(uri);
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
    expect(new Set(own.heard)).toEqual(new Set([uri]));
    expect(new Set(union.heard)).toEqual(new Set([`fixture+${uri}`]));
    expect(nobody.heard).toEqual([]);
    for (const { client } of [own, union, nobody]) await client.close();
  });
});

describe("who watches a resource", () => {
  test("hears no more of it once it may not be read any more", async () => {
    const admin = await app.callerOf(app.adminKey);
    const { directory } = app.doors;
    const user = await directory.createUser(admin, { name: "watcher", role: "user" });
    const capsule = await directory.createCapsule(admin, {
      name: "watcher",
      capabilities: ["fixture/resources_read", "fixture/test_simple_text"],
    });
    const { secret } = await directory.createKey(admin, {
      name: "watcher",
      userId: user.id,
      scopes: ["*"],
      capsuleId: capsule.id,
    });
    const uri = "test://watched-resource";
    const watch = async (key: string) => {
      const client = await connect("/mcp/fixture", "modern", key);
      const heard: string[] = [];
      client.setNotificationHandler(
        "notifications/resources/updated",
        ({ params }) => void heard.push(params.uri),
      );
      await client.listen({ resourceSubscriptions: [uri] });
      return { client, heard };
    };
    const [watcher, other] = [await watch(secret), await watch(app.adminKey)];
    const update = async (one: { heard: string[] }) => {
      for (const end = Date.now() + 20_000; one.heard.length === 0;) {
        if (Date.now() > end) throw new Error("waited in vain");
        fixture.updated(uri);
        await new Promise((resolve) => setTimeout(resolve, 200));
      }
    };
    await update(watcher);
    const changed = await app.api("PATCH", `/capsules/${capsule.id}`, {
      body: { capabilities: ["fixture/test_simple_text"] },
    });
    expect(changed.status).toBe(200);
    await new Promise((resolve) => setTimeout(resolve, 300)); // what was under way
    for (const { heard } of [watcher, other]) heard.length = 0;
    await update(other);
    expect(watcher.heard).toEqual([]);
    for (const { client } of [watcher, other]) await client.close();
  });
});

describe("what is read, prompted or completed", () => {
  test("is judged and recorded like any call", async () => {
    const before = await runsOf("fixture/resources_read");
    const { body } = await ask("resources/read", { uri: "test://static-text" });
    expect(body.result).toMatchObject({
      contents: [{ uri: "test://static-text" }],
      cacheScope: "private",
    });
    expect(await runsOf("fixture/resources_read")).toBe(before + 1);
    await ask("prompts/get", { name: "test_simple_prompt" });
    expect(await runsOf("fixture/prompts_get")).toBeGreaterThan(0);
  });
});

describe("a call that waits for its client", () => {
  const capabilities = { elicitation: { form: {} } };
  const name = "test_input_required_result_elicitation";
  const inputResponses = { user_name: { action: "accept", content: { name: "Anna" } } };
  const begun = async (key?: string) => {
    const { body } = await ask(
      "tools/call",
      { name, arguments: {} },
      { capabilities, ...(key === undefined ? {} : { key }) },
    );
    expect(body.result).toMatchObject({ resultType: "input_required" });
    return body.result?.["requestState"] as string;
  };

  test("takes an answer once; altered, foreign and used states change nothing", async () => {
    const before = await runsOf(`fixture/${name}`);
    const requestState = await begun();
    const tampered = `${requestState.slice(0, -4)}AAAA`;
    const refused = [
      await ask("tools/call", { name, inputResponses, requestState: tampered }, { capabilities }),
      await ask(
        "tools/call",
        { name, inputResponses, requestState },
        { capabilities, key: app.cliKey },
      ),
      await ask(
        "tools/call",
        { name, arguments: { x: 1 }, inputResponses, requestState },
        { capabilities },
      ),
      await ask(
        "tools/call",
        { name: "test_simple_text", inputResponses, requestState },
        { capabilities },
      ),
      await ask(
        "tools/call",
        { name: `fixture_${name}`, inputResponses, requestState },
        { capabilities, path: "/mcp" },
      ),
      await ask(
        "prompts/get",
        { name: "test_simple_prompt", inputResponses, requestState },
        { capabilities },
      ),
    ];
    expect(refused.map(({ body }) => body.error?.code)).toEqual(refused.map(() => -32602));
    const again = await ask(
      "tools/call",
      { name, inputResponses: { wrong: {} }, requestState },
      { capabilities },
    );
    expect(again.body.result).toMatchObject({ resultType: "input_required" });
    const answered = await ask(
      "tools/call",
      { name, inputResponses, requestState },
      { capabilities },
    );
    expect(textOf(answered.body.result)).toBe("Hello, Anna!");
    const replayed = await ask(
      "tools/call",
      { name, inputResponses, requestState },
      { capabilities },
    );
    expect(replayed.body.error?.code).toBe(-32602);
    expect(await runsOf(`fixture/${name}`)).toBe(before + 1);
  });

  test("is one of so many per caller; the others are told that they cannot wait", async () => {
    const key = await keyFor(app, "patient", [`fixture/${name}`]);
    for (let i = 0; i < 16; i++) await begun(key);
    const { body } = await ask("tools/call", { name, arguments: {} }, { capabilities, key });
    expect(body.result).toMatchObject({ isError: true });
    expect(textOf(body.result)).toContain("client_cannot_be_asked");
    await begun(); // somebody else still can
  });
});
