// Content from outside in an agent's context: what writes, runs or sends then needs a person, whatever the page says.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startApp, type StartedApp } from "../fixtures/app.ts";
import { newUser, until } from "../fixtures/contract.ts";
import { shippedFiles } from "../fixtures/governance.ts";
import { openModelServer, type AskedChat, type ModelServer } from "../fixtures/models.ts";
import { openHouse } from "../fixtures/open-house.ts";
import { openWeb, type Web } from "../fixtures/web.ts";
import { connect, ERAS } from "./mcp-clients.ts";

/* eslint-disable @typescript-eslint/no-explicit-any -- answers are asserted field by field */
let app: StartedApp;
let models: ModelServer;
let web: Web;
let key: string;

beforeAll(async () => {
  models = await openModelServer();
  web = await openWeb({ direct: (address) => address === "127.0.0.1" });
  app = await startApp({
    flags: { models: models.config, governance: openHouse() },
    egress: web.egress,
  });
  key = await newUser(app, "ada", { level: "admin", capsuleId: "all", scopes: ["*"] });
});
afterAll(async () => {
  await app.close();
  await models.close();
  await web.close();
});

const PAGE = { name: "web_get", arguments: { url: "https://example.org/" } };
const TASK = { budget: { toolCalls: 5 }, lifetimeSeconds: 60, wait: true };
const SOURCE = "example.org (web/get)";
const SENTENCE = `The agent has read content from ${SOURCE}`;
const write = (path: string) => ({ name: "file_write", arguments: { path, content: "x" } });
const isWritten = (path: string): boolean => existsSync(join(app.workspace, path));

/** The model asks for these calls one after the other, then says what the last one was told. */
const calling = (...calls: { name: string; arguments: object }[]): void =>
  models.script(({ results }: AskedChat, n) => {
    const call = calls[n];
    return call ? { calls: [call as never] } : { text: `told: ${results.at(-1)?.content ?? ""}` };
  });

const say = (message: string, more: object = {}): Promise<{ status: number; body: any }> =>
  app.api("POST", "/chat", { key, body: { message, ...more } });
const turnEnd = async (turnId: string): Promise<any> =>
  (await app.api("GET", `/turns/${turnId}?waitSeconds=60`, { key })).body;
const pending = async (): Promise<any[]> =>
  (await app.api("GET", "/approvals?state=pending")).body.items as any[];
const approve = (id: string) => app.api("POST", `/approvals/${id}/approve`, { body: {} });
const execution = async (id: string): Promise<any> =>
  (await app.api("GET", `/executions/${id}`, { key })).body.execution;

async function withTaintRules(section: string): Promise<void> {
  const files = shippedFiles({});
  const open = files["tools.yaml"]!.replaceAll("NORMAL: approval", "NORMAL: run")
    .replaceAll("ask_new }", "public }")
    .replace(/^taint:\n(?: {2}.*\n)+/m, section === "" ? "" : `taint: ${section}\n`);
  const { body } = await app.api("POST", "/governance", {
    body: { files: { ...files, "tools.yaml": open }, note: section },
  });
  const path = `/governance/${body.document.version}/publish`;
  const published = await app.api("POST", path, { body: { as: "enforced" } });
  expect(published.status).toBe(200);
}

