// The stored record of a capability: one id for one name, over restarts and changes, of all three providers.
import { rmSync } from "node:fs";
import { afterAll, beforeAll, expect, test } from "vitest";
import { testTool } from "../fixtures/gate.ts";
import { startApp, type StartedApp } from "../fixtures/app.ts";
import { conforms, newUser } from "../fixtures/contract.ts";
import { ECHO, startMcpUpstream, type McpUpstream } from "../fixtures/mcp-upstream.ts";
import { freezeTool, type Tool } from "../../src/contract/tool.ts";

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const own = (description: string): Tool =>
  freezeTool({ ...testTool(), id: "system/own", name: "system/own", wireName: "own", description });

let app: StartedApp;
let upstream: McpUpstream;
beforeAll(async () => {
  upstream = await startMcpUpstream({ tools: [ECHO] });
  app = await startApp({ tools: [own("The first.")] });
}, 60_000);
afterAll(async () => {
  await app.close();
  await upstream.close();
});

const details = async (name: string, key = app.adminKey) => {
  const { body } = await app.api("GET", `/tools/${name}`, { key });
  conforms("tools.getToolDetails", body);
  return body as {
    tool: Record<string, unknown>;
    capability?: { id: string; config: object; createdAt: string; updatedAt: string };
  };
};

test("R009: a capability has an id, a config and times, for administrators alone", async () => {
  const { capability } = await details("system/echo");
  expect(capability).toMatchObject({ config: {}, enabled: true, linkState: "linked" });
  expect(capability?.id).toMatch(UUID);
  const ann = await newUser(app, "ann");
  expect(await details("system/echo", ann)).not.toHaveProperty("capability");
});

test("R009: of a tool upstream the config is the way to it, of an operation the operation without its values", async () => {
  const transport = { kind: "http", url: upstream.url };
  await app.api("POST", "/servers", { body: { name: "up", transport } });
  await app.api("POST", "/servers/up/approve", { body: {} });
  const { tool, capability } = await details("up/echo");
  expect(tool["provider"]).toBe("mcp");
  expect(capability?.config).toEqual({ server: "up", method: "tools/call", name: "echo" });

  const endpoint = {
    name: "weather",
    description: "The weather of a city.",
    method: "GET",
    url: "/weather?appid=s3cret-value&city={city}",
  };
  const url = "https://sky.example";
  const added = await app.api("PUT", "/servers/sky/api", { body: { url, endpoints: [endpoint] } });
  expect(added.status).toBe(201);
  await app.api("POST", "/servers/sky/approve", { body: {} });
  const external = await details("sky/weather");
  expect(external.tool["provider"]).toBe("external");
  expect(external.capability?.config).toMatchObject({
    server: "sky",
    operation: { method: "GET", path: "/weather", query: ["appid"] },
  });
  expect(JSON.stringify(external.capability)).not.toContain("s3cret");
});

test("R010: risk, rules by mode, approval, sandbox, timeout and hourly rate are told of each tool", async () => {
  const { tool } = await details("shell/execute");
  expect(tool).toMatchObject({
    risk: "dangerous",
    governanceClass: "system_dangerous",
    rulesByMode: { NORMAL: "approval", LOCKDOWN: "no" },
    requiresApproval: false,
    requiresSandbox: true,
    timeout: expect.any(Number) as number,
    rateLimitPerHour: null,
  });
});

test("R009: the id stays over a restart, and a changed definition is a later update", async () => {
  const before = (await details("system/own")).capability;
  const echo = (await details("system/echo")).capability;
  const { dataDir, workspace } = app;
  await app.stop();
  rmSync(workspace, { recursive: true, force: true });
  app = await startApp({ dataDir, tools: [own("The second.")] });
  const after = (await details("system/own")).capability;
  expect(after).toMatchObject({ id: before?.id, createdAt: before?.createdAt });
  expect(Date.parse(after?.updatedAt ?? "")).toBeGreaterThan(Date.parse(before?.updatedAt ?? ""));
  expect((await details("system/echo")).capability).toEqual(echo);
}, 60_000);