describe("C55: a chat that has read a page", () => {
  test("asks a person before it writes; a yes lets it run once", async () => {
    calling(PAGE, write("asked.txt"));
    const { status, body } = await say("Summarise example.org into asked.txt");
    expect(status).toBe(202);
    expect(isWritten("asked.txt")).toBe(false);
    const [approval] = await pending();
    expect(approval).toMatchObject({
      toolName: "file/write",
      taint: `${SENTENCE}, and file/write writes`,
      reasons: [{ reason: "tainted", rule: expect.stringMatching(/^tools\.yaml:\d+$/) }],
    });
    expect((await approve(approval.id)).status).toBe(200);
    const ended = await turnEnd(body.turnId);
    expect(ended).toMatchObject({ status: "success" });
    expect(isWritten("asked.txt")).toBe(true);

    const ran = await execution(approval.executionId);
    expect(ran).toMatchObject({
      status: "success",
      taint: SENTENCE,
      metadata: { taint: [{ tool: "web/get", from: "example.org", reader: "chat" }] },
    });
    const why = await app.api("POST", "/explain", {
      key,
      body: { executionId: approval.executionId },
    });
    expect(why.body).toMatchObject({ taint: SENTENCE });
    expect(why.body.gates).toContainEqual(
      expect.objectContaining({ stage: "arguments", asks: "tainted" }),
    );

    // The session stays tainted: the yes was for one call.
    calling(write("again.txt"));
    const again = await say("And again", { sessionId: body.sessionId });
    expect(again.status).toBe(202);
    const [next] = await pending();
    await app.api("POST", `/approvals/${next.id}/deny`, { body: {} });
    await turnEnd(again.body.turnId);
    expect(isWritten("again.txt")).toBe(false);
  }, 60_000);

  test("goes on reading without a question, and so does a session that has read nothing", async () => {
    calling(PAGE, { name: "file_list", arguments: { path: "." } }, PAGE);
    expect(await say("Look around")).toMatchObject({ status: 200, body: { status: "success" } });
    calling(write("clean.txt"));
    expect(await say("Write")).toMatchObject({ status: 200, body: { status: "success" } });
    expect(isWritten("clean.txt")).toBe(true);
  }, 60_000);

  test("what it calls through another tool is asked about just so", async () => {
    const inner = { name: "file/write", arguments: { path: "inner.txt", content: "x" } };
    calling(PAGE, { name: "ostiary_call", arguments: inner });
    const turn = say("Write it through the other door");
    await until(async () => (await pending()).length > 0, 20_000);
    const [approval] = await pending();
    expect(approval).toMatchObject({ toolName: "file/write" });
    expect(approval.taint).toContain(SOURCE);
    await app.api("POST", `/approvals/${approval.id}/deny`, { body: {} });
    await turnEnd((await turn).body.turnId);
    expect(isWritten("inner.txt")).toBe(false);
  }, 60_000);

  test("content that comes through another tool taints just so", async () => {
    calling(
      { name: "ostiary_call", arguments: { name: "web/get", arguments: PAGE.arguments } },
      write("through.txt"),
    );
    const { status, body } = await say("Read it through the other door");
    expect(status).toBe(202);
    const [approval] = await pending();
    expect(approval.taint).toContain(SOURCE);
    await app.api("POST", `/approvals/${approval.id}/deny`, { body: {} });
    await turnEnd(body.turnId);
  }, 60_000);

  test("a standing rule does not answer for it", async () => {
    calling(PAGE, write("standing.txt"));
    const first = await say("Write");
    const [approval] = await pending();
    await approve(approval.id);
    await turnEnd(first.body.turnId);
    const rule = await app.api("POST", `/approvals/${approval.id}/rule`, {
      body: { expiresInSeconds: 600 },
    });
    expect(rule.status).toBeLessThan(300);
    calling(PAGE, write("standing.txt"));
    const second = await say("Write the same");
    expect(second.status).toBe(202);
    const [asked] = await pending();
    await app.api("POST", `/approvals/${asked.id}/deny`, { body: {} });
    await turnEnd(second.body.turnId);
  }, 60_000);
});

describe("C55: by rule", () => {
  test("refuse: the call is refused, and the model is told why", async () => {
    await withTaintRules("{ chat: refuse }");
    calling(PAGE, write("refused.txt"));
    const { status, body } = await say("Write");
    expect(status).toBe(200);
    expect(body.reply).toContain('"reason":"tainted"');
    expect(body.reply).toContain(SOURCE);
    expect(isWritten("refused.txt")).toBe(false);
    const call = body.toolCalls.at(-1);
    expect(await execution(call.executionId)).toMatchObject({
      errorCode: "FORBIDDEN",
      errorReason: "tainted",
    });
  }, 60_000);

  test("off, and exempt tools, go on", async () => {
    await withTaintRules("{ chat: off }");
    calling(PAGE, write("off.txt"));
    expect(await say("Write")).toMatchObject({ status: 200 });
    expect(isWritten("off.txt")).toBe(true);
    for (const exempt of ["file/write", "file/*", "system_write"]) {
      await withTaintRules(`{ chat: refuse, exempt: ["${exempt}"] }`);
      calling(PAGE, write(`${exempt.length}.txt`));
      expect(await say("Write")).toMatchObject({ status: 200 });
      expect(isWritten(`${exempt.length}.txt`)).toBe(true);
    }
  }, 60_000);

  test("a file without the section has the defaults", async () => {
    await withTaintRules("");
    const asked = await app.api("POST", "/explain", {
      key,
      body: {
        tool: "file/write",
        arguments: write("a.txt").arguments,
        taint: [{ from: "example.com" }],
      },
    });
    expect(asked.body).toMatchObject({
      verdict: "hold",
      taint: "The agent has read content from example.com (web/get)",
    });
    expect(asked.body.summary).toContain("example.com (web/get)");
    const { body } = await app.api("POST", "/explain", {
      key,
      body: {
        tool: "file/write",
        arguments: write("a.txt").arguments,
        taint: [{ from: "example.com", reader: "mcp" }],
      },
    });
    expect(body).toMatchObject({ verdict: "allow" });
  });

  test("what is misspelt is a fault, with its place", async () => {
    const files = shippedFiles({});
    const text = files["tools.yaml"]!.replace(
      /^taint:\n(?: {2}.*\n)+/m,
      "taint: { chat: aks, mpc: off, exempt: [file/wirte, fiel/*] }\n",
    );
    const { body } = await app.api("POST", "/governance", {
      body: { files: { ...files, "tools.yaml": text }, note: "typos" },
    });
    const messages = body.faults.map(({ message }: { message: string }) => message).join("\n");
    for (const part of [
      "did you mean ask?",
      "did you mean mcp?",
      "file/write?",
      "there is no category",
    ])
      expect(messages).toContain(part);
  });
});

describe("C55: who else", () => {
  test("what a client claims over REST changes nothing", async () => {
    await withTaintRules("{ chat: refuse, agent: refuse, mcp: refuse }");
    const taint = [{ tool: "web/get", executionId: "x", from: "example.org", reader: "chat" }];
    const { body } = await app.api("POST", "/executions", {
      key,
      body: {
        name: "file/write",
        arguments: write("rest.txt").arguments,
        context: { metadata: { taint, mine: 1 } },
      },
    });
    expect(body).toMatchObject({ status: "success" });
    const kept = await execution(body.executionId);
    expect(kept.metadata).toEqual({ mine: 1 });
    expect(kept).not.toHaveProperty("taint");
  });

  test("a spawned agent: what it reads, and what its maker had read", async () => {
    await withTaintRules("{ agent: refuse, chat: refuse, exempt: [agent/spawn] }");
    let inAgent = 0;
    const told: string[] = [];
    models.script(({ system, results }: AskedChat) => {
      told.push(...results.map(({ content }) => content));
      if (!system?.includes("You work alone")) return { text: "no" };
      const call = [PAGE, write("agent.txt")][inAgent++];
      return call ? { calls: [call] } : { text: "done" };
    });
    const spawned = await app.api("POST", "/executions", {
      key,
      body: {
        name: "agent/spawn",
        arguments: { objective: "write a file for me", tools: ["web/get", "file/write"], ...TASK },
      },
    });
    expect(spawned.body).toMatchObject({ status: "success" });
    expect(told.join("\n")).toContain('"reason":"tainted"');
    expect(isWritten("agent.txt")).toBe(false);
    expect(spawned.body.metadata.taint).toMatchObject([{ from: "example.org" }]);

    const heard: string[] = [];
    let [inChat, inChild] = [0, 0];
    const spawn = {
      name: "agent_spawn",
      arguments: { objective: "write a file for me", tools: ["file/write"], ...TASK },
    };
    models.script(({ system, results }: AskedChat) => {
      const isChild = system?.includes("You work alone");
      if (isChild) heard.push(...results.map(({ content }) => content));
      const call = isChild ? [write("child.txt")][inChild++] : [PAGE, spawn][inChat++];
      return call ? { calls: [call] } : { text: "done" };
    });
    expect(await say("Read, then let another write")).toMatchObject({ status: 200 });
    expect(heard.join("\n")).toContain('"reason":"tainted"');
    expect(isWritten("child.txt")).toBe(false);
  }, 60_000);

  test.each(ERAS)("an MCP client, %s era, where governance minds it", async (era) => {
    await withTaintRules("{ mcp: refuse }");
    const own = await newUser(app, `mcp-${era}`, { level: "admin", capsuleId: "all" });
    const { client } = await connect(app.url, own, era);
    const call = async (name: string, args: object): Promise<any> => {
      const { isError = false, ...rest } = await client.callTool({
        name,
        arguments: args as never,
      });
      return { isError, ...rest };
    };
    try {
      const path = `mcp-${era}.txt`;
      expect(await call("file_write", write(path).arguments)).toMatchObject({ isError: false });
      expect(await call("web_get", PAGE.arguments)).toMatchObject({ isError: false });
      const refused = await call("file_write", write(`no-${path}`).arguments);
      expect(JSON.stringify(refused)).toContain("tainted");
      expect(isWritten(`no-${path}`)).toBe(false);
      expect(await call("file_list", { path: "." })).toMatchObject({ isError: false });
      await withTaintRules("{ mcp: off }");
      expect(await call("file_write", write(`off-${path}`).arguments)).toMatchObject({
        isError: false,
      });
    } finally {
      await client.close();
    }
  });
});
